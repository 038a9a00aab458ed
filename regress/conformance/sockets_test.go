package conformance_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// padded returns a REQ of exactly n bytes.
func padded(id string, n int) string {
	m := `["REQ","` + id + `",{"limit":0}]`
	return m + strings.Repeat(" ", n-len(m))
}

// FIELD_REPORTS 20, RFC 6455 sections 5.4 and 5.5.
func TestFragmentsMakeOneMessage(t *testing.T) {
	t.Parallel()
	r := target(t)
	whole := []byte(`["REQ","é𝄞",{"limit":0}]`)
	rows := map[string]func() [][]byte{
		"one frame":  func() [][]byte { return [][]byte{masked(fin|opText, whole)} },
		"two frames": func() [][]byte { return [][]byte{masked(opText, whole[:5]), masked(fin|opCont, whole[5:])} },
		"a byte each, cut inside characters": func() (frames [][]byte) {
			frames = append(frames, masked(opText, nil))
			for i := range whole {
				frames = append(frames, masked(opCont, whole[i:i+1]))
			}
			return append(frames, masked(fin|opCont, nil))
		},
		"a ping between": func() [][]byte {
			return [][]byte{masked(opText, whole[:9]), masked(fin|opPing, []byte("hello")), masked(fin|opCont, whole[9:])}
		},
		"a pong that nobody asked for": func() [][]byte {
			return [][]byte{masked(fin|opPong, []byte("x")), masked(fin|opText, whole)}
		},
		"the header in pieces": func() [][]byte {
			f := masked(fin|opText, whole)
			return [][]byte{f[:1], f[1:3], f[3:7], f[7:]}
		},
		"a length in its longest form": func() [][]byte {
			f := binary.BigEndian.AppendUint64([]byte{fin | opText, 0x80 | 127}, uint64(len(whole)))
			return [][]byte{append(f, append([]byte{0, 0, 0, 0}, whole...)...)}
		},
	}
	for name, frames := range rows {
		p := r.raw(t)
		if name == "a length in its longest form" { // RFC 6455 asks for the shortest; either answer is defined
			p.write(frames()...)
			p.write(masked(fin|opClose, nil))
			require.Contains(t, []int{1000, 1002, 1005}, p.code(), name)
			continue
		}
		p.write(frames()...)
		require.Contains(t, p.message("EOSE"), `"é𝄞"`, name)
	}
	p := r.raw(t)
	p.write(masked(fin|opPing, []byte("payload")))
	for {
		first, payload, err := p.read()
		require.NoError(t, err)
		if first == fin|opPong {
			require.Equal(t, "payload", string(payload))
			break
		}
	}
}

// FIELD_REPORTS 20: the limit is on the whole message.
func TestMessageLimitIsOnTheWholeMessage(t *testing.T) {
	t.Parallel()
	const limit = 128 << 10
	r := target(t, "WEBSOCKET_MAX_MESSAGE=128KiB", "WEBSOCKET_COMPRESSION=true")
	exact, over := []byte(padded("x", limit)), []byte(padded("x", limit+1))
	split := func(b []byte, n int) (frames [][]byte) {
		first := byte(opText)
		for len(b) > n {
			frames = append(frames, masked(first, b[:n]))
			first, b = opCont, b[n:]
		}
		return append(frames, masked(fin|first, b))
	}
	for name, frames := range map[string][][]byte{
		"one frame over 64 KiB": split(exact, limit), "fragments": split(exact, 1000), "halves": split(exact, limit/2),
	} {
		p := r.raw(t)
		p.write(frames...)
		p.message("EOSE")
		p.write(text(`["REQ","again",{"limit":0}]`))
		require.Contains(t, p.message("EOSE"), "again", name)
	}
	for name, frames := range map[string][][]byte{
		"one frame": split(over, limit+1), "fragments": split(over, 1000), "halves": split(over, limit/2+1),
		"a frame that says it is huge": {append(header(fin|opText, 1<<40, 0x80), 0, 0, 0, 0), bytes.Repeat([]byte(" "), limit+2)},
	} {
		p := r.raw(t)
		p.write(frames...)
		require.Equal(t, 1009, p.code(), name)
	}
	p := r.raw(t, "Sec-WebSocket-Extensions: permessage-deflate")
	require.Contains(t, p.resp.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
	p.write(masked(fin|rsv1|opText, deflated(t, exact)))
	p.message("EOSE")
	p.write(masked(fin|rsv1|opText, deflated(t, bytes.Repeat(over, 50))))
	require.Equal(t, 1009, p.code(), "inflated size counts")
}

func deflated(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	return bytes.TrimSuffix(out.Bytes(), []byte{0, 0, 0xff, 0xff})
}

// FIELD_REPORTS 20: close codes of RFC 6455 section 7.4.
func TestBrokenFrameEndsTheConnectionWithItsCode(t *testing.T) {
	t.Parallel()
	r := target(t)
	closing := func(payload ...byte) []byte { return masked(fin|opClose, payload) }
	rows := []struct {
		name   string
		frames [][]byte
		codes  []int
	}{
		{"binary", [][]byte{masked(fin|opBinary, []byte(`["CLOSE","x"]`))}, []int{1003}},
		{"an empty binary", [][]byte{masked(fin|opBinary, nil)}, []int{1003}},
		{"not UTF-8", [][]byte{masked(fin|opText, []byte("[\"REQ\",\"\xff\",{}]"))}, []int{1007}},
		{"a surrogate in UTF-8", [][]byte{masked(fin|opText, []byte("[\"REQ\",\"\xed\xa0\x80\",{}]"))}, []int{1007}},
		{"overlong UTF-8", [][]byte{masked(fin|opText, []byte("[\"REQ\",\"\xc0\x80\",{}]"))}, []int{1007}},
		{"beyond Unicode", [][]byte{masked(fin|opText, []byte("[\"REQ\",\"\xf4\x90\x80\x80\",{}]"))}, []int{1007}},
		{"cut UTF-8", [][]byte{masked(fin|opText, []byte("x\xe2\x82"))}, []int{1007}},
		{"not UTF-8 in fragments", [][]byte{masked(opText, []byte("\xe2\x82")), masked(fin|opCont, []byte("x"))}, []int{1007}},
		{"RSV1 without extension", [][]byte{masked(fin|rsv1|opText, []byte("[]"))}, []int{1002}},
		{"RSV2", [][]byte{masked(fin|rsv2|opText, []byte("[]"))}, []int{1002}},
		{"RSV3", [][]byte{masked(fin|rsv3|opText, []byte("[]"))}, []int{1002}},
		{"RSV1 on a control frame", [][]byte{masked(fin|rsv1|opPing, nil)}, []int{1002}},
		{"an unknown opcode", [][]byte{masked(fin|opUnknown, nil)}, []int{1002}},
		{"an unknown control opcode", [][]byte{masked(fin|0xB, nil)}, []int{1002}},
		{"no mask", [][]byte{append(header(fin|opText, 2, 0), "[]"...)}, []int{1002}},
		{"a fragmented ping", [][]byte{masked(opPing, nil)}, []int{1002}},
		{"a long ping", [][]byte{masked(fin|opPing, make([]byte, 126))}, []int{1002}},
		{"a continuation of nothing", [][]byte{masked(fin|opCont, []byte("x"))}, []int{1002}},
		{"a message within a message", [][]byte{masked(opText, []byte("[")), masked(fin|opText, []byte("[]"))}, []int{1002}},
		{"a close frame", [][]byte{closing(0x03, 0xe8)}, []int{1000}},
		{"a close frame that says it goes away", [][]byte{closing(0x03, 0xe9)}, []int{1000, 1001}},
		{"an empty close frame", [][]byte{closing()}, []int{1000, 1005}},
		{"a close frame of one byte", [][]byte{closing(0x03)}, []int{1002}},
		{"a close code that is never sent", [][]byte{closing(0x03, 0xed)}, []int{1002}},
		{"a close reason that is not UTF-8", [][]byte{closing(0x03, 0xe8, 0xff)}, []int{1000, 1002, 1007}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel() // a relay may wait for the answer to its close frame
			p := r.raw(t)
			p.write(row.frames...)
			require.Contains(t, row.codes, p.code())
			p.write(closing(0x03, 0xe8))
			_, _, err := p.read()
			require.Error(t, err, "the connection is over")
		})
	}
}

// FIELD_REPORTS 20, RFC 7692: what is agreed on is used, and nothing else.
func TestCompressionIsUsedAsAgreed(t *testing.T) {
	t.Parallel()
	plain, packs := target(t), target(t, "WEBSOCKET_MAX_MESSAGE=128KiB", "WEBSOCKET_COMPRESSION=true")
	const name = "Sec-WebSocket-Extensions"
	require.Empty(t, packs.raw(t).resp.Header.Get(name), "nobody asked")
	require.Empty(t, packs.raw(t, name+": x-unknown").resp.Header.Get(name))
	if *urlFlag == "" {
		require.Empty(t, plain.raw(t, name+": permessage-deflate").resp.Header.Get(name), "off by default")
	}
	for _, offer := range []string{
		"permessage-deflate",
		"permessage-deflate; client_max_window_bits",
		"permessage-deflate; client_no_context_takeover; server_no_context_takeover",
		"permessage-deflate; server_max_window_bits=10, permessage-deflate",
		"x-unknown, permessage-deflate",
	} {
		p := packs.raw(t, name+": "+offer)
		agreed := p.resp.Header.Get(name)
		if agreed == "" {
			continue // to decline is allowed
		}
		require.True(t, strings.HasPrefix(agreed, "permessage-deflate"), agreed)
		require.NotContains(t, agreed, "server_max_window_bits", "Go's deflate uses the whole window")
		p.write(masked(fin|rsv1|opText, deflated(t, []byte(`["REQ","a",{"ids":[]}]`))))
		require.Contains(t, p.message("EOSE"), `"a"`, offer)
		p.write(text(`["REQ","b",{"ids":[]}]`))
		require.Contains(t, p.message("EOSE"), `"b"`, "a message may be sent plain: "+offer)

		e := signed(nostr.GeneratePrivateKey(), 1, nostr.Now(), strings.Repeat("compressible ", 200))
		p.write(text(string(wire.AppendEventMessage(nil, e))))
		p.message(e.ID)
		p.write(text(`["REQ","c",{"ids":["` + e.ID + `"]}]`))
		first, payload, err := p.read()
		require.NoError(t, err)
		require.Equal(t, byte(fin|rsv1|opText), first, "long messages are compressed")
		inflated, err := io.ReadAll(flate.NewReader(io.MultiReader(bytes.NewReader(payload), strings.NewReader("\x00\x00\xff\xff\x01\x00\x00\xff\xff"))))
		require.NoError(t, err)
		require.Equal(t, `["EVENT","c",`+string(e.Raw())+`]`, string(inflated))
	}
	p := packs.raw(t, name+": permessage-deflate")
	p.write(masked(fin|rsv1|opText, []byte{0xff, 0xff, 0xff, 0xff}))
	require.Contains(t, []int{1002, 1007}, p.code(), "corrupt data")
}

// RFC 6455 section 4.2.
func TestHandshakeIsChecked(t *testing.T) {
	t.Parallel()
	r := target(t)
	require.Equal(t, http.StatusSwitchingProtocols, r.raw(t, "Origin: https://any.example").resp.StatusCode, "every web page may connect")
	require.Equal(t, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", r.raw(t).resp.Header.Get("Sec-WebSocket-Accept"))
	for name, change := range map[string]map[string]string{
		"another version": {"Sec-WebSocket-Version": "8"},
		"no key":          {"Sec-WebSocket-Key": ""},
		"a short key":     {"Sec-WebSocket-Key": "x"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http"+strings.TrimPrefix(r.url, "ws"), nil)
		require.NoError(t, err)
		for k, v := range map[string]string{
			"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		} {
			req.Header.Set(k, v)
		}
		for k, v := range change {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUpgradeRequired}, resp.StatusCode, name)
	}
}
