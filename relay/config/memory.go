package config

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// What a store gets that leaves its cache to the relay.
const (
	cacheShare = 8 // one part of so many of the memory that the process may use
	leastCache = 128 * MiB
	mostCache  = GiB
)

// CacheSize returns s.Cache, or when that is 0 what suits the machine: an eighth of
// the memory that the process may use, between 128 MiB and 1 GiB. Decoded events,
// half of it, can take twice their size until garbage is collected, and memtables
// take another 128 MiB; so the store stays below a third of a machine of 1 GiB or
// more, and the rest is left to connections and to the system's page cache. Where
// nothing tells the memory it is 128 MiB. It reads /proc and /sys in that case.
func (s Store) CacheSize() Size {
	if s.Cache != 0 {
		return s.Cache
	}
	return cacheFor(usableMemory(os.DirFS("/")))
}

func cacheFor(memory Size) Size { return min(max(memory/cacheShare, leastCache), mostCache) }

// usableMemory returns the memory of the machine, or what the control groups of
// this process leave of it; 0 when root, the file system, tells neither.
func usableMemory(root fs.FS) (least Size) {
	lower := func(n Size) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	lower(machineMemory(root))
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // no file, no groups
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path, where version 2 names no controllers
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			lower(groupLimit(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			lower(groupLimit(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// groupLimit returns the lowest limit from the group up to the root of its
// hierarchy. In a container the path may be the host's, of which only the root is
// to be seen.
func groupLimit(root fs.FS, mount, group, file string) (least Size) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(mount, group, file))
		if n, bad := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && bad == nil && n > 0 {
			if least == 0 || Size(n) < least {
				least = Size(n)
			}
		}
		if group == "/" {
			return least
		}
	}
}

// machineMemory returns MemTotal, 0 when it is unknown.
func machineMemory(root fs.FS) Size {
	text, _ := fs.ReadFile(root, "proc/meminfo") // no file, no figure
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "MemTotal:" {
			n, err := strconv.ParseInt(words[1], 10, 40)
			if err != nil {
				return 0
			}
			return Size(n) * KiB
		}
	}
	return 0
}
