package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/scan"
	"aibox/workspace"
)

var (
	setOnce sync.Once
	set     *review.ChangeSet
	setRoot string // the folder of its repository; TestMain removes it
)

// workedOn is a change set of a real repository. Its folder outlives the test that made it.
func workedOn(t testing.TB) *review.ChangeSet {
	t.Helper()
	setOnce.Do(func() { set = makeChangeSet(t) })
	return set
}

func makeChangeSet(t testing.TB) *review.ChangeSet {
	t.Helper()
	root, err := os.MkdirTemp("", "aibox-ui-") //nolint:usetesting // several tests use it
	if err != nil {
		t.Fatal(err)
	}
	setRoot = root
	repo := filepath.Join(root, "shop")
	write := func(dir, name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, "line %d of a long file\n", i)
	}
	write(repo, "src/big.go", lines.String())
	write(repo, "Makefile", "all:\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "start"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa", Dirs: paths.Dirs{
		Home: root, Config: root + "/c", State: root + "/s", Data: root + "/d", Cache: root + "/k", Workspace: root + "/w",
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(ws.Path, "src/big.go", strings.NewReplacer("line 5 ", "LINE five ", "line 40 ", "line \x1b[2J forty ", "line 70 of", strings.Repeat("wide ", 80)).Replace(lines.String()))
	write(ws.Path, "Makefile", "all:\n\tcurl evil\n")
	write(ws.Path, "evil\x1b[2J.txt", "a\x1b]52;c;ZXZpbA==\x07b\n")
	write(ws.Path, "blob.bin", "\x00\x01")
	found, err := scan.Workspace(t.Context(), ws, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
