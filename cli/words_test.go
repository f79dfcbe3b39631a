package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A hint is a command that can be typed: it contains the session's id unless the command needs
// none.
func TestNoHintHasAPlaceholderForTheID(t *testing.T) {
	blank := regexp.MustCompile(`\b(ID|SESSION)\b`)
	hints := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 {
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			selector, isMethod := call.Fun.(*ast.SelectorExpr)
			text, isText := call.Args[0].(*ast.BasicLit)
			if !isMethod || !isText || selector.Sel.Name != "Hint" {
				return true
			}
			hints++
			hint, _ := strconv.Unquote(text.Value)
			if strings.Contains(hint, "aibox ") && blank.MatchString(strings.ReplaceAll(hint, "--model ID", "")) {
				t.Errorf("%s: %q", path, hint)
			}
			return true
		})
		return nil
	})
	if err != nil || hints < 200 {
		t.Errorf("%d hints, %v", hints, err)
	}
}

// wrongLines are command lines that fail without a daemon: every command without arguments, with
// too many, with unknown sessions, and with each flag set to a wrong value.
func wrongLines(root *cobra.Command) [][]string {
	var lines [][]string
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		path := strings.Fields(c.CommandPath())[1:]
		add := func(args ...string) { lines = append(lines, append(append([]string{}, path...), args...)) }
		add("--no-such-flag")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "string" && f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
				add("--" + f.Name + "=\x1b[31mwrong")
			}
		})
		if c.HasSubCommands() {
			add("no-such-command")
		}
		if c.ValidArgsFunction == nil || !strings.Contains(c.Use, "ID") {
			return
		}
		for _, id := range []string{"zzzzz", "", "../etc", "-1", "0dq4", "0dq4f-shell", "0dq4g-shell", "\x1b[31m", "verify-0dq4f"} {
			add("--", id)
			add("--", id, "30m")
		}
	}
	visit(root)
	for _, line := range []string{
		"run nobody", "run shell", "run codex", "run shell --repo /nowhere -- true", "run --resume zzzzz", "run --resume 0dq4f-shell",
		"run shell --mount x -- true", "run shell --memory lots -- true", "run shell --allow-degraded=perhaps -- true", "run --agent codex --prompt-file /nowhere",
		"run shell --accept everywhere -- true", "run gemini --settings null --prompt x", "run codex --inference nonsense --prompt x", "run shell --network wide -- true",
		"recover --ref 7", "recover --diff", "recover 0dq4f-shell --ref 3", "recover 0dq4f-shell --to-workspace", "recover --branch x", "recover --to-workspace --diff",
		"config get nonsense", "config set nonsense x", "config set memory lots", "config set pids -1", "bake nobody", "bake --version x codex", "bake --version codex=../x codex",
		"agents show nobody", "agents check nobody", "agents new codex", "prompts show nothing", "gc --older-than soon", "gc --older-than -1h", "netguard log zzzzz", "models --inference nonsense",
		"rerun zzzzz", "rerun 0dq4f-shell --resume x", "accept 0dq4f-shell --files ../x", "accept 0dq4f-shell --to nowhere", "diff 0dq4f-shell --hunks --stat", "comment 0dq4f-shell x y z",
	} {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func TestNoWrongCommandLineCausesAFormattingError(t *testing.T) {
	accident := regexp.MustCompile(`<nil>|%!|\(MISSING\)|0x[0-9a-f]{8}|goroutine |\x1b`)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	a, _, _ := testApp(t)
	lines := wrongLines(a.root())
	if len(lines) < 300 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		a, out, errOut := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		storedSession(t, "0dq4g-shell", time.Now())
		code := a.perform(t.Context(), line)
		if text := out.String() + errOut.String(); accident.MatchString(text) {
			t.Errorf("%q prints %q", line, text)
		}
		if said := strings.Contains(errOut.String(), "aibox: "); said != (code != 0) || code > 6 {
			t.Errorf("%q exits with %d and prints %q", line, code, errOut.String())
		}
		if code == 1 {
			t.Errorf("%q is nobody's fault: %q", line, errOut.String())
		}
	}
}
