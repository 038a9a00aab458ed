package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"

	"fencepost/relay/client"
)

const (
	firstBuffer = 1 << 10 // of each link; most of 3,000 idle ones stay with it
	roomyBuffer = 64 << 10
	// maxHead bounds the relay's answer to the handshake, in bytes.
	maxHead = 16 << 10
)

// link is one WebSocket of a client, without extensions. next is for one
// goroutine at a time; write may be called by another.
type link struct {
	conn net.Conn

	// Owned by the reading goroutine.
	in         []byte // in[begin:end] is received and not yet consumed
	begin, end int
	parts      []byte // of a fragmented message, as far as it came
	unfinished bool   // such a message has begun
}

// open connects and shakes hands. The caller sees to it that the connection ends
// when ctx does.
func open(ctx context.Context, u *url.URL) (*link, error) {
	conn, err := connect(ctx, u)
	if err != nil {
		return nil, &client.Unreachable{URL: u.String(), Err: err}
	}
	l := &link{conn: conn, in: make([]byte, firstBuffer)}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the handshake then fails
	err = l.shake(u)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("handshake: %w", err), conn.Close())
	}
	return l, nil
}

func connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[bool]string{false: "80", true: "443"}[u.Scheme == "wss"])
	}
	if u.Scheme == "wss" {
		return new(tls.Dialer).DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// shake is the opening handshake (RFC 6455, section 4.1).
func (l *link) shake(u *url.URL) error {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	_, err := fmt.Fprintf(l.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", u.RequestURI(), u.Host, key)
	if err != nil {
		return err
	}
	end := -1
	for end < 0 {
		if l.end >= maxHead {
			return errors.New("the relay's answer does not end")
		}
		if err := l.fill(l.end + 1); err != nil {
			return err
		}
		end = bytes.Index(l.in[:l.end], []byte("\r\n\r\n"))
	}
	head := l.in[:end]
	l.begin = end + 4
	first, _, _ := bytes.Cut(head, []byte("\r\n"))
	if !bytes.HasPrefix(first, []byte("HTTP/1.1 101")) {
		return fmt.Errorf("the relay answered %q", first)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if !bytes.Contains(head, []byte(base64.StdEncoding.EncodeToString(sum[:]))) {
		return errors.New("the relay's Sec-WebSocket-Accept is wrong")
	}
	return nil
}

// write sends what is already framed. It blocks while the relay does not read.
func (l *link) write(frames []byte) error {
	_, err := l.conn.Write(frames)
	return err
}

// next returns the next text message, which stays as it is until the following
// call. It answers pings. It blocks until a message came or the connection ended.
func (l *link) next() ([]byte, error) {
	for {
		h, ok, err := parseHeader(l.in[l.begin:l.end])
		if err != nil {
			return nil, err
		}
		if whole := h.size + h.length; !ok || l.end-l.begin < whole {
			if err := l.fill(max(whole, l.end-l.begin+1)); err != nil {
				return nil, err
			}
			continue
		}
		payload := l.in[l.begin+h.size:][:h.length]
		l.begin += h.size + h.length
		switch h.opcode {
		case opPong:
		case opPing:
			err = l.write(appendFrame(nil, opPong, payload, [4]byte{1, 2, 3, 4}))
		case opClose:
			err = closed(payload)
		default:
			if payload, ok, err = l.assemble(h, payload); ok {
				return payload, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// assemble returns a message that is complete with this frame.
func (l *link) assemble(h header, payload []byte) (whole []byte, ok bool, err error) {
	if l.unfinished != (h.opcode == opContinuation) {
		return nil, false, errFrame
	}
	if h.fin && !l.unfinished {
		return payload, true, nil
	}
	if !l.unfinished {
		l.parts = l.parts[:0]
	}
	if len(l.parts)+len(payload) > maxMessage {
		return nil, false, errTooLarge
	}
	l.parts = append(l.parts, payload...)
	l.unfinished = !h.fin
	return l.parts, h.fin, nil
}

// fill reads once, into a buffer that has room for need bytes from begin. A read
// that fills it doubles it, up to roomyBuffer: many frames then cost one read.
func (l *link) fill(need int) error {
	if l.begin == l.end {
		l.begin, l.end = 0, 0
	}
	if l.begin > 0 && (l.begin+need > len(l.in) || l.end == len(l.in)) {
		l.end = copy(l.in, l.in[l.begin:l.end])
		l.begin = 0
	}
	if need > len(l.in) {
		grown := make([]byte, max(need, 2*len(l.in)))
		l.end = copy(grown, l.in[:l.end])
		l.in = grown
	}
	n, err := l.conn.Read(l.in[l.end:])
	l.end += n
	if l.end == len(l.in) && len(l.in) < roomyBuffer {
		l.in = append(l.in, make([]byte, len(l.in))...)
	}
	if n > 0 {
		return nil
	}
	return err
}

// closed returns the error of a connection that the relay closed.
func closed(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the relay closed the connection, without a code")
	}
	return fmt.Errorf("the relay closed the connection: %d %q", binary.BigEndian.Uint16(payload), payload[2:])
}
