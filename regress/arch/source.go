package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the module, as in go.mod.
const Module = "fencepost"

// File is one parsed Go file.
type File struct {
	Path    string // below the module's root, with slashes
	Lines   int
	Imports []Import

	fset *token.FileSet
	tree *ast.File
}

// Import is one import of a file.
type Import struct {
	Path string
	Line int
}

// Finding is one breach of a rule.
type Finding struct {
	Path string
	Line int // 0 when it concerns the whole file or folder
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// Dir returns the folder of the file, "." for the root.
func (f *File) Dir() string { return path.Dir(f.Path) }

// Test reports whether the file is compiled into tests only.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// TestCode reports whether the file serves tests only: Test, or a suite in
// ordinary files.
func (f *File) TestCode() bool {
	return f.Test() || anyBelow(f.Dir(), Suites) && !slices.Contains(ForCommand, f.Dir())
}

func (f *File) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

func (f *File) finding(n ast.Node, text string) Finding {
	return Finding{Path: f.Path, Line: f.line(n), Text: text}
}

// Parse parses the text of one file.
func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Lines: fset.File(tree.Pos()).LineCount(), fset: fset, tree: tree}
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.Imports = append(f.Imports, Import{Path: p, Line: f.line(spec)})
	}
	return f, nil
}

// Load parses every Go file of the module at root. Left out are what the go
// command leaves out (testdata, names that begin with . or _, modules below) and
// the folders that .gitignore names.
func Load(root string) ([]*File, error) {
	ignored, err := Ignored(root)
	if err != nil {
		return nil, err
	}
	var files []*File
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (ignored[rel] || foreign(p, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), ".go") {
			return nil
		}
		f, err := load(p, rel)
		files = append(files, f)
		return err
	})
	return files, err
}

func load(p, rel string) (*File, error) {
	src, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	return Parse(rel, src)
}

// foreign reports whether the folder does not belong to the module.
func foreign(p, name string) bool {
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil
}

// Ignored returns the folders at the root that .gitignore names as /name/.
func Ignored(root string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "/") && strings.HasSuffix(line, "/") {
			names[strings.Trim(line, "/")] = true
		}
	}
	return names, nil
}
