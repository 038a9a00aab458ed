package conn

import (
	"context"
	"errors"
	"net"
	"time"

	"fencepost/lifecycle"
	"fencepost/lifecycle/pause"
)

// maxBatch is how many bytes a writer takes at once. They may still reach the
// client after a cut-over.
const maxBatch = 64 << 10

// write is the writer: it returns when nothing is queued, and is over when the
// connection is closing and flushed, or cannot be written to any more.
func (l *link) write(context.Context) (over bool) {
	over = true // also after a panic
	defer func() {
		if over {
			l.sock.CloseNow() // the reader waits in Read
		}
	}()
	over = l.writeQueued()
	return over
}

// writeQueued writes what is queued and reports whether the writer is done.
func (l *link) writeQueued() (done bool) {
	for {
		n, done, err := l.writeBatch()
		switch {
		case errors.Is(err, net.ErrClosed):
			return true // the reader knows why
		case err != nil:
			l.conn.Close(writeCause(err))
			return true
		case done:
			l.sayWhy()
			return true
		case n == 0:
			return false
		}
	}
}

// writeBatch takes one batch and writes it.
func (l *link) writeBatch() (n int, done bool, err error) {
	batch := l.server.frames.Get().(*[]lifecycle.Frame)
	defer l.server.frames.Put(batch)
	frames, done := l.conn.Take((*batch)[:0], maxBatch)
	*batch = frames
	if len(frames) == 0 {
		return 0, done, nil
	}
	defer clear(frames) // the pool must not keep events alive
	l.o.Pause.At(pause.WriteTaken)

	l.writing.Store(true)
	defer l.writing.Store(false)
	var deadline time.Time
	if l.o.WriteTimeout > 0 {
		deadline = time.Now().Add(l.o.WriteTimeout)
	}
	err = l.sock.Write(deadline, frames)
	if err == nil {
		l.o.Metrics.FramesOut(len(frames), size(frames))
	}
	return len(frames), done, err
}

func size(frames []lifecycle.Frame) (bytes int) {
	for i := range frames {
		bytes += frames[i].Len()
	}
	return bytes
}

// sayWhy closes the socket with the connection's cause.
func (l *link) sayWhy() {
	code, text, ok := closeFrame(l.conn.Cause())
	if !ok {
		return
	}
	if err := l.sock.Close(code, text); err != nil {
		l.server.log.Debug("close frame was not answered", "conn", l.conn.ID(), "err", err)
	}
}

// startPings sets the timer that runs pings, if there are to be any. Connections
// that began together do not ping together.
func (l *link) startPings() {
	if l.o.PingInterval <= 0 {
		return
	}
	const parts = 16
	part := time.Duration(l.conn.ID() % (parts / 2)) // the first comes after half of the interval or more
	l.pinger = time.AfterFunc(time.Hour, func() { l.conn.Group().Go("ping", l.ping) })
	l.pinger.Reset(l.o.PingInterval - l.o.PingInterval*part/parts)
}

func (l *link) stopPings() {
	if l.pinger != nil {
		l.pinger.Stop()
	}
}

// ping ends the connection of a peer that gives no sign of life, or sets the
// timer for the next ping.
func (l *link) ping(ctx context.Context) {
	timeout := l.o.PongTimeout
	if timeout <= 0 {
		timeout = l.o.PingInterval
	}
	turn := l.turns.Load()
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := l.sock.Ping(wait)
	if ctx.Err() != nil {
		return
	}
	now := l.turns.Load()
	judged := now == turn && now%2 == 0 && !l.writing.Load() // otherwise nobody looked for the sign
	if err != nil && judged {
		l.conn.Close(causeDead)
		l.sock.CloseNow()
		return
	}
	l.pinger.Reset(l.o.PingInterval)
}
