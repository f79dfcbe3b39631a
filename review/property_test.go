package review_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"aibox/review"
	"aibox/workspace"
)

// namePart are the parts that random names are made of.
var namePart = []string{"a", "b", "dir", "x y", "-n", "\xfe", "n\nl", "é", "Z", "\"q", "t\t"}

func drawName(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(namePart), 1, 3).Draw(t, "name")
	return strings.Join(parts, "/")
}

func drawContent(t *rapid.T) string {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three", "", "\tfour\r"}), 0, 12), func(lines []string) string { return strings.Join(lines, "\n") + "\n" }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"no", "newline"}), 0, 3), func(lines []string) string { return strings.Join(lines, "\n") }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return "\x00" + string(b) }),
	).Draw(t, "content")
}

// edit makes one random change below dir. Changes that the file system forbids
// just do not happen.
func edit(t *rapid.T, dir string) {
	path := filepath.Join(dir, drawName(t))
	switch rapid.IntRange(0, 6).Draw(t, "edit") {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, []byte(drawContent(t)), 0o644)
	case 3:
		_ = os.RemoveAll(path)
	case 4:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Rename(filepath.Join(dir, drawName(t)), path)
	case 5:
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			_ = os.Chmod(path, os.FileMode(0o644|0o111*(st.Mode>>6&1^1)))
		}
	case 6:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Symlink(drawName(t), path)
	}
}

// TestTheChangeSetIsWhatGitWouldSay makes random edits in a workspace that is
// friendly, so that git itself may be asked: the tree, the list of names and the
// patch must agree with it, and accepting must give the agent's tree.
func TestTheChangeSetIsWhatGitWouldSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		root, err := os.MkdirTemp("", "aibox-property-*")
		must(t, err)
		defer os.RemoveAll(root)
		repo := filepath.Join(root, "project")
		must(t, os.Mkdir(repo, 0o755))
		gitIn(t, repo, "init", "-q", "-b", "main")
		for range rapid.IntRange(0, 12).Draw(r, "files") {
			edit(r, repo)
		}
		gitIn(t, repo, "add", "-A")
		gitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "start")
		for range rapid.IntRange(0, 3).Draw(r, "uncommitted") {
			edit(r, repo)
		}
		ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "p", Dirs: dirsIn(root)})
		must(t, err)
		for range rapid.IntRange(0, 12).Draw(r, "edits") {
			edit(r, ws.Path)
		}
		cs, err := review.Compute(t.Context(), ws, review.Options{})
		must(t, err)
		if len(cs.Refused) > 0 {
			r.Fatalf("refused: %v", cs.Refused)
		}

		// What git makes of the same files.
		index := []string{"GIT_DIR=" + ws.GitDir, "GIT_WORK_TREE=" + ws.Path, "GIT_INDEX_FILE=" + root + "/index"}
		gitWith(t, index, nil, "add", "-A")
		if tree := gitWith(t, index, nil, "write-tree"); tree != cs.Tree {
			r.Fatalf("tree %s, git says %s", cs.Tree, tree)
		}
		gitWith(t, index, nil, "read-tree", cs.BaseTree)
		var patch bytes.Buffer
		must(t, cs.Patch(t.Context(), &patch))
		if patch.Len() > 0 {
			gitWith(t, index, patch.Bytes(), "apply", "--cached", "--whitespace=nowarn", "-")
		}
		if tree := gitWith(t, index, nil, "write-tree"); tree != cs.Tree {
			r.Fatalf("the patch gives %s, want %s\n%s", tree, cs.Tree, patch.String())
		}
		var names strings.Builder
		for _, c := range cs.Changes {
			letter := strings.ToUpper(string(c.Kind[:1]))
			if c.Kind == review.ModeChanged {
				letter = "M"
			}
			names.WriteString(letter + "\x00")
			if c.OldPath != "" {
				names.WriteString(c.OldPath.Raw() + "\x00")
			}
			names.WriteString(c.Path.Raw() + "\x00")
		}
		want := gitWith(t, index, nil, "diff", "--name-status", "-z", cs.BaseTree, cs.Tree)
		if got := names.String(); got != stripScores(want) {
			r.Fatalf("names %q, git says %q", got, want)
		}
		accepted, err := review.Accept(t.Context(), ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
		if cs.Empty() {
			return
		}
		must(t, err)
		if tree := gitIn(t, repo, "rev-parse", accepted.Commit+"^{tree}"); tree != cs.Tree {
			r.Fatalf("accepted %s, want %s", tree, cs.Tree)
		}
	})
}

func gitWith(t *testing.T, env []string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env, cmd.Stdin = append(os.Environ(), env...), bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// stripScores turns R087 into R.
func stripScores(records string) string {
	fields := strings.Split(records, "\x00")
	for i, f := range fields {
		if len(f) == 4 && f[0] == 'R' && strings.Trim(f[1:], "0123456789") == "" {
			fields[i] = "R"
		}
	}
	return strings.Join(fields, "\x00")
}
