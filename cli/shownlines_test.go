package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	// codeBlock matches a fenced block of a page, and codeSpan a code span, which can be on two lines.
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan  = regexp.MustCompile("`aibox ([^`]+)`")
	// blockLine and indentedLine match a command line in a block of a page, and exampleLine one in a
	// help text.
	blockLine    = regexp.MustCompile(`(?m)^ *(?:\$ )?aibox (.+)$`)
	indentedLine = regexp.MustCompile(`(?m)^ {4}(?:\$ )?aibox (.+)$`)
	exampleLine  = regexp.MustCompile(`(?m)^  aibox (.+)$`)
	// quotedLine matches a command line in a help text, and hintEnd one in a hint.
	quotedLine = regexp.MustCompile(`"aibox ([^"\n]+)"`)
	hintEnd    = regexp.MustCompile(`(?:^|: |run )aibox (.+)$`)
	// quoted matches a word in quotation marks, which has no flags.
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// otherWords are not meant as command lines of this version.
var otherWords = map[string]bool{
	"merge": true, "config get": true, "token rm": true, "ls price": true, // examples of what aibox refuses
	"keeps its files below your home folder": true, "never ignores existing settings": true,
}

// shownLines are the command lines of aibox that users see, by place, without "aibox".
func shownLines(t *testing.T) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	add := func(place, text string, patterns ...*regexp.Regexp) {
		for _, pattern := range patterns {
			for _, match := range pattern.FindAllStringSubmatch(text, -1) {
				lines[place] = append(lines[place], strings.Join(strings.Fields(match[1]), " "))
			}
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md", "../CHANGELOG.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		if strings.HasSuffix(page, "CHANGELOG.md") { // released versions had other commands
			text = strings.Join(strings.SplitAfterN(text, "\n## ", 3)[:2], "")
		}
		for _, block := range codeBlock.FindAllString(text, -1) {
			add(page, block, blockLine)
		}
		add(page, codeBlock.ReplaceAllString(text, ""), codeSpan, indentedLine)
	}
	err = filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "../test" || path == "../clients" || strings.HasPrefix(path, "../.")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && len(call.Args) > 0 {
				method, isMethod := call.Fun.(*ast.SelectorExpr)
				if hint, isText := call.Args[0].(*ast.BasicLit); isMethod && isText && method.Sel.Name == "Hint" {
					text, _ := strconv.Unquote(hint.Value)
					add(files.Position(call.Pos()).String(), text, hintEnd)
				}
			}
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				add(files.Position(node.Pos()).String(), text, codeSpan, quotedLine, exampleLine)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// checkShown returns why a command line that users see is wrong. It does not check values, or the
// flags of an agent that aibox does not have.
func checkShown(root *cobra.Command, line string) error {
	command := root
	line, _, _ = strings.Cut(quoted.ReplaceAllString(line, "TEXT"), ";")
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		word, _, _ := strings.Cut(strings.Trim(words[i], "[](),.:"), "|")
		switch {
		case strings.Contains("# | > & && -- …", words[i]) || word == "": // the rest belongs to another program
			return nil
		case word == "-":
		case strings.HasPrefix(word, "-"):
			flag, hasValue, err := lookupFlag(command, word)
			if err != nil {
				return err
			}
			if flag.NoOptDefVal == "" && !hasValue {
				i++
			}
		default:
			next, _, err := command.Find([]string{word})
			switch {
			case command.Name() == "run" && (word == "AGENT" || word == "NAME"):
				command, _, _ = command.Find([]string{"codex"})
			case err == nil && next != command:
				command = next
			case !strings.Contains(command.Use, " "):
				return fmt.Errorf("%q has no command and takes no argument %q", command.CommandPath(), word)
			case command.Name() == "run" && regexp.MustCompile(`^[a-z]+$`).MatchString(word):
				return nil
			}
		}
	}
	return nil
}

// lookupFlag returns the flag that a word gives; of several letters, the last one.
func lookupFlag(command *cobra.Command, word string) (found *pflag.Flag, hasValue bool, err error) {
	command.InitDefaultHelpFlag()
	name, _, hasValue := strings.Cut(word, "=")
	if long, isLong := strings.CutPrefix(name, "--"); isLong {
		found = command.Flag(long)
	} else {
		for _, letter := range name[1:] {
			if found = command.Flags().ShorthandLookup(string(letter)); found == nil {
				break
			}
		}
	}
	if found == nil {
		return nil, false, fmt.Errorf("%q has no flag %s", command.CommandPath(), name)
	}
	return found, hasValue, nil
}

func TestEveryCommandLineThatUsersSeeExists(t *testing.T) {
	a, _, _ := testApp(t)
	root := a.root()
	count := 0
	for place, lines := range shownLines(t) {
		for _, line := range lines {
			count++
			if otherWords[line] {
				continue
			}
			if err := checkShown(root, line); err != nil {
				t.Errorf("%s: `aibox %s`: %v", place, line, err)
			}
		}
	}
	if count < 800 {
		t.Errorf("only %d command lines", count)
	}
}

func TestAWrongCommandLineThatUsersSeeIsFound(t *testing.T) {
	a, _, _ := testApp(t)
	root := a.root()
	for line, right := range map[string]bool{
		"run codex --prompt \"use --fast\"": true, "run codex --detached": false, "run mybot --loud": true, "run NAME --loud": false, "run shell -- ls --all": true,
		"template ls": true, "template list-all": false, "config set pager less": true, "ls --newest": false, "audit %s -f": true, "audit %s -z": false,
		"diff 0dq4f --stat | less --raw": true, "nothing": false, "run --timeout 2d --fork": false,
	} {
		if err := checkShown(root, line); (err == nil) != right {
			t.Errorf("%q: %v", line, err)
		}
	}
}
