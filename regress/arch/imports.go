package arch

import (
	"slices"
	"strings"
)

// Imports holds one file against Table, ConcreteStores and Outside.
func Imports(f *File) (found []Finding) {
	row, ok := rowOf(f.Dir())
	if !ok {
		return []Finding{{Path: f.Path, Text: "package has no row in the table of regress/arch"}}
	}
	for _, im := range f.Imports {
		if text := verdict(f, row, im.Path); text != "" {
			found = append(found, Finding{Path: f.Path, Line: im.Line, Text: text})
		}
	}
	return found
}

func verdict(f *File, row Row, imported string) string {
	dir, inside := within(imported)
	if !inside {
		return outside(f, imported)
	}
	switch {
	case dir == f.Dir():
		return ""
	case slices.Contains(ConcreteStores, dir):
		return concrete(f, dir)
	case dir == "relay/store/storetest" && !f.Test() && !below(f.Dir(), "regress/..."):
		return "only tests and regress import " + dir
	case anyBelow(dir, row.May), f.Test() && anyBelow(dir, ForTests):
		return ""
	default:
		return f.Dir() + " must not import " + dir
	}
}

func concrete(f *File, dir string) string {
	roofTest := f.Test() && (f.Dir() == "relay" || f.Dir() == "cmd/fencepost")
	if f.Path == StoreBuilder || roofTest || below(f.Dir(), "regress/...") {
		return ""
	}
	return "only " + StoreBuilder + " names the concrete store " + dir
}

func outside(f *File, imported string) string {
	only, limited := Outside[f.Dir()]
	first, _, _ := strings.Cut(imported, "/")
	if f.Test() || !limited || !strings.Contains(first, ".") { // the standard library has no dot
		return ""
	}
	for _, module := range only {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return ""
		}
	}
	return f.Dir() + " must not import " + imported
}

// rowOf returns the row with the longest Dir that covers dir.
func rowOf(dir string) (best Row, ok bool) {
	for _, row := range Table {
		if below(dir, row.Dir) && (!ok || len(row.Dir) > len(best.Dir)) {
			best, ok = row, true
		}
	}
	return best, ok
}

func anyBelow(dir string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return below(dir, p) })
}

// below reports whether dir is what pattern names.
func below(dir, pattern string) bool {
	root, all := strings.CutSuffix(pattern, "/...")
	return dir == root || all && strings.HasPrefix(dir, root+"/")
}

// within returns the folder of a package of this module.
func within(imported string) (dir string, ok bool) {
	if imported == Module {
		return ".", true
	}
	return strings.CutPrefix(imported, Module+"/")
}

// Reach reports what ForCommand reaches, through files that are not tests, and
// must not: TestOnly would come along into the released binary.
func Reach(files []*File) (found []Finding) {
	byDir := map[string][]*File{}
	for _, f := range files {
		if !f.Test() {
			byDir[f.Dir()] = append(byDir[f.Dir()], f)
		}
	}
	seen := map[string]bool{}
	queue := slices.Clone(ForCommand)
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, f := range byDir[dir] {
			next, bad := reachOf(f)
			queue, found = append(queue, next...), append(found, bad...)
		}
	}
	return found
}

func reachOf(f *File) (next []string, bad []Finding) {
	for _, im := range f.Imports {
		if dir, ok := within(im.Path); ok {
			next = append(next, dir)
			continue
		}
		for _, p := range TestOnly {
			if im.Path == p || strings.HasPrefix(im.Path, p+"/") {
				bad = append(bad, Finding{Path: f.Path, Line: im.Line, Text: "reached by cmd, must not import " + im.Path})
			}
		}
	}
	return next, bad
}
