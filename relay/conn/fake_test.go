package conn_test

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"fencepost/lifecycle"
	"fencepost/relay/conn"
)

// memory is a conn.Socket in memory, with a client who can be made to stop
// reading or answering pings.
type memory struct {
	in    chan []byte   // what the client sends; closed when it is lost
	gone  chan struct{} // closed by CloseNow
	shut  sync.Once
	pongs bool
	stuck bool // the client does not read

	mu    sync.Mutex
	out   []string // messages, then the close frame
	pings int
}

var _ conn.Socket = (*memory)(nil)

func newMemory() *memory {
	return &memory{in: make(chan []byte), gone: make(chan struct{}), pongs: true}
}

func (m *memory) Read() ([]byte, error) {
	select {
	case msg, ok := <-m.in:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-m.gone:
		return nil, io.ErrClosedPipe
	}
}

func (m *memory) Write(deadline time.Time, frames []lifecycle.Frame) error {
	if m.stuck {
		var timeout <-chan time.Time
		if !deadline.IsZero() {
			timeout = time.After(time.Until(deadline))
		}
		select {
		case <-timeout:
			return os.ErrDeadlineExceeded
		case <-m.gone:
			return io.ErrClosedPipe
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range frames {
		m.out = append(m.out, string(f.AppendTo(nil)))
	}
	return nil
}

func (m *memory) Ping(ctx context.Context) error {
	m.mu.Lock()
	m.pings++
	m.mu.Unlock()
	if m.pongs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) Close(code int, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = append(m.out, closePayload(uint16(code), text))
	return nil
}

func (m *memory) CloseNow() { m.shut.Do(func() { close(m.gone) }) }

// said returns what the client has received.
func (m *memory) said() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.out...)
}

func (m *memory) pinged() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pings
}
