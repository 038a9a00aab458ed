package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// maxShown is how many refused lines are shown.
	maxShown = 10
	// maxReasons is how many reasons are told apart.
	maxReasons = 100
	// progressEvery is the pause between two progress lines.
	progressEvery = 200 * time.Millisecond
)

// tally counts what became of the lines.
type tally struct {
	stored    int
	grouped   int // of them: those that name a group (NIP-29)
	duplicate int
	refused   int
	reasons   map[string]int // reason -> lines
	messages  io.Writer      // the first refused lines are shown here
}

func newTally(messages io.Writer) *tally {
	return &tally{reasons: make(map[string]int), messages: messages}
}

// refuse counts a refused line.
func (t *tally) refuse(number int, why error) {
	reason := why.Error()
	if t.refused++; t.refused <= maxShown {
		fmt.Fprintf(t.messages, "line %d: %s\n", number, reason)
	}
	if _, known := t.reasons[reason]; !known && len(t.reasons) >= maxReasons {
		reason = "other"
	}
	t.reasons[reason]++
}

// nothing reports whether there were lines and not one of them was of use.
func (t *tally) nothing() bool { return t.refused > 0 && t.stored+t.duplicate == 0 }

// summary is one line; reasons come in the order of their frequency.
func (t *tally) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stored %d, duplicate %d, refused %d", t.stored, t.duplicate, t.refused)
	reasons := slices.SortedFunc(maps.Keys(t.reasons), func(x, y string) int {
		return cmp.Or(cmp.Compare(t.reasons[y], t.reasons[x]), strings.Compare(x, y))
	})
	for i, reason := range reasons {
		b.WriteString(map[bool]string{true: " (", false: "; "}[i == 0])
		fmt.Fprintf(&b, "%d %s", t.reasons[reason], reason)
	}
	if len(reasons) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

// progress overwrites one line of a terminal. Elsewhere it shows nothing.
type progress struct {
	out     io.Writer // nil when it is no terminal
	now     func() time.Time
	began   time.Time
	next    time.Time // when it may be shown again
	visible bool
}

func newProgress(out io.Writer, terminal bool, now func() time.Time) *progress {
	p := &progress{now: now, began: now()}
	if terminal {
		p.out = out
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) show(t *tally) {
	lines := t.stored + t.duplicate + t.refused
	rate := float64(lines) / max(p.now().Sub(p.began).Seconds(), 0.001)
	p.say(fmt.Sprintf("%d lines, %.0f/s: stored %d, duplicate %d, refused %d", lines, rate, t.stored, t.duplicate, t.refused))
}

// say shows text, unless something was shown a moment ago.
func (p *progress) say(text string) {
	now := p.now()
	if p.out == nil || now.Before(p.next) {
		return
	}
	p.next, p.visible = now.Add(progressEvery), true
	fmt.Fprint(p.out, "\r\x1b[K", text)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible = false
	}
}
