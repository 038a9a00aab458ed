package registry_test

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fencepost/lifecycle"
	"fencepost/registry"
)

func TestConnectionsAreFoundUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	r := registry.New()
	var all []*lifecycle.Conn
	for range 100 {
		c := lifecycle.NewConn(t.Context(), lifecycle.Options{ID: r.NextID()})
		r.Add(c)
		all = append(all, c)
	}
	require.Equal(t, 100, r.Len())
	seen := map[uint64]bool{}
	r.Each(func(c *lifecycle.Conn) bool {
		seen[c.ID()] = true
		return true
	})
	require.Len(t, seen, 100)
	for _, c := range all {
		got, ok := r.Get(c.ID())
		require.True(t, ok)
		require.Same(t, c, got)
		r.Remove(c)
		_, ok = r.Get(c.ID())
		require.False(t, ok)
	}
	require.Zero(t, r.Len())
}

func TestEachStopsAndMayRemove(t *testing.T) {
	t.Parallel()
	r := registry.New()
	for range 10 {
		r.Add(lifecycle.NewConn(t.Context(), lifecycle.Options{ID: r.NextID()}))
	}
	calls := 0
	r.Each(func(c *lifecycle.Conn) bool {
		r.Remove(c)
		calls++
		return calls < 3
	})
	require.Equal(t, 3, calls)
	require.Equal(t, 7, r.Len())
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	const v4, v6 = "192.0.2.1", "2001:db8::1"
	tests := map[string]struct {
		perAddress, total int
		held              []string
		next              string
		err               error
	}{
		"below both":              {2, 3, []string{v4}, v4, nil},
		"no caps":                 {0, 0, []string{v4, v4, v4}, v4, nil},
		"address full":            {2, 0, []string{v4, v4}, v4, registry.ErrAddressFull},
		"another address":         {2, 0, []string{v4, v4}, "192.0.2.2", nil},
		"mapped is the same":      {1, 0, []string{v4}, "::ffff:192.0.2.1", registry.ErrAddressFull},
		"IPv6 of one /64":         {1, 0, []string{v6}, "2001:db8::ffff:1", registry.ErrAddressFull},
		"IPv6 of another /64":     {1, 0, []string{v6}, "2001:db8:0:1::1", nil},
		"zones are one":           {1, 0, []string{"fe80::1%eth0"}, "fe80::1%eth1", registry.ErrAddressFull},
		"full":                    {0, 2, []string{v4, v6}, "192.0.2.9", registry.ErrFull},
		"full before its address": {1, 1, []string{v4}, v4, registry.ErrFull},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry.New()
			var release []func()
			for _, addr := range tt.held {
				f, err := r.Admit(netip.MustParseAddr(addr), 0, 0)
				require.NoError(t, err)
				release = append(release, f)
			}
			next := netip.MustParseAddr(tt.next)
			f, err := r.Admit(next, tt.perAddress, tt.total)
			require.ErrorIs(t, err, tt.err)
			if tt.err == nil {
				release = append(release, f)
			}
			for _, f := range release {
				f()
				f() // does nothing
			}
			total, networks := r.Admitted()
			require.Zero(t, total)
			require.Zero(t, networks)
		})
	}
}

func TestAnUnknownAddressCountsInTotalOnly(t *testing.T) {
	t.Parallel()
	r := registry.New()
	for range 3 {
		_, err := r.Admit(netip.Addr{}, 1, 3)
		require.NoError(t, err)
	}
	_, err := r.Admit(netip.Addr{}, 1, 3)
	require.ErrorIs(t, err, registry.ErrFull)
	total, networks := r.Admitted()
	require.Equal(t, 3, total)
	require.Zero(t, networks)
}

func TestRacingAdmissionsNeverExceedTheCap(t *testing.T) {
	t.Parallel()
	r := registry.New()
	addr := netip.MustParseAddr("192.0.2.1")
	var admitted, most atomic.Int64
	var racers sync.WaitGroup
	for range 8 {
		racers.Go(func() {
			for range 2000 {
				release, err := r.Admit(addr, 3, 0)
				if err != nil {
					continue
				}
				most.Store(max(most.Load(), admitted.Add(1)))
				admitted.Add(-1)
				release()
			}
		})
	}
	racers.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	total, _ := r.Admitted()
	require.Zero(t, total)
}
