package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryListOfTheTerminalUISaysWhichRowsAreHidden looks for lists that scroll by a cursor
// and never show its position.
func TestEveryListOfTheTerminalUISaysWhichRowsAreHidden(t *testing.T) {
	scroll, shown := map[string]token.Position{}, map[string]bool{}
	files := token.NewFileSet()
	err := filepath.WalkDir("../../ui", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "widget/cursor/cursor.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			// A function that tells a range of its own tells that of the cursor in it.
			ranges := false
			ast.Inspect(function, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Range" {
					if name, ok := call.X.(*ast.Ident); ok && name.Name == "cursor" {
						ranges = true
					}
				}
				return true
			})
			ast.Inspect(function, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, ok := call.X.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				list := filepath.Base(filepath.Dir(path)) + "." + strings.ToLower(of.Sel.Name)
				switch call.Sel.Name {
				case "Window":
					scroll[list] = files.Position(call.Pos())
					shown[list] = shown[list] || ranges
				case "Position":
					shown[list] = true
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(scroll) < 12 {
		t.Errorf("only the lists %v were found", scroll)
	}
	shown["filetree.cursor"] = shown["changes.cursor"] // which shows it above the tree
	for list, at := range scroll {
		if !shown[list] {
			t.Errorf("%s: the list %s never shows which of its rows are hidden: see cursor.Position", at, list)
		}
	}
}
