package fences_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/regress/fences"
	"fencepost/relay/store"
	"fencepost/relay/wire"
)

// tale is a log and what was told, without a fault.
func tale() (rows []store.Entry, told []fences.Line) {
	for epoch := range 2 {
		told = append(told, fences.Line{Did: "claimed", Writer: epoch, Epoch: uint64(epoch + 1)})
		for n := range 2 {
			number := len(rows) + 1
			text, _ := json.Marshal(fences.Content{Writer: epoch, Epoch: uint64(epoch + 1), Serial: n})
			id := fmt.Sprintf("%064x", number)
			rows = append(rows, store.Entry{
				Position: store.Position(number), Event: wire.NewEvent(nostr.Event{ID: id, Content: string(text)}),
			})
			told = append(told, fences.Line{Did: "admitted", Writer: epoch, Epoch: uint64(epoch + 1), Number: uint64(number), ID: id})
		}
	}
	return rows, append(told, fences.Line{Did: "refused", ID: "x"}, fences.Line{Did: "duplicate", ID: rows[0].Event.ID})
}

// The judge finds each fault, or its silence would mean nothing.
func TestTheJudgeFindsEachFault(t *testing.T) {
	t.Parallel()
	rows, told := tale()
	r, err := fences.Check(rows, told, 5)
	require.NoError(t, err)
	require.Equal(t, fences.Result{Frames: 4, Answered: 4, Owners: 2, Claims: 2, Refused: 1, Duplicates: 1}, r)
	for name, row := range map[string]struct {
		spoil func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line)
		next  uint64
		want  string
	}{
		"two owners of an epoch": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return rows, append(told, fences.Line{Did: "claimed", Writer: 7, Epoch: 1})
		}, 5, "P1"},
		"a frame of another writer": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			told[0].Writer = 7
			return rows, told
		}, 5, "P1"},
		"an old owner after the new": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			rows[1], rows[2] = rows[2], rows[1]
			return rows, told
		}, 5, "P6"},
		"an answered frame is missing": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return rows[:3], told
		}, 4, "P8"},
		"a number that is not its place": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			told[1].Number = 2
			return rows, told
		}, 5, "P8"},
		"a hole": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return rows, told
		}, 6, "P8"},
		"a frame twice": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return append(rows, rows[3]), told
		}, 6, "P16"},
		"a refused frame is stored": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return rows, append(told, fences.Line{Did: "refused", ID: rows[0].Event.ID})
		}, 5, "P7"},
		"a duplicate of nothing": {func(rows []store.Entry, told []fences.Line) ([]store.Entry, []fences.Line) {
			return rows, append(told, fences.Line{Did: "duplicate", ID: "y"})
		}, 5, "P16"},
	} {
		rows, told := row.spoil(tale())
		_, err := fences.Check(rows, told, row.next)
		require.ErrorContains(t, err, row.want, name)
	}
}
