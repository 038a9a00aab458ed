// Command gen writes the test events of this repository, one JSON object a line:
// many kinds and authors, versions of replaceable and addressable events,
// deletions, expirations, and text of every sort, in about the order in which
// they would have been published. The same events come out each time, signatures
// included.
//
//	go run ./regress/testdata/gen regress/testdata/events.jsonl
//
// A test compares the file with what this command writes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes to the file named, or to standard output when there is none.
func run(args []string) error {
	if len(args) == 0 {
		return write(os.Stdout)
	}
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func write(w io.Writer) error {
	lines, err := newGenerator().lines()
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	for _, line := range lines {
		b.Write(line)     // Flush tells the error
		b.WriteByte('\n') // as above
	}
	return b.Flush()
}
