package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/relay/client"
)

func TestWhyARelayCannotBeReachedIsSaidInAFewWords(t *testing.T) {
	t.Parallel()
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	plain, secure := httptest.NewServer(refuse), httptest.NewTLSServer(refuse)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	require.NoError(t, free.Close())
	nobody := free.Addr().String()
	ended, cancel := context.WithTimeout(t.Context(), 0)
	t.Cleanup(cancel)
	for name, row := range map[string]struct {
		ctx      context.Context
		url, why string
	}{
		"nobody listens":      {t.Context(), "ws://" + nobody, "connection refused"},
		"nobody listens, TLS": {t.Context(), "wss://" + nobody, "connection refused"},
		"no time":             {ended, "ws://" + silent.Addr().String(), "no answer in time"},
		"no relay":            {t.Context(), strings.Replace(plain.URL, "http", "ws", 1), "the relay answers 429 Too Many Requests"},
		"an unknown issuer":   {t.Context(), strings.Replace(secure.URL, "http", "ws", 1), "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"no TLS":              {t.Context(), strings.Replace(plain.URL, "http", "wss", 1), "http: server gave HTTP response to HTTPS client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.Dial(row.ctx, row.url, client.Options{})
			require.EqualError(t, err, "connect to "+row.url+": "+row.why)
			require.Equal(t, row.why == "connection refused", errors.Is(err, syscall.ECONNREFUSED))
		})
	}
}

func TestTheCauseIsFoundThroughAnyChain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		text string
	}{
		{&net.DNSError{Err: "no such host", Name: "relay.example", Server: "192.0.2.1:53", IsNotFound: true}, "no such host"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH}, "network is unreachable"},
		{syscall.ETIMEDOUT, "connection timed out"},
		{context.DeadlineExceeded, "no answer in time"},
		{io.EOF, "the relay closed the connection"},
		{syscall.ECONNRESET, "the relay closed the connection"},
		{errors.New("odd"), "odd"},
	} {
		whole := fmt.Errorf("dial: %w", fmt.Errorf("handshake: %w", row.err))
		err := &client.Unreachable{URL: "wss://relay.example", Err: whole}
		require.EqualError(t, err, "connect to wss://relay.example: "+row.text)
		require.ErrorIs(t, err, row.err)
	}
}
