package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/store"
)

// Index is where a Reporter reports to; see store.Sessions.
type Index interface {
	Report(ctx context.Context, r store.SessionReport) (fresh bool, err error)
}

// Connections are the open ones.
type Connections interface {
	Each(fn func(c *lifecycle.Conn) bool)
}

// Options make a Reporter. All must be set.
type Options struct {
	Index       Index
	Connections Connections
	Node        store.Node
	Every       time.Duration // between two reports; a report may take as long
	Now         func() time.Time
	Logger      *slog.Logger
}

// Reporter says of one process who is connected to it.
type Reporter struct {
	// Set at construction, never changed.
	opt Options

	// Owned by the goroutine that calls Step.
	said    map[ref]time.Time // open sessions that the index has -> when they were active
	failing bool
}

// NewReporter returns a reporter that has said nothing.
func NewReporter(o Options) *Reporter {
	return &Reporter{opt: o, said: make(map[ref]time.Time)}
}

// NewNode returns a node of that name in a new incarnation.
func NewNode(name string) store.Node {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return store.Node{Name: name, Incarnation: hex.EncodeToString(id[:])}
}

// Run reports until ctx ends, then says that the process ends, which may take half as
// long as lies between two reports. An index that is away
// is logged once and tried again at the next turn.
func (r *Reporter) Run(ctx context.Context) {
	tick := time.NewTicker(r.opt.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.note(ctx, r.Step(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last := store.SessionReport{Node: r.opt.Node, Stopped: true}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.Every/2)
	defer cancel()
	if err := r.report(short, last); err != nil {
		r.opt.Logger.Warn("sessions are not reported as ended", "err", err)
	}
}

func (r *Reporter) note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !r.failing:
		r.opt.Logger.Warn("sessions cannot be reported", "err", err)
	case err == nil && r.failing:
		r.opt.Logger.Info("sessions are reported again")
	}
	r.failing = err != nil
}

// Step reports what changed since the last report that arrived.
func (r *Reporter) Step(ctx context.Context) error {
	report, open := r.changes()
	if err := r.report(ctx, report); err != nil {
		return err
	}
	r.said = open
	return nil
}

// report sends one report. An index that had lost this process is told everything.
func (r *Reporter) report(ctx context.Context, report store.SessionReport) error {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Every)
	defer cancel()
	fresh, err := r.opt.Index.Report(ctx, report)
	if err != nil || !fresh || len(r.said) == 0 || report.Stopped {
		return err
	}
	clear(r.said)
	all, _ := r.changes()
	_, err = r.opt.Index.Report(ctx, all)
	return err
}

// changes returns what is to be said now, and what the index then has.
func (r *Reporter) changes() (report store.SessionReport, open map[ref]time.Time) {
	report.Node, open = r.opt.Node, make(map[ref]time.Time, len(r.said))
	now := r.opt.Now()
	r.opt.Connections.Each(func(c *lifecycle.Conn) bool {
		report.Connections++
		keys := c.Keys()
		if len(keys) == 0 {
			return true
		}
		active := c.Active()
		for _, key := range keys {
			at := ref{c.ID(), key}
			open[at] = active
			if before, ok := r.said[at]; ok && before.Equal(active) {
				continue
			}
			report.Open = append(report.Open, store.SessionOpen{
				Conn: at.conn, Key: key, Idle: max(0, now.Sub(active)), Doc: document(c),
			})
		}
		return true
	})
	for at := range r.said {
		if _, ok := open[at]; !ok {
			report.Ended = append(report.Ended, store.SessionRef{Conn: at.conn, Key: at.key})
		}
	}
	slices.SortFunc(report.Ended, compare)
	return report, open
}

// document is what the operator may learn of a connection.
func document(c *lifecycle.Conn) json.RawMessage {
	doc := struct {
		Version int       `json:"v"`
		Address string    `json:"address,omitempty"`
		Since   time.Time `json:"since"`
	}{1, "", c.Opened().UTC()}
	if addr := c.Peer().Addr; addr.IsValid() {
		doc.Address = addr.String()
	}
	out, err := json.Marshal(doc)
	if err != nil || len(out) > store.MaxSessionDoc {
		return nil // no such document exists: the fields are short
	}
	return out
}
