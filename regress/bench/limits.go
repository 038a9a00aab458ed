package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// Names of the machine's limits.
const (
	limitCheck  = "signature check"
	limitCommit = "durable commit, 100 events an fsync"
	limitFsync  = "fsync"
	limitAlone  = "one write a frame"
	limitJoined = "16 frames a write"
)

// measure takes each limit once. Those that need a folder on the relay's disk are
// left out when there is none.
func (r *run) measure(ctx context.Context) error {
	if r.options.NoLimits {
		return nil
	}
	r.options.Say("the machine's limits")
	steps := []func(context.Context) error{r.checks, r.writes}
	if r.options.Disk != "" {
		steps = append(steps, r.fsyncs)
		if r.options.OpenStore != nil {
			steps = append(steps, r.commits)
		}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("measure the machine: %w", err)
		}
	}
	return nil
}

// checks verifies signatures on one thread.
func (r *run) checks(context.Context) error {
	events, err := r.events(limitSet(r.options))
	if err != nil {
		return err
	}
	decoded := make([]*wire.Event, events.count())
	for i := range decoded {
		if decoded[i], err = events.event(i); err != nil {
			return err
		}
	}
	spent, err := onThread(func() error {
		for _, ev := range decoded {
			if err := ev.Verify(); err != nil {
				return err
			}
		}
		return nil
	})
	r.limit(limitCheck, "per CPU-s", perSecond(len(decoded), spent))
	return err
}

func limitSet(o *Options) set { return plain("limits", o.sizes.verified) }

// commits appends events to an empty store, a hundred at a time. They are not
// signed, which a store does not look at.
func (r *run) commits(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(r.options.Disk, "fencepost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := r.options.OpenStore(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	of := plain("commits", r.options.sizes.committed)
	d := r.cache.drafter(of, time.Now().Unix())
	writes := make([]store.Write, of.count)
	for i := range writes {
		ev := of.draft(d, i).event
		ev.PubKey, ev.Sig = stranger(d.seed, i%plainAuthors), strings.Repeat("0", 128)
		ev.ID = ev.GetID()
		writes[i].Event = wire.NewEvent(ev)
	}
	began, spent := time.Now(), ownCPU()
	for ; len(writes) > 0; writes = writes[min(batch, len(writes)):] {
		for _, outcome := range s.Append(ctx, writes[:min(batch, len(writes))]) {
			if outcome.Err != nil {
				return outcome.Err
			}
		}
	}
	r.limit(limitCommit, "events per CPU-s", perSecond(of.count, ownCPU()-spent))
	r.limit(limitCommit+", by the clock", "events per s", perSecond(of.count, time.Since(began)))
	return nil
}

// fsyncs appends to a file and makes that durable, again and again.
func (r *run) fsyncs(ctx context.Context) (err error) {
	path := filepath.Join(r.options.Disk, "fencepost-bench-fsync")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	var h Histogram
	line := make([]byte, 400)
	for range r.options.sizes.synced {
		began := time.Now()
		if _, err := f.Write(line); err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), ctx.Err()); err != nil {
			return err
		}
		h.Add(time.Since(began))
	}
	r.limit(limitFsync+" p50", "ms", milliseconds(h.Quantile(0.5)))
	return nil
}

// writes sends frames of 500 bytes to one socket after another.
func (r *run) writes(ctx context.Context) (err error) {
	pairs, err := connected(ctx, r.options.sizes.sockets)
	reading := lifecycle.NewGroup(ctx)
	defer func() {
		for _, p := range pairs {
			err = errors.Join(err, p.near.Close()) // the other end's reader sees it
		}
		err = errors.Join(err, reading.Wait(context.WithoutCancel(ctx)))
		for _, p := range pairs {
			err = errors.Join(err, p.far.Close())
		}
	}()
	if err != nil {
		return err
	}
	for _, p := range pairs {
		reading.Go("bench drain", func(context.Context) {
			// An error shows at the writing end. The wrapper hides splice(2).
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{p.far}, make([]byte, 16<<10))
		})
	}
	frame := make([]byte, 500)
	for _, size := range []int{1, batched} {
		buffer := make([]byte, size*len(frame))
		spent, err := onThread(func() error {
			for i := range r.options.sizes.writes {
				if _, err := pairs[i%len(pairs)].near.Write(buffer); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		r.limit(map[int]string{1: limitAlone, batched: limitJoined}[size], "frames per CPU-s", perSecond(r.options.sizes.writes*size, spent))
	}
	return nil
}

// pair is a TCP connection of this process with itself.
type pair struct{ near, far net.Conn }

// connected makes n pairs. With an error, it returns those that it made.
func connected(ctx context.Context, n int) (pairs []pair, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for range n {
		near, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		if err != nil {
			return pairs, err
		}
		far, err := l.Accept()
		if err != nil {
			return pairs, errors.Join(err, near.Close())
		}
		pairs = append(pairs, pair{near, far})
	}
	return pairs, nil
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0 // not measured
	}
	return float64(n) / d.Seconds()
}

// publicKey returns the public key of author n, and remembers it.
func (r *run) publicKey(n int) string {
	if key, ok := r.keys[n]; ok {
		return key
	}
	key, err := nostr.GetPublicKey(secret(r.options.Seed, n))
	if err != nil {
		key = stranger(r.options.Seed, n) // one of 2^128 digests is no key
	}
	r.keys[n] = key
	return key
}
