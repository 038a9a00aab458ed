package storetest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// RunModel applies random histories to what open makes and to the fake, and
// requires the same outcomes, logs and answers of both.
func RunModel(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{now: time.Unix(start, 0)}
		clock := func() time.Time { return m.now }
		m.fake, m.real = NewFake(clock), open(t, clock)
		defer func() { require.NoError(rt, m.real.Close()) }()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			m.step(rt)
		}
		m.compareLogs(rt)
		for range rapid.IntRange(1, 12).Draw(rt, "questions") {
			m.compareAnswers(rt)
		}
	})
}

// model is one history. The clock moves between calls only.
type model struct {
	fake *Fake
	real store.Store
	now  time.Time
	made []*wire.Event
}

func (m *model) step(t *rapid.T) {
	switch rapid.SampledFrom([]string{"append", "append", "append", "append", "append", "pass", "sweep", "erase", "trim"}).Draw(t, "step") {
	case "append":
		m.append(t)
	case "pass":
		m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
	case "sweep":
		want, err := m.fake.Sweep(context.Background(), m.now)
		require.NoError(t, err)
		got, err := m.real.Sweep(context.Background(), m.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	case "trim":
		keep := store.Retention{
			Age:  time.Duration(rapid.IntRange(0, 60).Draw(t, "keep seconds")) * time.Second,
			Rows: uint64(rapid.IntRange(0, 12).Draw(t, "keep rows")),
		}
		want, err := m.fake.Trim(context.Background(), keep, m.now)
		require.NoError(t, err)
		got, err := m.real.Trim(context.Background(), keep, m.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	case "erase":
		x, limit := m.erasure(t), rapid.IntRange(0, 6).Draw(t, "erase at most")
		want, err := m.fake.Erase(context.Background(), x, limit)
		require.NoError(t, err)
		got, err := m.real.Erase(context.Background(), x, limit)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func (m *model) append(t *rapid.T) {
	var writes []store.Write
	for range rapid.IntRange(1, 12).Draw(t, "writes") {
		if rapid.IntRange(0, 7).Draw(t, "change a fence") == 0 {
			writes = append(writes, m.changeFence(t))
			continue
		}
		writes = append(writes, m.write(t))
	}
	want := m.fake.Append(context.Background(), writes)
	require.Equal(t, want, m.real.Append(context.Background(), writes))
}

func (m *model) event(t *rapid.T) *wire.Event {
	if len(m.made) > 0 && rapid.IntRange(0, 5).Draw(t, "again") == 0 {
		return rapid.SampledFrom(m.made).Draw(t, "duplicate")
	}
	d := Draft{
		Key:     rapid.IntRange(0, 2).Draw(t, "author"),
		Kind:    rapid.SampledFrom([]int{1, 1, 7, 5, 5, 0, 10002, 30023, 30023, 20001, 1059, 62, 39000}).Draw(t, "kind"),
		At:      start + rapid.Int64Range(0, 6).Draw(t, "at"),
		Content: rapid.SampledFrom([]string{"0", "1", "2 1", "1 3 1", "", "3 x x x x"}).Draw(t, "content"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "tags") {
		d.Tags = append(d.Tags, m.tag(t))
	}
	return d.Event()
}

func (m *model) tag(t *rapid.T) nostr.Tag {
	author := Key(rapid.IntRange(0, 2).Draw(t, "tagged"))
	switch rapid.SampledFrom([]string{"e", "a", "d", "t", "p", "h", "expiration"}).Draw(t, "tag") {
	case "e":
		if len(m.made) == 0 {
			return nostr.Tag{"e"}
		}
		return nostr.Tag{"e", rapid.SampledFrom(m.made).Draw(t, "target").ID}
	case "a":
		return nostr.Tag{"a", rapid.SampledFrom([]string{"0:", "10002:", "30023:"}).Draw(t, "address") +
			author + ":" + rapid.SampledFrom([]string{"", "x"}).Draw(t, "address d")}
	case "d":
		return nostr.Tag{"d", rapid.SampledFrom([]string{"", "x", longValues[8]}).Draw(t, "d")}
	case "t":
		return nostr.Tag{"t", rapid.SampledFrom(topics).Draw(t, "topic")}
	case "p":
		return nostr.Tag{"p", author}
	case "h":
		return nostr.Tag{"h", rapid.SampledFrom(groups).Draw(t, "group")}
	default:
		at := start + rapid.Int64Range(0, 200).Draw(t, "expiration")
		return nostr.Tag{"expiration", strconv.FormatInt(at, 10)}
	}
}

var topics = []string{"", "a", "b", longValues[8], longValues[9]}

func (m *model) compareLogs(t *rapid.T) {
	want, got := readLog(t, m.fake), readLog(t, m.real)
	requireSame(t, want, got)
	after := store.Position(rapid.IntRange(0, len(want)+1).Draw(t, "control rows after"))
	want, err := m.fake.ReadControl(context.Background(), after, 5)
	require.NoError(t, err)
	got, err = m.real.ReadControl(context.Background(), after, 5)
	require.NoError(t, err)
	requireSame(t, want, got)
	wantInfo, err := m.fake.Log(context.Background())
	require.NoError(t, err)
	gotInfo, err := m.real.Log(context.Background())
	require.NoError(t, err)
	require.Equal(t, wantInfo.Head, gotInfo.Head)
	require.Equal(t, wantInfo.Control, gotInfo.Control)
	m.compareFences(t)
	require.Equal(t, wantInfo.Floor, gotInfo.Floor)
	if wantInfo.Floor > 1 {
		_, err = m.real.ReadLog(context.Background(), wantInfo.Floor-2, 1)
		require.ErrorIs(t, err, store.ErrFloor)
	}
}

func requireSame(t *rapid.T, want, got []store.Entry) {
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, flat(want[i]), flat(got[i]))
	}
}

// flat is an entry with what is behind its pointers in place of them.
func flat(e store.Entry) [4]any {
	var text string
	var removal store.Removal
	if e.Control != nil {
		text = fmt.Sprintf("%q %q", e.Control.Scopes, e.Control.Data)
	}
	if e.Event != nil {
		text = string(e.Event.Raw())
	}
	if e.Removal != nil {
		text = string(e.Removal.Event.Raw())
		removal = store.Removal{Cause: e.Removal.Cause, Target: e.Removal.Target}
	}
	e.Event, e.Removal, e.Control = nil, nil, nil
	return [4]any{e, text, removal}
}

func (m *model) compareAnswers(t *rapid.T) {
	ctx := context.Background()
	var filters []nostr.Filter
	for range rapid.IntRange(1, 3).Draw(t, "filters") {
		filters = append(filters, m.filter(t))
	}
	opt := store.QueryOptions{
		MaxLimit: rapid.IntRange(0, 8).Draw(t, "max limit"),
		MaxTotal: rapid.IntRange(0, 12).Draw(t, "max total"),
	}
	if hidden := rapid.IntRange(0, 4).Draw(t, "hidden"); hidden > 0 {
		opt.Visible = func(e *wire.Event) bool { return e.ID[0]%4 != byte(hidden-1) }
	}
	limit := rapid.IntRange(0, 10).Draw(t, "count limit")
	prefix := "00000000"
	if len(m.made) > 0 {
		prefix = rapid.SampledFrom(m.made).Draw(t, "begins").ID[:8]
	}
	var answers [2][5]any
	for i, s := range []store.Store{m.fake, m.real} {
		snap, err := s.Snapshot(ctx)
		require.NoError(t, err)
		events, hint := ask(t, snap, opt, filters...)
		n, exact, err := snap.Count(ctx, prepare(filters), limit, opt.Visible)
		require.NoError(t, err)
		begin, err := snap.Prefixed(ctx, prefix, 2)
		require.NoError(t, err)
		answers[i] = [5]any{ids(events), hint, n, exact, at(begin)}
		require.NoError(t, snap.Close())
	}
	require.Equal(t, answers[0], answers[1], "%v %+v count to %d", filters, opt, limit)
}

func at(records []store.Record) (positions []store.Position) {
	for _, r := range records {
		positions = append(positions, r.Position)
	}
	return positions
}

func (m *model) filter(t *rapid.T) (f nostr.Filter) {
	has := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
	if has("ids") && len(m.made) > 0 {
		for _, e := range rapid.SliceOfN(rapid.SampledFrom(m.made), 0, 12).Draw(t, "wanted") {
			f.IDs = append(f.IDs, e.ID)
		}
	}
	if has("authors") {
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 3), 1, 4).Draw(t, "wanted authors") {
			f.Authors = append(f.Authors, Key(n))
		}
	}
	if has("kinds") {
		f.Kinds = rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, 7, 1059, 10002, 30023, 20001}), 1, 4).Draw(t, "wanted kinds")
	}
	if has("topics") {
		f.Tags = nostr.TagMap{"t": rapid.SliceOfN(rapid.SampledFrom(topics), 1, 3).Draw(t, "wanted topics")}
	}
	if has("recipients") {
		f.Tags = nostr.TagMap{"t": f.Tags["t"], "p": {Key(rapid.IntRange(0, 2).Draw(t, "recipient"))}}
	}
	if has("since") {
		f.Since = ptr(start + rapid.Int64Range(0, 6).Draw(t, "since at"))
	}
	if has("until") {
		f.Until = ptr(start + rapid.Int64Range(0, 6).Draw(t, "until at"))
	}
	if m.real.Searches() && has("search") {
		f.Search = rapid.SampledFrom([]string{"0", "1", "1 2", "3 x", "key:value", "?"}).Draw(t, "searched")
	}
	f.Limit = rapid.IntRange(0, 6).Draw(t, "limit")
	f.LimitZero = f.Limit == 0 && has("limit zero")
	return f
}
