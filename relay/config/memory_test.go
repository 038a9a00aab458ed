package config_test

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"fencepost/relay/config"
)

// machine is a file system with these files.
func machine(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestUsableMemoryIsTheLowestLimit(t *testing.T) {
	t.Parallel()
	const meminfo = "MemFree:  1 kB\nMemTotal:       16384 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  config.Size
	}{
		"nothing is known":     {nil, 0},
		"a machine":            {map[string]string{"proc/meminfo": meminfo}, 16 * config.MiB},
		"no figure":            {map[string]string{"proc/meminfo": "MemTotal: much kB\n"}, 0},
		"a figure beyond all":  {map[string]string{"proc/meminfo": "MemTotal: 9223372036854775807 kB\n"}, 0},
		"malformed groups":     {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "\n1:x\n0::\n"}, 16 * config.MiB},
		"a group above is low": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "4096\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 4096},
		"a container":          {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "8192\n"}, 8192},
		"version 1, no limit":  {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,memory:/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 * config.MiB},
		"version 1":            {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "6:pids:/x\n5:memory:/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "12288\n", "sys/fs/cgroup/pids/memory.limit_in_bytes": "1\n"}, 12288},
		"a limit, no machine":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "8192\n"}, 8192},
	} {
		require.Equal(t, c.want, config.UsableMemory(machine(c.files)), name)
	}
}

func TestCacheIsAnEighthOfTheMemoryWithinBounds(t *testing.T) {
	t.Parallel()
	for memory, want := range map[config.Size]config.Size{
		0:                128 * config.MiB,
		512 * config.MiB: 128 * config.MiB,
		4 * config.GiB:   512 * config.MiB,
		64 * config.GiB:  config.GiB,
	} {
		require.Equal(t, want, config.CacheFor(memory))
	}
	require.Equal(t, 7*config.MiB, config.Store{Cache: 7 * config.MiB}.CacheSize())
	chosen := config.Default().Store.CacheSize()
	require.GreaterOrEqual(t, chosen, 128*config.MiB)
	require.LessOrEqual(t, chosen, config.GiB)
}

func TestPrintSaysWhatCacheWasChosen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, config.Default().WriteTOML(&out))
	require.Regexp(t, `(?m)^# .+, here `+config.Default().Store.CacheSize().String()+` \(.+\)\ncache = "0"$`, out.String())

	out.Reset()
	fixed := config.Default()
	fixed.Store.Cache = 5 * config.MiB
	require.NoError(t, fixed.WriteTOML(&out))
	require.NotContains(t, out.String(), ", here")
	require.Contains(t, out.String(), "cache = \"5MiB\"\n")
}
