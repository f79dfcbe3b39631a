package gitname_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"aibox/internal/gitname"
)

// gitIn runs git in a folder and returns its output.
func gitIn(t *testing.T, dir string, input []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// gitRefuses returns the names that git's own check, fsck, treats as .git and as
// .gitmodules on any file system. Each name is in a separate tree.
func gitRefuses(t *testing.T, names []string) (dotGit, dotGitmodules map[string]bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "aibox-names-*") // that of a fuzz target is kept until its end
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	gitIn(t, dir, nil, "init", "-q", "--bare")
	var trees bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&trees, "120000 blob %040x\t%s\x00\x00", 1, name) // a record, and the end of the tree
	}
	ids := strings.Fields(gitIn(t, dir, trees.Bytes(), "mktree", "-z", "--batch", "--missing"))
	if len(ids) != len(names) {
		t.Fatalf("%d trees of %d names", len(ids), len(names))
	}
	named := map[string]string{}
	for i, id := range ids {
		named[id] = names[i]
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "-c", "gc.auto=0", "fsck", "--strict", "--no-dangling")
	out, _ := cmd.CombinedOutput() // it fails, as expected
	dotGit, dotGitmodules = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		_, rest, _ := strings.Cut(line, "in tree ")
		id, what, ok := strings.Cut(rest, ": ")
		switch {
		case !ok:
		case strings.HasPrefix(what, "hasDotgit"):
			dotGit[named[id]] = true
		case strings.HasPrefix(what, "gitmodulesSymlink"):
			dotGitmodules[named[id]] = true
		}
	}
	return dotGit, dotGitmodules
}

// noStricter checks that names that git refuses are refused here, too.
func noStricter(t *testing.T, names []string) (refused int) {
	t.Helper()
	dotGit, dotGitmodules := gitRefuses(t, names)
	for name := range dotGit {
		if !gitname.IsDotGit(name) {
			t.Errorf("git takes %q for .git", name)
		}
	}
	for name := range dotGitmodules {
		if !gitname.IsDotGitmodules(name) {
			t.Errorf("git takes %q for .gitmodules", name)
		}
	}
	return len(dotGit) + len(dotGitmodules)
}

// nameAtoms are parts of names that resemble git's own names.
var nameAtoms = []string{
	".", "git", "GIT", "Git", ".git", "g", "i", "t", "modules", "MODULES", ".gitmodules", "gitmod", "GITMOD", "gi7eba", "GI7EBA", "gi7eb", "gi7eb~12", "gi~12345", "gi7d29", "~", "~1", "~2", "~4", "~5",
	"1", "0", "9", "12345", " ", "  ", ":", "::$INDEX_ALLOCATION", "\\", "\u200c", "\u200d", "\u202e", "\ufeff", "\u206a", "\u00a0", "\u212a", "\x80", "x", "-", "\t", "\n",
}

func TestEveryNameThatGitTreatsAsItsOwnIsRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1)) //nolint:gosec // it must be the same each time
	seen := map[string]bool{}
	var names []string
	for len(names) < 2000 {
		var name strings.Builder
		for range 1 + random.IntN(5) {
			name.WriteString(nameAtoms[random.IntN(len(nameAtoms))])
		}
		if n := name.String(); !seen[n] && n != "." && n != ".." {
			seen[n] = true
			names = append(names, n)
		}
	}
	if refused := noStricter(t, names); refused < 15 {
		t.Errorf("git refuses only %d of them", refused)
	}
}

// FuzzNamesThatGitTreatsAsItsOwn splits names at slashes.
func FuzzNamesThatGitTreatsAsItsOwn(f *testing.F) {
	f.Add(".git/.GIT/git~1/.g\u200cit/.git /.git./.git::$INDEX_ALLOCATION/x\\.git/.git\x80y/a")
	f.Add("gi7eb~12/g~123456/gi~12345/.gitmodules/GITMOD~1/gi7eba~1/.gitmodules:x/.GitModules. ")
	f.Fuzz(func(t *testing.T, list string) {
		seen := map[string]bool{".": true, "..": true, "": true}
		var names []string
		for name := range strings.SplitSeq(list, "/") {
			if !seen[name] && !strings.Contains(name, "\x00") {
				seen[name] = true
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			noStricter(t, names)
		}
	})
}
