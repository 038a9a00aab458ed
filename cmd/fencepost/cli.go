package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// process is what a command has of the outside world.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string // NAME=value
}

// commands is the command line. Each command's Run gets a context and the process.
type commands struct {
	Serve     serveCommand     `cmd:"" help:"Run the relay."`
	Publish   publishCommand   `cmd:"" help:"Sign an event and publish it; without a key, one is made up."`
	Subscribe subscribeCommand `cmd:"" help:"Print the events of a subscription, one JSON object a line."`
	Import    importCommand    `cmd:"" help:"Store events from a file, one JSON object a line."`
	Export    exportCommand    `cmd:"" help:"Write stored events to standard output, one JSON object a line, newest first."`
	Sync      syncCommand      `cmd:"" help:"Make the store and another relay alike, once (NIP-77)."`
	Migrate   migrateCommand   `cmd:"" help:"Show or change the schema of the database (PostgreSQL)."`
	Admin     adminCommand     `cmd:"" help:"Manage a relay as its operator (NIP-86)."`
	Call      callCommand      `cmd:"" help:"Make one HTTP call that is signed with a key (NIP-98)."`
	Key       keyCommand       `cmd:"" help:"Make or show a key."`
	Config    configCommand    `cmd:"" help:"Show the configuration."`
	Race      raceCommand      `cmd:"" help:"Let a storm loose on a relay and count the frames that should not be."`
	Bench     benchCommand     `cmd:"" help:"Measure a relay, and what the machine allows beside it."`
	Version   versionCommand   `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, p *process) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	if args[0] == "help" { // or help COMMAND
		args = append(slices.Clone(args[1:]), "--help")
	}
	exited := false
	parser, err := kong.New(&commands{},
		kong.Name("fencepost"), kong.Description("A Nostr relay."),
		kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { exited = true }), // after --help and --version
		kong.Vars{"bench_rows": benchRows(), "version": versionLine()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p),
	)
	if err != nil {
		return p.fail(err, exitFailure)
	}
	command, err := parser.Parse(args)
	switch {
	case exited:
		return exitOK
	case err != nil:
		return p.fail(fmt.Errorf("%w (see fencepost --help)", err), exitUsage)
	}
	if err := command.Run(); err != nil {
		return p.fail(err, exitFailure)
	}
	return exitOK
}

// fail prints an error on one line and returns the code.
func (p *process) fail(err error, code int) int {
	fmt.Fprintln(p.stderr, "fencepost:", oneLine(err))
	return code
}

func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// errInterrupted ends a command that was interrupted by a signal.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends at the first SIGINT or SIGTERM, with
// errInterrupted as its cause. A second signal ends the process.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signalled, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	unhook := context.AfterFunc(signalled, func() {
		stop()
		cancel(errInterrupted)
	})
	return ctx, func() {
		unhook()
		stop()
		cancel(nil)
	}
}
