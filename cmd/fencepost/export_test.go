package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"
)

// Result is what one run of a command left.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Run executes a command line in this process, without any environment.
func Run(ctx context.Context, stdin io.Reader, args ...string) Result {
	return RunWith(ctx, stdin, nil, args...)
}

// RunWith executes a command line in this process.
func RunWith(ctx context.Context, stdin io.Reader, environ []string, args ...string) Result {
	var out, errs bytes.Buffer
	code := run(ctx, args, &process{stdin: stdin, stdout: &out, stderr: &errs, environ: environ})
	return Result{Code: code, Stdout: out.String(), Stderr: errs.String()}
}

// Lines returns the lines that an import would read, those refused as "!".
func Lines(in io.Reader, maxLine int) (lines []string, numbers []int, err error) {
	r := newLineReader(in, maxLine)
	for {
		l, err := r.next()
		if err == io.EOF {
			return lines, numbers, nil
		}
		if err != nil {
			return lines, numbers, err
		}
		if l.err != nil {
			l.data = []byte("!")
		}
		lines, numbers = append(lines, string(l.data)), append(numbers, l.number)
	}
}

// Progress returns what an import shows on a terminal while its tally grows to n
// stored lines, one each step.
func Progress(n int, step time.Duration) string {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := newProgress(&out, true, func() time.Time { return now })
	t := newTally(io.Discard)
	for range n {
		now = now.Add(step)
		t.stored++
		p.show(t)
	}
	p.clear()
	return out.String()
}
