package transfer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"fencepost/relay/store"
)

// Source is what is read of a store; all three stores have it.
type Source interface {
	Log(ctx context.Context) (store.LogInfo, error)
	// ReadStored returns up to max stored events and control rows after a position, in
	// position order.
	ReadStored(ctx context.Context, after store.Position, max int) ([]store.Entry, error)
	// ReadMarks returns up to max marks that come after one, in the order of
	// store.Mark.Compare; the zero mark stands before the first.
	ReadMarks(ctx context.Context, after store.Mark, max int) ([]store.Mark, error)
}

// Target is what can be copied into.
type Target interface {
	Source
	Append(ctx context.Context, writes []store.Write) []store.Outcome
	// Copying returns how far a copy into the store is.
	Copying(ctx context.Context) (store.Copying, error)
}

// Decisions about a copy.
var (
	ErrNotEmpty = errors.New("the target is not empty")
	ErrForeign  = errors.New("the target holds a copy of another store")
	ErrDiffers  = errors.New("the copy differs from the original")
)

// What one commit takes at most.
const (
	partRows  = 500
	partBytes = 2 << 20
)

// progress is how far a copy is, as the target keeps it.
type progress struct {
	From  store.Epoch    `json:"from"`  // the original
	After store.Position `json:"after"` // rows of the original up to here are copied
	Kind  store.MarkKind `json:"kind,omitempty"`
	Key   string         `json:"key,omitempty"` // hex; with Kind the last mark that is copied
}

func (p *progress) encode(done bool) (store.Copying, error) {
	token, err := json.Marshal(p)
	return store.Copying{Token: string(token), Done: done}, err
}

// Begin makes to the target of a copy of from, unless it is that already. ErrNotEmpty or
// ErrForeign when it must not become one; then nothing has changed.
func Begin(ctx context.Context, from Source, to Target) error {
	_, err := open(ctx, from, to)
	return err
}

// Withdraw undoes Begin: to is no copy any more and can be opened for serving. Where
// something was copied already it does nothing.
func Withdraw(ctx context.Context, to Target) error {
	kept, err := to.Copying(ctx)
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	var at progress
	if kept.Token != "" {
		if err := json.Unmarshal([]byte(kept.Token), &at); err != nil {
			return fmt.Errorf("progress of the copy: %w", err)
		}
	}
	if kept.Token == "" || kept.Done || at.After != 0 || at.Kind != 0 {
		return nil
	}
	if out := to.Append(ctx, []store.Write{{Copied: &store.Copied{Before: kept}}}); out[0].Err != nil {
		return fmt.Errorf("withdraw the copy: %w", out[0].Err)
	}
	return nil
}

// Copy copies what is missing in to, and blocks until that is durable. It may be called
// again after any error. told, unless it is nil, is called after each commit.
func Copy(ctx context.Context, from Source, to Target, told func(Count)) error {
	c, err := open(ctx, from, to)
	if err != nil || c.kept.Done {
		return err
	}
	if c.told = told; told == nil {
		c.told = func(Count) {}
	}
	for _, part := range []func(context.Context) (store.Copied, error){c.rows, c.marks} {
		for {
			next, err := part(ctx)
			if err != nil {
				return err
			}
			if len(next.Rows)+len(next.Marks) == 0 {
				break
			}
			if err := c.write(ctx, next, false); err != nil {
				return err
			}
		}
	}
	return c.write(ctx, store.Copied{}, true)
}

// copier is one call of Copy.
type copier struct {
	from  Source
	to    Target
	kept  store.Copying // what the target keeps
	at    progress      // the same
	count Count         // of what this call has copied
	told  func(Count)
}

// open reads how far the copy is, or begins it.
func open(ctx context.Context, from Source, to Target) (*copier, error) {
	info, err := from.Log(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the original: %w", err)
	}
	c := &copier{from: from, to: to}
	if c.kept, err = to.Copying(ctx); err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	if c.kept.Token == "" {
		c.at.From = info.Epoch
		err := c.write(ctx, store.Copied{}, false)
		if errors.Is(err, store.ErrCopy) {
			err = ErrNotEmpty
		}
		return c, err
	}
	if err := json.Unmarshal([]byte(c.kept.Token), &c.at); err != nil {
		return nil, fmt.Errorf("progress of the copy: %w", err)
	}
	if c.at.From != info.Epoch {
		return nil, ErrForeign
	}
	return c, nil
}

// rows returns the next rows of the original, none at the end.
func (c *copier) rows(ctx context.Context) (next store.Copied, err error) {
	if c.at.Kind != 0 {
		return next, nil // marks come after all rows
	}
	found, err := c.from.ReadStored(ctx, c.at.After, partRows)
	if err != nil {
		return next, fmt.Errorf("read rows after %d: %w", c.at.After, err)
	}
	bytes := 0
	for i := range found {
		if bytes += weight(&found[i]); i > 0 && bytes > partBytes {
			found = found[:i]
			break
		}
	}
	if len(found) > 0 {
		c.at.After = found[len(found)-1].Position
	}
	next.Rows = found
	return next, nil
}

// marks returns the next marks of the original, none at the end.
func (c *copier) marks(ctx context.Context) (next store.Copied, err error) {
	key, err := hex.DecodeString(c.at.Key)
	if err != nil {
		return next, fmt.Errorf("progress of the copy: %w", err)
	}
	next.Marks, err = c.from.ReadMarks(ctx, store.Mark{Kind: c.at.Kind, Key: key}, partRows)
	if err != nil {
		return next, fmt.Errorf("read marks: %w", err)
	}
	if n := len(next.Marks); n > 0 {
		c.at.Kind, c.at.Key = next.Marks[n-1].Kind, hex.EncodeToString(next.Marks[n-1].Key)
	}
	return next, nil
}

// write commits part together with the progress that c has come to.
func (c *copier) write(ctx context.Context, part store.Copied, done bool) (err error) {
	part.Before = c.kept
	if part.After, err = c.at.encode(done); err != nil {
		return err
	}
	if out := c.to.Append(ctx, []store.Write{{Copied: &part}}); out[0].Err != nil {
		return fmt.Errorf("write the copy: %w", out[0].Err)
	}
	c.kept = part.After
	c.count.add(part.Rows, part.Marks)
	if c.told != nil {
		c.told(c.count)
	}
	return nil
}

func weight(e *store.Entry) int {
	if e.Event != nil {
		return len(e.Event.Raw())
	}
	return len(e.Control.Data)
}
