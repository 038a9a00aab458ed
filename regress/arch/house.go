package arch

import (
	"os"
	"path"
	"slices"
	"strings"
)

// Top reports what stands at the root and should not, and what is missing.
func Top(root string) (found []Finding, err error) {
	ignored, err := Ignored(root)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !ignored[name] {
			names = append(names, name)
		}
	}
	return top(names), nil
}

func top(names []string) (found []Finding) {
	for _, name := range names {
		if !slices.Contains(TopLevel, name) {
			found = append(found, Finding{Path: name, Text: "does not belong at the top level"})
		}
	}
	for _, name := range TopLevel {
		if !slices.Contains(names, name) {
			found = append(found, Finding{Path: name, Text: "is missing at the top level"})
		}
	}
	return found
}

// Packages reports folders without a doc.go that holds the package comment, and
// packages whose name says nothing.
func Packages(files []*File) (found []Finding) {
	documented := map[string]bool{}
	for _, f := range files {
		documented[f.Dir()] = documented[f.Dir()] || hasContract(f)
	}
	for dir, ok := range documented {
		if !ok {
			found = append(found, Finding{Path: dir + "/doc.go", Text: "no doc.go with a package comment"})
		}
		if name := path.Base(dir); slices.Contains(BadNames, name) {
			found = append(found, Finding{Path: dir, Text: "a package is not called " + name})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return found
}

func hasContract(f *File) bool {
	return path.Base(f.Path) == "doc.go" && f.tree.Doc != nil && strings.TrimSpace(f.tree.Doc.Text()) != ""
}
