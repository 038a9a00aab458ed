package throttle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/relay/throttle"
)

// text writes records without their time.
func text(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}})
}

func lines(b *bytes.Buffer) []string {
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

func TestAFloodLeavesOneLineOfAKindInATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), 5*time.Second-1)) // never at the time of a record
		for i := range 20_000 {                                  // over 20 s
			log.Error("query failed", "conn", i)
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{
			`level=ERROR msg="query failed" conn=0`,
			`level=ERROR msg="query failed" conn=4999 left_out=4998`,
			`level=ERROR msg="query failed" conn=9999 left_out=4999`,
			`level=ERROR msg="query failed" conn=14999 left_out=4999`,
			`level=ERROR msg="query failed" conn=19999 left_out=4999`,
		}, lines(&b))
	})
}

func TestWhatIsRareIsToldAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), 5*time.Second))
		var want []string
		for i := range 4 {
			log.Warn("seldom", "n", i)
			want = append(want, fmt.Sprintf("level=WARN msg=seldom n=%d", i))
			require.Equal(t, want, lines(&b))
			<-time.After(5*time.Second + 1)
		}
	})
}

func TestOneKindDoesNotHoldAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), 5*time.Second))
		for range 3 {
			log.Info("told always")
		}
		for range 2 {
			log.Warn("one")
			log.Error("one")
			log.Warn("other")
		}
		require.Equal(t, []string{
			"level=INFO msg=\"told always\"", "level=INFO msg=\"told always\"", "level=INFO msg=\"told always\"",
			"level=WARN msg=one", "level=ERROR msg=one", "level=WARN msg=other",
		}, lines(&b))
	})
}

func TestALineThatLeavesNothingOutSaysNothingOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), 5*time.Second))
		log.Warn("away", "n", 1)
		log.Warn("away", "n", 2)
		<-time.After(5 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"level=WARN msg=away n=1", "level=WARN msg=away n=2"}, lines(&b))
	})
}

// The line that tells of the others is the newest one, as its own logger writes it.
func TestDerivedLoggersShareTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), 5*time.Second))
		log.Warn("away")
		log.With("mirror", "a").Warn("away")
		log.WithGroup("g").Warn("away", "n", 1)
		<-time.After(5 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"level=WARN msg=away", "level=WARN msg=away g.n=1 g.left_out=1"}, lines(&b))
	})
}

func TestManyAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(throttle.New(text(&b), time.Second))
		g := lifecycle.NewGroup(t.Context())
		for range 100 {
			g.Go("client", func(ctx context.Context) { log.Error("failed") })
		}
		require.NoError(t, g.Wait(t.Context()))
		<-time.After(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"level=ERROR msg=failed", "level=ERROR msg=failed left_out=98"}, lines(&b))
	})
}

func TestItIsAHandler(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		b.Reset()
		return throttle.New(slog.NewJSONHandler(&b, nil), time.Second)
	}, func(t *testing.T) map[string]any {
		var got map[string]any
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		return got
	})
}
