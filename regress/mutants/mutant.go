package mutants

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one fence and the edit that removes it.
type Mutant struct {
	Name    string // unique
	Promise string // what the fence keeps: G1 to G10, E1 to E3, a setting, a NIP or an RFC
	Says    string // what goes wrong without it, in one sentence
	Edit
	And    []Edit  // further edits, when one line does not remove the fence
	Suites []Suite // each of them must fail
	Hangs  bool    // a suite that runs into its timeout has failed
}

// Edit replaces one piece of text of a file.
type Edit struct {
	File string // below the repository's root
	Old  string // occurs exactly once
	New  string
}

// Suite is some tests of one package.
type Suite struct {
	Package string   // below the repository's root
	Tests   []string // their full names
}

// suites is where the race suites are, each of which names its promise.
const suites = "regress/suites"

// in makes the list of one suite.
func in(pkg string, tests ...string) []Suite { return []Suite{{Package: pkg, Tests: tests}} }

// also adds race suites to a list.
func also(list []Suite, tests ...string) []Suite { return append(list, in(suites, tests...)...) }

// Edits returns all edits of m.
func (m *Mutant) Edits() []Edit { return append([]Edit{m.Edit}, m.And...) }

// Check returns what is wrong with the form of the table: names that occur twice,
// empty fields, and edits that do not fit the source below root.
func Check(root string, table []Mutant) error {
	var errs []error
	seen := map[string]bool{}
	for i := range table {
		m := &table[i]
		if seen[m.Name] {
			errs = append(errs, fmt.Errorf("%s: the name occurs twice", m.Name))
		}
		seen[m.Name] = true
		errs = append(errs, m.check(root))
	}
	return errors.Join(errs...)
}

func (m *Mutant) check(root string) error {
	if m.Name == "" || m.Promise == "" || m.Says == "" || len(m.Suites) == 0 {
		return fmt.Errorf("%s: a field is empty", m.Name)
	}
	for _, s := range m.Suites {
		if s.Package == "" || len(s.Tests) == 0 {
			return fmt.Errorf("%s: a suite without package or tests", m.Name)
		}
	}
	_, err := m.mutate(root)
	return err
}

// mutate returns the changed files by their path.
func (m *Mutant) mutate(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits() {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, again := changed[path]
		if !again {
			read, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			text = string(read)
		}
		if n := strings.Count(text, e.Old); e.Old == "" || n != 1 {
			return nil, fmt.Errorf("%s: the text to replace occurs %d times in %s, not once:\n%s", m.Name, n, e.File, e.Old)
		}
		if e.Old == e.New {
			return nil, fmt.Errorf("%s: changes nothing", m.Name)
		}
		changed[path] = strings.Replace(text, e.Old, e.New, 1)
	}
	return changed, nil
}

// Sample returns about a quarter of table: another one for another seed, and the
// same for the same.
func Sample(table []Mutant, seed string) (out []Mutant) {
	for _, m := range table {
		h := fnv.New32a()
		_, _ = h.Write([]byte(seed + " " + m.Name)) // a hash takes everything
		if h.Sum32()%4 == 0 {
			out = append(out, m)
		}
	}
	return out
}

// Named returns the mutants with those names.
func Named(table []Mutant, names ...string) (out []Mutant, err error) {
	for _, name := range names {
		found := false
		for _, m := range table {
			if m.Name == name {
				out, found = append(out, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no mutant is called %q", name)
		}
	}
	return out, nil
}
