package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Options of a cluster.
type Options struct {
	Binary   string // of Build
	Database string // URL of an empty database, or of one that replicas have used
	Replicas int
	Proxied  bool     // each replica reaches the database through a proxy of its own
	Env      []string // more of each replica's environment
}

// Cluster is some replicas over one database. They end with the test.
type Cluster struct {
	Database string // URL, past all proxies
	Replicas []*Replica
}

// Start runs the replicas and returns when they are ready.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := &Cluster{Database: o.Database}
	for i := range o.Replicas {
		r := newReplica(t, o, i)
		require.NoError(t, r.Start(t.Context()))
		c.Replicas = append(c.Replicas, r)
	}
	return c
}
