package conn_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// RFC 6455 section 5.5.1: not even the pong of a ping that comes meanwhile.
func TestNothingIsWrittenBehindTheCloseFrame(t *testing.T) {
	t.Parallel()
	r := serve(t, session{}, nil)
	c := dialRaw(t, r, "")
	c.send(bin, "not understood")
	f, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, byte(closed), f.first)
	require.Equal(t, uint16(1003), binary.BigEndian.Uint16([]byte(f.payload)))
	c.send(ping, "still there?")
	c.send(closed, f.payload[:2])
	rest, err := io.ReadAll(c.r)
	require.NoError(t, err)
	require.Empty(t, rest)
}
