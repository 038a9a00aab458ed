package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// run is one run. It is driven by one goroutine.
type run struct {
	// Set at construction, never changed.
	options *Options
	ctx     context.Context // the lifetime of the run
	cache   *cache
	peers   []*peer // A, and B when there is one
	tmpfs   *peer   // or nil

	library *library       // of the stored events, once they were loaded
	keys    map[int]string // number of an author -> public key
	held    map[string]*signed
	report  *Report
}

// Run measures. It blocks until all rows are done or ctx ends; the report has what
// was measured by then. An error means that the run could not be held: a row in
// which a relay did not do its work is in the report as failed.
func Run(ctx context.Context, o Options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.peers, r.tmpfs, err = r.options.peers(); err != nil {
		return nil, err
	}
	for _, p := range r.all() {
		if p.rss, p.pss, err = p.process.memory(); err != nil && !errors.Is(err, errUnknown) {
			return nil, err
		}
	}
	err = r.steps()
	r.report.Seconds = time.Since(r.report.Began).Seconds()
	r.report.judge()
	return r.report, err
}

// Prepare signs what Run would need, and keeps it in o.Cache. On one core it takes
// as long as all the rows together: call it before the process is pinned to one.
func Prepare(ctx context.Context, o Options) error {
	r, err := newRun(ctx, o)
	if err != nil {
		return err
	}
	return r.prepare()
}

func newRun(ctx context.Context, o Options) (*run, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &run{
		options: &o, ctx: ctx,
		cache: &cache{dir: o.Cache, seed: o.Seed, now: time.Now, say: o.Say},
		keys:  make(map[int]string), held: make(map[string]*signed),
		report: newReport(&o),
	}, nil
}

// all returns every relay of the run.
func (r *run) all() []*peer {
	if r.tmpfs == nil {
		return r.peers
	}
	return append(append([]*peer(nil), r.peers...), r.tmpfs)
}

// needed returns the sets of the rows that are wanted.
func (r *run) needed() (sets []set) {
	if !r.options.NoLimits {
		sets = append(sets, limitSet(r.options))
	}
	stored := false
	for _, row := range rows {
		if !r.options.wants(row.name) {
			continue
		}
		stored = stored || r.needsStored(row)
		for round := range row.rounds(r.options) {
			if row.sets != nil {
				sets = append(sets, row.sets(r.options, round)...)
			}
		}
	}
	if stored {
		sets = append(sets, storedSet(r.options))
	}
	return sets
}

// needsStored reports whether the relay has the stored events before the row
// runs. At a larger scale every row has them, idle connections aside.
func (r *run) needsStored(row row) bool {
	return row.stored || r.options.Scale > 1 && row.name != rowIdle
}

func (r *run) prepare() error {
	for _, s := range r.needed() {
		if _, err := r.events(s); err != nil {
			return err
		}
		clear(r.held)
	}
	return nil
}

// events returns a set, signed. Of the sets asked for it holds the last few.
func (r *run) events(s set) (*signed, error) {
	name := fmt.Sprint(s.name, " ", s.count)
	if events, ok := r.held[name]; ok {
		return events, nil
	}
	events, err := r.cache.load(r.ctx, s)
	if err != nil {
		return nil, err
	}
	if len(r.held) > 4 {
		clear(r.held)
	}
	r.held[name] = events
	return events, nil
}

// steps runs the rows, with the limits of the machine before, between and after.
func (r *run) steps() error {
	if err := r.prepare(); err != nil {
		return err
	}
	var wanted []row
	for _, row := range rows {
		if r.options.wants(row.name) {
			wanted = append(wanted, row)
		}
	}
	for i, row := range wanted {
		if i == 0 || i == len(wanted)/2 {
			if err := r.measure(r.ctx); err != nil {
				return err
			}
		}
		if err := r.row(row); err != nil {
			return err
		}
	}
	return r.measure(r.ctx)
}

// row runs all rounds of one row. What a relay does wrong ends the row for it; an
// error is something else.
func (r *run) row(w row) error {
	result := Row{Name: w.name, Title: w.title}
	on := r.peers
	if w.name == rowTmpfs {
		on = []*peer{r.tmpfs}
	}
	for _, p := range on {
		result.Results = append(result.Results, &Result{Relay: p.name})
	}
	for round := range w.rounds(r.options) {
		for i, p := range on {
			out := result.Results[i]
			if out.Failure != "" {
				continue
			}
			figures, err := r.round(w, p, round)
			if r.ctx.Err() != nil {
				return context.Cause(r.ctx)
			}
			if err != nil {
				out.fail(err)
				r.options.Say(fmt.Sprintf("%s, relay %s: FAILED: %v", w.name, p.name, err))
				continue
			}
			out.add(figures)
			r.options.Say(fmt.Sprintf("%s, relay %s, round %d of %d: %s", w.name, p.name, round+1, w.rounds(r.options), figures[0]))
		}
	}
	r.report.Rows = append(r.report.Rows, result)
	return nil
}

// round runs one round of one row on one relay.
func (r *run) round(w row, p *peer, round int) ([]Figure, error) {
	if r.needsStored(w) {
		if err := r.load(p); err != nil {
			return nil, fmt.Errorf("store the events to ask for: %w", err)
		}
	}
	if err := r.calm(); err != nil {
		return nil, err
	}
	runtime.GC() // what earlier rounds left costs this one nothing
	s := newStage(r.ctx, r.options, p)
	figures, err := w.run(r, s, round)
	if err = s.end(err); err != nil {
		return nil, err
	}
	return figures, nil
}

// portion is how many events are given to a relay at a time.
const portion = 20_000

// load sees to it that the relay has the stored events.
func (r *run) load(p *peer) error {
	events, err := r.events(storedSet(r.options))
	if err != nil {
		return err
	}
	if r.library == nil {
		if r.library, err = catalogue(events); err != nil {
			return err
		}
	}
	if p.loaded || r.present(p, events) {
		p.loaded = true
		return nil
	}
	r.options.Say(fmt.Sprintf("relay %s is given %d events", p.name, events.count()))
	for from := 0; from < events.count(); from += portion {
		s := newStage(r.ctx, r.options, p)
		_, err := s.pump(traffic{
			events: events.slice(from, min(from+portion, events.count())), publishers: 8, window: 64, again: true,
		})
		if err = s.end(err); err != nil {
			return err
		}
	}
	p.loaded = true
	return nil
}

// probes is how many of the stored events are asked for to see whether all are there.
const probes = 50

// present reports whether the relay seems to have the stored events already, from
// an earlier run. If it does not have all, answers will be too short.
func (r *run) present(p *peer, events *signed) bool {
	q := question{want: min(probes, events.count())}
	for i := range q.want {
		q.filter.IDs = append(q.filter.IDs, string(events.id(i*(events.count()-1)/max(1, q.want-1))))
	}
	q.filter.Limit = q.want
	s := newStage(r.ctx, r.options, p)
	l, err := s.dial()
	if err == nil {
		err = s.asker(l, []question{q}).ask(time.Time{})
	}
	return s.end(err) == nil
}

const (
	calmStep  = 250 * time.Millisecond
	calmSteps = 40 // at most
)

// calm waits until the relays do next to nothing: what one of them still does for
// an earlier round is not paid by the next.
func (r *run) calm() error {
	if r.options.Quick {
		return nil
	}
	step := time.NewTicker(calmStep)
	defer step.Stop()
	before := r.spent()
	for range calmSteps {
		select {
		case <-step.C:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
		after := r.spent()
		if after-before <= calmStep/10 {
			return nil
		}
		before = after
	}
	return nil
}

// spent returns the CPU time of all relays that are known, which is none when
// one of them has ended: the row then says so.
func (r *run) spent() (sum time.Duration) {
	for _, p := range r.all() {
		if cpu, err := p.process.cpu(); err == nil {
			sum += cpu
		}
	}
	return sum
}
