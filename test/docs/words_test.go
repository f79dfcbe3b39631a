package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unplain matches words that have a plainer equivalent.
var unplain = regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|anew|a person|is told|are told|tells of|goes on|set-up|mend(s|ed|ing)|for ever|(machine|sandbox|user|session|record|loopback|root|agent|host|name|key|logs|you) alone)\b`)

// unplainInComments matches words in comments that have a plainer equivalent.
var unplainInComments = regexp.MustCompile(`(?i)\b(somebody|everybody|whoever|anew|a person|persons|one's own|what is (left|asked for|needed|known|read|there|wrong|in place)|what it (needs|makes)|stands? for|stands (in|on|behind|where)|is heard|praise|lies (in|on|below|behind|elsewhere|outside)|in league with|for ever|all the same|as it should|(is|are|was|were) told|tells? (of|the)|goes on|come along|came along|from from|up to to)\b`)

func TestPagesAndScriptsUsePlainWords(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md", "scripts/*.sh", "test/matrix/*.sh", "Makefile"} {
		for _, file := range matching(t, pattern) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkWords(t, file, string(text))
		}
	}
}

// Messages, help texts and the tags of options are string literals. JSON keys never change.
func TestMessagesUsePlainWords(t *testing.T) {
	for _, pattern := range []string{"cli/*.go", "app/*.go", "app/*/*.go", "config/*.go", "agents/*.go", "bakery/*.go", "session/*.go", "review/*/*.go", "ui/*.go", "ui/*/*.go", "ui/widget/*/*.go", "api/*/*.go", "netguard/*.go", "netguard/*/*.go", "session/*/*.go", "workspace/*.go", "runtime/*.go", "runtime/*/*.go", "internal/*/*.go"} {
		for _, file := range matching(t, pattern) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && !strings.Contains(literal.Value, `json:"`) {
					checkWords(t, file, literal.Value)
				}
				return true
			})
		}
	}
}

func TestCommentsUsePlainWords(t *testing.T) {
	for _, file := range goFiles(t, "agents", "api", "app", "audit", "bakery", "cli", "cmd", "config", "internal", "netguard", "review", "runtime", "scripts", "session", "test", "ui", "workspace") {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		for _, group := range parsed.Comments {
			for _, paragraph := range strings.Split(group.Text(), "\n\n") {
				text := strings.Join(strings.Fields(paragraph), " ")
				if unplainInComments.MatchString(text) {
					t.Errorf("%s: use a plainer word than %q in %q", fset.Position(group.Pos()), unplainInComments.FindString(text), text)
				}
			}
		}
	}
}

// Most lines of prose in these files are comments, and the rest are messages.
func TestTheClientsUsePlainWords(t *testing.T) {
	for _, pattern := range []string{
		"clients/python/*/*.py", "clients/python/aibox/*/*.py", "clients/python/*.md",
		"clients/typescript/src/*.ts", "clients/typescript/test/*.ts", "clients/typescript/examples/*.ts", "clients/typescript/*.md",
	} {
		for _, file := range matching(t, pattern) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for number, line := range strings.Split(string(text), "\n") {
				if unplainInComments.MatchString(line) {
					t.Errorf("%s:%d: use a plainer word than %q", file, number+1, unplainInComments.FindString(line))
				}
			}
		}
	}
}

// goFiles returns the Go files below some folders of the checkout, which need not have git.
func goFiles(t *testing.T, folders ...string) []string {
	t.Helper()
	var files []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no Go files")
	}
	return files
}

func matching(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", pattern, err)
	}
	return files
}

func checkWords(t *testing.T, file, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, line := range slices.DeleteFunc(lines, func(line string) bool { return !unplain.MatchString(line) }) {
		t.Errorf("%s: use a plainer word than %q in %q", file, unplain.FindString(line), line)
	}
}
