package conformance_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// FIELD_REPORTS 25. A limit on the size of files stands for the full disk.
func TestFullDiskIsAnErrorAndPasses(t *testing.T) {
	t.Parallel()
	r := own(t)
	p := r.dial(t)
	topic := random()
	kept := p.note(topic, nostr.Now())
	p.store(kept)
	none := unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY}
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	pid := r.cmd.Process.Pid
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &none, nil))
	refused := p.note(topic, nostr.Now()+1)
	f := p.publish(refused)
	requireOK(t, f, refused.ID, false, "error", "no room")
	require.Equal(t, []string{kept.ID}, p.ids(on(topic)), "reads go on")
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &all, nil))
	eventually(t, "writing works again without a restart", func() bool { return p.publish(refused).OK })
	require.ElementsMatch(t, []string{refused.ID, kept.ID}, p.ids(on(topic)))
	r.kill(t)
	r.restart(t)
	require.ElementsMatch(t, []string{refused.ID, kept.ID}, r.dial(t).ids(on(topic)))
}
