package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"fencepost/lifecycle"
	"fencepost/relay/wire"
)

// keepFor is how long signed events are used again. Relays refuse old ones.
const keepFor = 30 * 24 * time.Hour

// signed are the events of a set in their wire form, in order.
type signed struct {
	lines [][]byte
}

func (s *signed) count() int { return len(s.lines) }

// idAt is where the id stands in the wire form.
const idAt = len(`{"id":"`)

func (s *signed) id(i int) []byte { return s.lines[i][idAt:][:idSize] }

// event decodes event i.
func (s *signed) event(i int) (*wire.Event, error) { return wire.DecodeEvent(s.lines[i]) }

// slice returns the events from..to-1.
func (s *signed) slice(from, to int) *signed { return &signed{s.lines[from:to]} }

// label is the first line of a file of signed events.
type label struct {
	Set   string `json:"set"`
	Count int    `json:"count"`
	Seed  uint64 `json:"seed"`
	Base  int64  `json:"base"` // Unix seconds
}

// cache keeps signed events in files.
type cache struct {
	dir  string
	seed uint64
	now  func() time.Time
	say  func(string)
}

// load returns the events of a set, from its file or signed on all cores. A file
// that is too old, spoilt or of another version is made anew.
func (c *cache) load(ctx context.Context, s set) (*signed, error) {
	path := filepath.Join(c.dir, fmt.Sprintf("%s-%d-%d.jsonl", s.name, s.count, c.seed))
	if data, err := os.ReadFile(path); err == nil {
		if events, ok := c.read(s, data); ok {
			return events, nil
		}
	}
	c.say(fmt.Sprintf("signing %d events (%s)", s.count, s.name))
	d := c.drafter(s, c.now().Unix())
	events, err := sign(ctx, s, d)
	if err != nil {
		return nil, err
	}
	if err := c.write(path, d, events); err != nil {
		return nil, fmt.Errorf("keep signed events: %w", err)
	}
	return events, nil
}

func (c *cache) drafter(s set, base int64) *drafter {
	return &drafter{set: s.name, seed: c.seed, base: base, n: s.count}
}

// sign signs a whole set, on all cores.
func sign(ctx context.Context, s set, d *drafter) (*signed, error) {
	workers := runtime.GOMAXPROCS(0)
	out, errs := make([][]byte, s.count), make([]error, workers)
	group := lifecycle.NewGroup(ctx)
	for w := range workers {
		group.Go("bench sign", func(ctx context.Context) {
			for i := w; i < s.count && errs[w] == nil && ctx.Err() == nil; i += workers {
				draft := s.draft(d, i)
				errs[w] = draft.event.Sign(draft.key)
				out[i] = wire.NewEvent(draft.event).Raw()
			}
		})
	}
	if err := group.Wait(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return &signed{lines: out}, nil
}

// read takes a file's content apart.
func (c *cache) read(s set, data []byte) (*signed, bool) {
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	var l label
	if json.Unmarshal(first, &l) != nil || l.Set != s.name || l.Count != s.count || l.Seed != c.seed {
		return nil, false
	}
	if age := c.now().Sub(time.Unix(l.Base, 0)); age < 0 || age > keepFor {
		return nil, false
	}
	events := &signed{lines: bytes.Split(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n"))}
	if len(events.lines) != s.count {
		return nil, false
	}
	for _, line := range events.lines {
		if len(line) < idAt+idSize || !bytes.HasPrefix(line, []byte(`{"id":"`)) {
			return nil, false
		}
	}
	return events, sampled(s, c.drafter(s, l.Base), events)
}

// sampled reports whether some of the events are those that would be signed now,
// and validly signed.
func sampled(s set, d *drafter, events *signed) bool {
	const samples = 32
	for i := 0; i < s.count; i += max(1, s.count/samples) {
		draft := s.draft(d, i)
		key, err := nostr.GetPublicKey(draft.key)
		if err != nil {
			return false
		}
		draft.event.PubKey = key
		ev, err := events.event(i)
		if err != nil || ev.ID != draft.event.GetID() || ev.Verify() != nil {
			return false
		}
	}
	return true
}

// write keeps events under a name that appears only when the file is whole.
func (c *cache) write(path string, d *drafter, events *signed) (err error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, "signing-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	first, err := json.Marshal(label{d.set, d.n, d.seed, d.base})
	_, _ = w.Write(first) // Flush tells the errors of all before
	for _, line := range events.lines {
		_ = w.WriteByte('\n')
		_, _ = w.Write(line)
	}
	if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
