package conn_test

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"fencepost/relay/conn"
)

func withDeflate(o *conn.Options) { o.Compression = true }

// pack compresses as RFC 7692 section 7.2.1 says.
func pack(t testing.TB, s string) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	require.NoError(t, err)
	_, err = io.WriteString(w, s)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}

func unpack(t testing.TB, s string) string {
	b, err := io.ReadAll(flate.NewReader(strings.NewReader(s + "\x00\x00\xff\xff\x01\x00\x00\xff\xff")))
	require.NoError(t, err)
	return string(b)
}

const (
	offer      = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
	compressed = text | 0x40
)

func TestCompressionIsNegotiated(t *testing.T) {
	t.Parallel()
	on := "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
	tests := map[string]struct {
		off   bool
		offer string
		want  string
	}{
		"not offered":        {offer: "", want: ""},
		"off":                {off: true, offer: "permessage-deflate", want: ""},
		"plain":              {offer: "permessage-deflate", want: on},
		"as browsers do":     {offer: "permessage-deflate; client_max_window_bits", want: on},
		"window of 15":       {offer: "permessage-deflate; server_max_window_bits=15", want: on},
		"smaller window":     {offer: "permessage-deflate; server_max_window_bits=10", want: ""},
		"second offer":       {offer: "permessage-deflate; server_max_window_bits=10, permessage-deflate", want: on},
		"unknown parameter":  {offer: "permessage-deflate; x=1", want: ""},
		"unknown extensions": {offer: "foo, bar; baz", want: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, session{}, func(o *conn.Options) { o.Compression = !tt.off })
			c := dialRaw(t, r, "Sec-WebSocket-Extensions: "+tt.offer+"\r\n")
			require.Equal(t, tt.want, c.header.Get("Sec-WebSocket-Extensions"))
			long := strings.Repeat("long ", 1000)
			c.send(text, long)
			f, err := c.receive()
			require.NoError(t, err)
			if tt.want == "" {
				require.Equal(t, frame{text, long}, f)
				return
			}
			require.Equal(t, byte(compressed), f.first)
			require.Less(t, len(f.payload), 100)
			require.Equal(t, long, unpack(t, f.payload))
		})
	}
}

func TestCompressedMessagesStandAlone(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withDeflate)
	c := dialRaw(t, r, offer)
	for i := range 5 {
		msg := strings.Repeat(string(rune('a'+i)), 600+i)
		packed := pack(t, msg)
		c.send(0x41, packed[:3]) // in fragments: only the first has RSV1
		c.send(0x80, packed[3:])
		f, err := c.receive()
		require.NoError(t, err)
		require.Equal(t, msg, unpack(t, f.payload))
	}
	c.send(compressed, pack(t, "short"))
	c.expect(frame{text, "short"})
}

func TestTheLimitHoldsAfterInflation(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, func(o *conn.Options) { o.Compression, o.MaxMessage = true, max })
	c := dialRaw(t, r, offer)
	c.send(compressed, pack(t, strings.Repeat("x", max)))
	f, err := c.receive()
	require.NoError(t, err)
	require.Len(t, unpack(t, f.payload), max)
	c.send(compressed, pack(t, strings.Repeat("x", 30*max)))
	c.expectClose(1009)
}

// RFC 7692 section 7.2.1: a block that says it is the last need not be the last.
func TestBlocksMarkedAsTheLastAreReadOn(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withDeflate)
	c := dialRaw(t, r, offer)
	const last = "\x01\x02\x00\xfd\xff" // a stored block of two bytes, marked
	for _, packed := range []string{last + "ab" + last + "cd", last + "ab" + last + "cd\x00", last + "ab" + pack(t, "cd")} {
		c.send(compressed, packed)
		c.expect(frame{text, "abcd"})
	}
	c.send(compressed, strings.Repeat(last+"ab", 1000))
	c.expectClose(1007)
}

func TestCorruptCompressedDataIsToldSo(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withDeflate)
	c := dialRaw(t, r, offer)
	c.send(compressed, "\xff\xff\xff")
	c.expectClose(1007)
}

func TestARealClientCompresses(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, withDeflate)
	ws, _, err := websocket.Dial(t.Context(), url(r), &websocket.DialOptions{
		CompressionMode: websocket.CompressionContextTakeover,
	})
	require.NoError(t, err)
	defer ws.CloseNow()
	for i := range 20 {
		msg := strings.Repeat("again and ", 100+i)
		require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(msg)))
		_, got, err := ws.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, msg, string(got))
	}
}
