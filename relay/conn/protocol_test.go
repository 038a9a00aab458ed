package conn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/conn"
)

const max = 100_000

func withMax(o *conn.Options) { o.MaxMessage = max }

func TestMessagesAreReadWholeHoweverTheyAreFramed(t *testing.T) {
	t.Parallel()
	big, half := strings.Repeat("x", max), strings.Repeat("y", max/2)
	tests := map[string]struct{ send, want []frame }{
		"one frame":  {[]frame{{text, "[1]"}}, []frame{{text, "[1]"}}},
		"empty":      {[]frame{{text, ""}}, []frame{{text, ""}}},
		"fragments":  {[]frame{{0x01, "a"}, {0x00, ""}, {0x00, "b"}, {0x80, "c"}}, []frame{{text, "abc"}}},
		"64 KiB":     {[]frame{{text, big[:1<<16]}}, []frame{{text, big[:1<<16]}}},
		"the limit":  {[]frame{{text, big}}, []frame{{text, big}}},
		"in halves":  {[]frame{{0x01, half}, {0x80, half}}, []frame{{text, half + half}}},
		"split rune": {[]frame{{0x01, "\xc3"}, {0x80, "\xa9"}}, []frame{{text, "é"}}},
		"ping inside": {
			[]frame{{0x01, "a"}, {ping, "now"}, {0x80, "b"}},
			[]frame{{pong, "now"}, {text, "ab"}},
		},
		"long ping":    {[]frame{{ping, big[:125]}}, []frame{{pong, big[:125]}}},
		"unasked pong": {[]frame{{pong, "?"}, {text, "a"}}, []frame{{text, "a"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, withMax)
			c := dialRaw(t, r, "")
			for _, f := range tt.send {
				c.send(f.first, f.payload)
			}
			c.expect(tt.want...)
			c.send(closed, closePayload(1000, ""))
			c.expectClose(1000)
			r.gone(t)
			require.Equal(t, map[string]int{"client": 1}, r.reasons())
		})
	}
}

func TestWhatBreaksTheProtocolIsToldWhy(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", max+1)
	tests := map[string]struct {
		send   []frame
		code   int
		reason string
	}{
		"binary":                       {[]frame{{bin, "[1]"}}, 1003, "unsupported"},
		"binary in fragments":          {[]frame{{0x02, "["}}, 1003, "unsupported"},
		"invalid UTF-8":                {[]frame{{text, "\xff"}}, 1007, "invalid"},
		"surrogate":                    {[]frame{{text, "\xed\xa0\x80"}}, 1007, "invalid"},
		"half a rune":                  {[]frame{{0x01, "\xc3"}, {0x80, "a"}}, 1007, "invalid"},
		"too big":                      {[]frame{{text, big}}, 1009, "too_big"},
		"too big in fragments":         {[]frame{{0x01, big[:max]}, {0x00, "x"}}, 1009, "too_big"},
		"rsv1 not negotiated":          {[]frame{{text | 0x40, "a"}}, 1002, "protocol"},
		"rsv2":                         {[]frame{{text | 0x20, "a"}}, 1002, "protocol"},
		"rsv3 in a ping":               {[]frame{{ping | 0x10, "a"}}, 1002, "protocol"},
		"unknown opcode":               {[]frame{{0x83, "a"}}, 1002, "protocol"},
		"unknown control opcode":       {[]frame{{0x8B, "a"}}, 1002, "protocol"},
		"continuation of nothing":      {[]frame{{0x80, "a"}}, 1002, "protocol"},
		"message inside a message":     {[]frame{{0x01, "a"}, {text, "b"}}, 1002, "protocol"},
		"fragmented ping":              {[]frame{{0x09, "a"}}, 1002, "protocol"},
		"ping over 125":                {[]frame{{ping, big[:126]}}, 1002, "protocol"},
		"close with half a code":       {[]frame{{closed, "\x03"}}, 1002, "protocol"},
		"close with a code for nobody": {[]frame{{closed, closePayload(1005, "")}}, 1002, "protocol"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, withMax)
			c := dialRaw(t, r, "")
			c.send(text, "before")
			c.expect(frame{text, "before"})
			for _, f := range tt.send {
				c.send(f.first, f.payload)
			}
			require.NotEmpty(t, c.expectClose(tt.code))
			r.gone(t)
			require.Equal(t, map[string]int{tt.reason: 1}, r.reasons())
		})
	}
}

func TestAnUnmaskedFrameEndsTheConnection(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	c := dialRaw(t, r, "")
	_, err := c.Write([]byte{text, 1, 'a'})
	require.NoError(t, err)
	c.expectClose(1002)
}

func TestAnswersOfEarlierMessagesComeBeforeTheCloseFrame(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withMax)
	c := dialRaw(t, r, "")
	burst := append(maskedFrame(text, "one"), maskedFrame(text, "two")...)
	_, err := c.Write(append(burst, maskedFrame(bin, "three")...))
	require.NoError(t, err)
	c.expect(frame{text, "one"}, frame{text, "two"})
	c.expectClose(1003)
}

func TestWhatComesTogetherWithTheRequestIsNotLost(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	burst := append(maskedFrame(text, "early"), maskedFrame(text, strings.Repeat("x", 3000))...)
	c := dialRaw(t, r, "", burst...)
	c.expect(frame{text, "early"}, frame{text, strings.Repeat("x", 3000)})
}

func TestAPauseWithinAFrame(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withMax)
	c, other := dialRaw(t, r, ""), dialRaw(t, r, "")
	whole := append(maskedFrame(text, "first"), maskedFrame(text, "second")...)
	for i := range whole {
		_, err := c.Write(whole[i : i+1])
		require.NoError(t, err)
		other.send(text, "between")
		other.expect(frame{text, "between"}) // by now the relay has read the piece
	}
	c.expect(frame{text, "first"}, frame{text, "second"})
}
