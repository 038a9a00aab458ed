package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Size reports files and functions that are too long. Tests may be: their
// tables are data.
func Size(f *File) (found []Finding) {
	if f.Test() || ast.IsGenerated(f.tree) || f.headSays(LongBecause) {
		return nil
	}
	if f.Lines > MaxFile {
		found = append(found, Finding{Path: f.Path, Text: fmt.Sprintf("%d lines, at most %d", f.Lines, MaxFile)})
	}
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || strings.Contains(fn.Doc.Text(), LongBecause) {
			continue
		}
		n := f.fset.Position(fn.End()).Line - f.line(fn) + 1
		if n > MaxFunction {
			found = append(found, f.finding(fn, fmt.Sprintf("%s has %d lines, at most %d", fn.Name.Name, n, MaxFunction)))
		}
	}
	return found
}

// headSays looks into the comments that stand before the first declaration and
// do not belong to a function.
func (f *File) headSays(text string) bool {
	for _, c := range f.tree.Comments {
		if len(f.tree.Decls) > 0 && c.Pos() > f.tree.Decls[0].Pos() {
			return false
		}
		if strings.Contains(c.Text(), text) && !f.documentsFunction(c) {
			return true
		}
	}
	return false
}

func (f *File) documentsFunction(c *ast.CommentGroup) bool {
	if len(f.tree.Decls) == 0 {
		return false
	}
	fn, ok := f.tree.Decls[0].(*ast.FuncDecl)
	return ok && fn.Doc == c
}

// Sleep reports time.Sleep, in tests too.
func Sleep(f *File) []Finding {
	return f.uses("time", "no time.Sleep: select on a timer and the context", "Sleep")
}

// Background reports contexts without an end, outside main and tests.
func Background(f *File) []Finding {
	if f.TestCode() || f.tree.Name.Name == "main" {
		return nil
	}
	return f.uses("context", "a context is handed in: Background is for main and tests", "Background", "TODO")
}

// uses reports every mention of pkg.name, under whatever name pkg is imported.
func (f *File) uses(pkg, text string, names ...string) (found []Finding) {
	local, ok := f.localName(pkg)
	if !ok {
		return nil
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, n.Sel.Name) {
				found = append(found, f.finding(n, text))
			}
		case *ast.Ident:
			if local == "." && slices.Contains(names, n.Name) {
				found = append(found, f.finding(n, text))
			}
		}
		return true
	})
	return found
}

func (f *File) localName(pkg string) (name string, ok bool) {
	for _, spec := range f.tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name, true
		}
		return path.Base(pkg), true
	}
	return "", false
}

// Goroutines reports what starts a goroutine outside a lifecycle.Group: a go
// statement, and the Go of a sync.WaitGroup, which takes a bare func().
func Goroutines(f *File) (found []Finding) {
	if _, allowed := MayGo[f.Path]; allowed || f.TestCode() {
		return nil
	}
	const text = "goroutines start in a lifecycle.Group"
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, f.finding(n, text))
		case *ast.CallExpr:
			if isWaitGroupGo(n) {
				found = append(found, f.finding(n, text))
			}
		}
		return true
	})
	return found
}

func isWaitGroupGo(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Go" || len(call.Args) != 1 {
		return false
	}
	fn, ok := call.Args[0].(*ast.FuncLit)
	return ok && fn.Type.Params.NumFields() == 0 && fn.Type.Results.NumFields() == 0
}

// Inits reports init functions.
func Inits(f *File) (found []Finding) {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			found = append(found, f.finding(fn, "no init: everything is handed in"))
		}
	}
	return found
}

// Skips reports tests that are skipped without saying why.
func Skips(f *File) (found []Finding) {
	if _, ok := f.localName("testing"); !ok {
		return nil
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && skipsSilently(call) {
			found = append(found, f.finding(call, "a skipped test says why"))
		}
		return true
	})
	return found
}

func skipsSilently(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if x, ok := sel.X.(*ast.Ident); !ok || !slices.Contains([]string{"t", "tb", "b", "f"}, x.Name) {
		return false
	}
	switch sel.Sel.Name {
	case "SkipNow":
		return true
	case "Skip", "Skipf":
		return len(call.Args) == 0 || isEmptyString(call.Args[0])
	default:
		return false
	}
}

func isEmptyString(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && strings.TrimSpace(text) == ""
}
