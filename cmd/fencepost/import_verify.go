package main

import (
	"context"
	"errors"
	"io"
	"runtime"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

const (
	batchLines = 256
	batchBytes = 1 << 20
)

// batch is some successive lines. Of each, events or refusals has something.
type batch struct {
	lines    []line
	events   []*wire.Event
	refusals []error
	verified chan struct{} // closed when events and refusals are set
}

// pipeline reads lines in one goroutine, verifies batches on all cores, and
// hands them over in the order read. At most a few batches a core are in memory.
type pipeline struct {
	ordered chan *batch // closed by the reader
	pending chan *batch // the same batches, for whoever verifies; closed by the reader
	failure error       // of the reader, set before ordered is closed
}

// verifyLines calls use for each batch, in order, in the caller's goroutine. It
// ends with the input, with the first error, or with ctx; a reader that hangs in
// its input is then left behind.
func verifyLines(ctx context.Context, lines *lineReader, use func(*batch) error) error {
	cores := runtime.GOMAXPROCS(0)
	p := &pipeline{ordered: make(chan *batch, 2*cores), pending: make(chan *batch, 2*cores)}
	group := lifecycle.NewGroup(ctx)
	group.Go("import reader", func(ctx context.Context) { p.read(ctx, lines) })
	for range cores {
		group.Go("import verifier", p.verify)
	}
	err := p.use(group, use)
	group.Cancel()
	if err != nil {
		return err
	}
	return group.Wait(ctx)
}

func (p *pipeline) read(ctx context.Context, lines *lineReader) {
	defer close(p.ordered)
	defer close(p.pending)
	for {
		b, err := readBatch(lines)
		if len(b.lines) > 0 {
			// It is handed over in order first, so that use never waits for a
			// batch that no verifier has.
			for _, to := range []chan *batch{p.pending, p.ordered} {
				select {
				case to <- b:
				case <-ctx.Done():
					return
				}
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.failure = err
			}
			return
		}
	}
}

func readBatch(lines *lineReader) (*batch, error) {
	b := &batch{verified: make(chan struct{})}
	for size := 0; len(b.lines) < batchLines && size < batchBytes; {
		l, err := lines.next()
		if err != nil {
			return b, err
		}
		b.lines = append(b.lines, l)
		size += len(l.data)
	}
	return b, nil
}

func (p *pipeline) verify(ctx context.Context) {
	for {
		select {
		case b, ok := <-p.pending:
			if !ok {
				return
			}
			b.verify()
			close(b.verified)
		case <-ctx.Done():
			return
		}
	}
}

func (b *batch) verify() {
	b.events, b.refusals = make([]*wire.Event, len(b.lines)), make([]error, len(b.lines))
	for i, l := range b.lines {
		b.events[i], b.refusals[i] = l.event()
	}
}

// event decodes and verifies a line.
func (l line) event() (*wire.Event, error) {
	if l.err != nil {
		return nil, l.err
	}
	e, err := wire.DecodeEvent(l.data)
	if err != nil {
		return nil, err
	}
	if err := e.Verify(); err != nil {
		return nil, err
	}
	return e, e.Validate()
}

func (p *pipeline) use(group *lifecycle.Group, use func(*batch) error) error {
	for {
		select {
		case b, ok := <-p.ordered:
			if !ok {
				return p.failure
			}
			if err := p.await(group, b); err != nil {
				return err
			}
			if err := use(b); err != nil {
				return err
			}
		case err := <-group.Failed():
			return err
		case <-group.Context().Done():
			return group.Context().Err()
		}
	}
}

func (p *pipeline) await(group *lifecycle.Group, b *batch) error {
	select {
	case <-b.verified:
		return nil
	case err := <-group.Failed():
		return err
	case <-group.Context().Done():
		return group.Context().Err()
	}
}
