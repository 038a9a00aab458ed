package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay"
	"fencepost/relay/config"
)

// serveCommand runs a relay. SIGHUP reads the configuration again, SIGTERM and
// SIGINT drain, and a second one of these ends the process at once.
//
// The garbage collector runs as GOGC and GOMEMLIMIT say, by default with Go's own
// settings. GOGC=50, measured, takes 2 KiB off an idle connection (13 to 11) and 1.5 %
// off the events that are taken per CPU-second, so it is left to the operator.
type serveCommand struct {
	settings
	Listen string `help:"Address to listen on, instead of the configured one." placeholder:"HOST:PORT"`
}

// echo is how soon after a signal the next one counts as the same: timeout(1) and
// some supervisors signal the process and then its group.
const echo = 100 * time.Millisecond

// errForced ends a drain before its end.
var errForced = errors.New("stopped by a second signal, before the drain had ended")

// Run serves until ctx ends or a signal comes.
func (c *serveCommand) Run(ctx context.Context, p *process) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	s := &server{command: c, process: p}
	s.log = newLogger(p.stderr, cfg.Log, &s.level)
	if err := s.start(ctx, cfg); err != nil {
		return err
	}
	s.log.Info("ready", "address", s.relay.Addr().String(), "store", place(cfg))
	return s.run(ctx, signals)
}

func (c *serveCommand) load(p *process) (config.Config, error) {
	if c.Listen == "" {
		return c.settings.load(p)
	}
	return c.settings.load(p, func(cfg *config.Config) { cfg.Listen = c.Listen })
}

// server is a running relay and what its signals change.
type server struct {
	command *serveCommand
	process *process
	relay   *relay.Relay
	log     *slog.Logger
	level   slog.LevelVar
}

// start makes the relay. A signal ends the waiting for a database, with errInterrupted.
func (s *server) start(ctx context.Context, cfg config.Config) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	s.relay, err = relay.New(ctx, relay.Options{Config: cfg, Logger: s.log, Version: version})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return advise(err)
}

func (s *server) run(ctx context.Context, signals <-chan os.Signal) error {
	group := lifecycle.NewGroup(ctx)
	ended := make(chan error, 1)
	group.Go("relay", func(ctx context.Context) { ended <- s.relay.Run(ctx) })
	var draining time.Time // since when, zero while serving
	for {
		select {
		case err := <-ended:
			return err
		case err := <-group.Failed():
			return err
		case received := <-signals:
			switch {
			case received == syscall.SIGHUP:
				s.reload()
			case draining.IsZero():
				s.log.Info("signal received", "signal", received.String())
				draining = time.Now()
				group.Cancel()
			case time.Since(draining) > echo:
				return errForced
			}
		}
	}
}

// reload makes a changed configuration the running one. A bad one changes nothing.
func (s *server) reload() {
	cfg, err := s.command.load(s.process)
	if err != nil {
		s.log.Error("configuration not reloaded, the old one stays", "err", oneLine(err))
		return
	}
	changed, needRestart := s.relay.Reload(cfg)
	s.level.Set(cfg.Log.Level)
	s.log.Info("configuration reloaded", "changed", changed)
	if len(needRestart) > 0 {
		s.log.Warn("some changes need a restart", "keys", needRestart)
	}
}
