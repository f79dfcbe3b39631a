package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unplain matches words that have a plainer equivalent, such as "you" or "the user" for
// "somebody", "again" for "anew" and "only on loopback" for "on loopback alone".
var unplain = regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|anew|a person|is told|are told|tells of|goes on|set-up|mend(s|ed|ing)|for ever|(machine|sandbox|user|session|record|loopback|root|agent|host|name|key|logs|you) alone)\b`)

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
