package relay

import (
	"context"
	"log/slog"
	"os"
	"time"

	"fencepost/lifecycle"
	"fencepost/registry/presence"
	"fencepost/registry/session"
	"fencepost/relay/config"
	"fencepost/relay/store"
	"fencepost/relay/web"
)

const (
	// sessionsOfKey is how many sessions of one key are looked at, the open ones and
	// then the last to end.
	sessionsOfKey = 32
	// sessionsPage is how many the operator gets at once.
	sessionsPage = 500
	// rosterPatience bounds one reading of the session index.
	rosterPatience = 5 * time.Second
	// withheld is the state of a key about which the asker may know nothing.
	withheld = "withheld"
)

// roster tells who is connected. Nothing that protects anybody reads it (R12).
type roster struct {
	index  store.Sessions
	config func() config.Config
	share  func(a, b string) bool // whether two keys are members of a common group
}

// sessions returns the index that the replicas of s share, or that of this process.
func sessions(s store.Store) store.Sessions {
	if shared, ok := s.(store.Sessions); ok {
		return shared
	}
	return session.NewMemory(time.Now)
}

// report says to the index who is connected to r, until g ends.
func (r *Relay) report(g *lifecycle.Group) {
	reporter := session.NewReporter(session.Options{
		Index: r.parts.sessions, Connections: r.parts.registry, Node: session.NewNode(nodeName(r.started, r.Addr().String())),
		Every: config.PresenceEvery, Now: time.Now, Logger: r.log,
	})
	g.Go("sessions", reporter.Run)
}

// nodeName returns what this process is called among those over one database.
func nodeName(c config.Config, address string) string {
	if c.Presence.Node != "" {
		return c.Presence.Node
	}
	host, err := os.Hostname()
	if err != nil {
		slog.Warn("host has no name", "err", err)
		host = "unknown"
	}
	return host + "/" + address
}

// Presence implements web.Roster: a key is told about itself, about whom it shares a
// group with, and the operator about everybody.
func (r roster) Presence(ctx context.Context, viewer string, keys []string) ([]web.Presence, error) {
	c := r.config()
	var told []string
	for _, k := range keys {
		if k == viewer || viewer == c.Relay.PubKey || r.share(viewer, k) {
			told = append(told, k)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	seen, err := r.index.OfKeys(ctx, time.Now(), told, sessionsOfKey)
	if err != nil {
		return nil, err
	}
	of := make(map[string][]store.SessionSeen)
	for _, k := range told {
		of[k] = nil
	}
	for _, s := range seen {
		of[s.Key] = append(of[s.Key], s)
	}
	out := make([]web.Presence, 0, len(keys))
	for _, k := range keys {
		if sessions, ok := of[k]; ok {
			out = append(out, present(k, presence.Of(sessions, windows(c))))
		} else {
			out = append(out, web.Presence{Key: k, State: withheld})
		}
	}
	return out, nil
}

func present(key string, p presence.Presence) web.Presence {
	out := web.Presence{Key: key, State: string(p.State)}
	if p.State != presence.Unknown {
		at, age, active := p.AsOf.UTC(), p.Age.Seconds(), p.Active.UTC()
		out.AsOf, out.Age, out.Active = &at, &age, &active
	}
	return out
}

func windows(c config.Config) presence.Windows {
	return presence.Windows{Idle: c.Presence.Idle, Stale: c.Presence.Stale}
}

// Sessions implements web.Roster.
func (r roster) Sessions(ctx context.Context, after store.SessionRef) ([]web.Session, []web.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	seen, known, err := r.index.All(ctx, time.Now(), after, sessionsPage)
	if err != nil {
		return nil, nil, err
	}
	w := windows(r.config())
	all, nodes := make([]web.Session, 0, len(seen)), make([]web.Node, 0, len(known))
	for i := range seen {
		p := presence.Of(seen[i:i+1], w)
		all = append(all, web.Session{
			SessionRef: seen[i].SessionRef, State: string(p.State), AsOf: p.AsOf.UTC(), Age: p.Age.Seconds(),
			Active: p.Active.UTC(), Doc: seen[i].Doc,
		})
	}
	for _, n := range known {
		nodes = append(nodes, web.Node{
			Node: n.Node, State: nodeState(n, w), Connections: n.Connections, AsOf: n.Observed.UTC(), Age: n.Age.Seconds(),
		})
	}
	return all, nodes, nil
}

func nodeState(n store.NodeSeen, w presence.Windows) string {
	switch {
	case n.Gone:
		return "gone"
	case n.Age >= w.Stale:
		return "stale"
	default:
		return "reporting"
	}
}
