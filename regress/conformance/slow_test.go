package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"

	"fencepost/relay/wire"
)

// impatient notices quickly that nobody reads, and queues little. Who is dead it notices
// later: this suite may stand still for a while on a busy machine.
var impatient = []string{
	"WEBSOCKET_PING_INTERVAL=1s", "WEBSOCKET_PONG_TIMEOUT=5s", "WEBSOCKET_WRITE_TIMEOUT=1s", "WEBSOCKET_FLUSH_TIMEOUT=500ms",
	"QUEUE_ROOM_TIMEOUT=1s", "QUEUE_MAX_BYTES=1MiB", "QUEUE_MAX_FRAMES=2000",
}

// FIELD_REPORTS 21. It runs alone, because it waits for times.
func TestDeadPeerIsNoticedAlthoughItSubscribes(t *testing.T) {
	r := own(t, impatient...)
	alive, topic := r.raw(t), random()
	alive.write(text(`["REQ","x",{"#t":["` + topic + `"]}]`))
	alive.message("EOSE")
	var dead []*rawPeer
	for range 5 {
		p := r.raw(t)
		p.write(text(`["REQ","x",{"#t":["`+topic+`"]}]`), text(`["REQ","y",{"limit":0}]`))
		p.message("EOSE")
		dead = append(dead, p) // it answers no ping from here on, and does not close
	}
	answering := make(chan struct{})
	go func() { // answers pings until its connection is closed
		defer close(answering)
		for {
			head := make([]byte, 2)
			if _, err := alive.in.Read(head); err != nil {
				return
			}
			if head[0] == fin|opPing {
				alive.write(masked(fin|opPong, nil))
			}
		}
	}()
	eventually(t, "only the living one is left", func() bool {
		return r.metric(t, "fencepost_connections") == 1 && r.metric(t, "fencepost_subscriptions") == 1
	})
	require.NoError(t, alive.conn.Close())
	<-answering
	for _, p := range dead {
		require.NoError(t, p.conn.Close())
	}
	settled(t, r)
}

// settled waits until a process holds nothing for any client.
func settled(t *testing.T, r *relay) {
	t.Helper()
	for _, gauge := range []string{"fencepost_connections", "fencepost_subscriptions", "fencepost_outbound_queue_bytes"} {
		eventually(t, gauge+" is 0", func() bool { return r.metric(t, gauge) == 0 })
	}
}

// large publishes n events of about 16 KiB and returns their topic.
func (p *peer) large(n int) (topic string) {
	topic = random()
	now := nostr.Now()
	events := make([]*wire.Event, n)
	for i := range events {
		events[i] = signed(p.secret, 1, now-nostr.Timestamp(i), strings.Repeat("x", 16<<10), nostr.Tag{"t", topic})
	}
	p.store(events...)
	return topic
}

// FIELD_REPORTS 22.
func TestClientThatAsksForMuchIsServedWhole(t *testing.T) {
	t.Parallel()
	// The queue is small; the times are long, since a busy machine is not a slow client.
	r := target(t, "QUEUE_MAX_BYTES=1MiB", "QUEUE_MAX_FRAMES=2000")
	p := r.dial(t)
	topic := p.large(100)
	const subs = 12 // 19 MB, and the queue holds one
	for i := range subs {
		p.req(fmt.Sprint("s", i), on(topic))
	}
	ends := 0
	frames := p.until("every EOSE", func(f frame) bool {
		require.NotEqual(t, "CLOSED", f.Verb, f.raw)
		if f.Verb == "EOSE" {
			ends++
		}
		return ends == subs
	})
	require.Len(t, frames, subs*101)
	live := p.note(topic, nostr.Now())
	p.publish(live)
	require.Len(t, without(p.passed(), func(f frame) bool { return f.Event == nil || f.Event.ID != live.ID }), subs)
}

// FIELD_REPORTS 22. It runs alone, because it measures times.
func TestClientThatNeverReadsIsCutWithoutDelayingOthers(t *testing.T) {
	r := own(t, impatient...)
	writer := r.dial(t)
	topic := writer.large(40)
	stuck := make([]*rawPeer, 4)
	for i := range stuck {
		stuck[i] = r.raw(t)
		for j := range 20 {
			stuck[i].write(text(fmt.Sprintf(`["REQ","s%d",{"#t":["%s"]}]`, j, topic)))
		}
	}
	reader := r.dial(t)
	reader.req("x", on(topic, `"limit":0`))
	reader.stored("x")
	var slowest time.Duration
	most := 0.0
	eventually(t, "those that do not read are cut", func() bool {
		e := signed(writer.secret, 1, nostr.Now(), random()+strings.Repeat("x", 8<<10), nostr.Tag{"t", topic})
		begin := time.Now()
		require.True(t, writer.publish(e).OK)
		reader.until("the event", func(f frame) bool { return f.Verb == "EVENT" && f.Event.ID == e.ID })
		slowest = max(slowest, time.Since(begin))
		most = max(most, r.metric(t, "fencepost_outbound_queue_bytes"))
		return r.metric(t, "fencepost_connections") == 2
	})
	require.Less(t, slowest, 5*time.Second, "publishing and delivery to others")
	require.Greater(t, most, 0.0, "what waits can be seen")
	require.LessOrEqual(t, most, float64(len(stuck)+2)*(1<<20), "and is bounded by queue.max_bytes a client")
	_ = reader.ws.CloseNow()
	_ = writer.ws.CloseNow()
	for _, p := range stuck {
		require.NoError(t, p.conn.Close())
	}
	settled(t, r)
}
