package conn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
)

// late answers every message once its connection has begun to close.
func late(ctx context.Context, c *lifecycle.Conn, msg []byte) {
	a, err := c.ReserveAnswer(ctx)
	if err != nil {
		return
	}
	c.Group().Go("late", func(context.Context) {
		<-c.Closing()
		a.Send(msg)
	})
}

// Whoever ends the connection, and whoever finds what is wrong:
// what was read before is answered first.
func TestAnswersThatAreDueComeBeforeTheCloseFrame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		last   frame
		code   int
		text   string
		reason string
	}{
		"binary":                    {frame{bin, "three"}, 1003, "only text messages are understood", "unsupported"},
		"not UTF-8":                 {frame{text, "\xff"}, 1007, "text is not valid UTF-8", "invalid"},
		"reserved bit":              {frame{text | 0x20, "a"}, 1002, "protocol error", "protocol"},
		"unknown opcode":            {frame{0x83, "a"}, 1002, "protocol error", "protocol"},
		"continuation of nothing":   {frame{0x80, "a"}, 1002, "protocol error", "protocol"},
		"half a close code":         {frame{closed, "\x03"}, 1002, "protocol error", "protocol"},
		"closed":                    {frame{closed, closePayload(1000, "bye")}, 1000, "closed by the client", "client"},
		"closed with its own code":  {frame{closed, closePayload(3001, "")}, 3001, "closed by the client", "client"},
		"closed without a code":     {frame{closed, ""}, 1000, "closed by the client", "client"},
		"closed with invalid UTF-8": {frame{closed, closePayload(1000, "\xff")}, 1007, "reason is not valid UTF-8", "invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{handle: late}, nil)
			c := dialRaw(t, r, "")
			burst := append(maskedFrame(text, "one"), maskedFrame(text, "two")...)
			_, err := c.Write(append(burst, maskedFrame(tt.last.first, tt.last.payload)...))
			require.NoError(t, err)
			first, err := c.receive()
			require.NoError(t, err)
			second, err := c.receive()
			require.NoError(t, err)
			require.ElementsMatch(t, []frame{{text, "one"}, {text, "two"}}, []frame{first, second})
			require.Equal(t, tt.text, c.expectClose(tt.code))
			r.gone(t)
			require.Equal(t, map[string]int{tt.reason: 1}, r.reasons())
		})
	}
}

// A client that closes while the relay does gets the relay's reason.
func TestTheFirstToCloseSaysWhy(t *testing.T) {
	t.Parallel()
	r := serve(t, session{handle: late}, nil)
	c := dialRaw(t, r, "")
	opened := <-r.opened
	a, err := opened.ReserveAnswer(t.Context())
	require.NoError(t, err)
	opened.Close(lifecycle.Cause{Code: 1008, Text: "out"})
	c.send(closed, closePayload(1000, ""))
	a.Send([]byte("due"))
	c.expect(frame{text, "due"})
	require.Equal(t, "out", c.expectClose(1008))
}
