package review_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// TestTheChangeSetMatchesGit makes random edits in a workspace that is not hostile, so that
// git itself can be used: the tree, the list of names and the patch must agree with it, and
// accepting must give the agent's tree.
func TestTheChangeSetMatchesGit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		root, err := os.MkdirTemp("", "aibox-property-*")
		reviewtest.Must(t, err)
		defer os.RemoveAll(root)
		repo := filepath.Join(root, "project")
		reviewtest.Must(t, os.Mkdir(repo, 0o755))
		reviewtest.GitIn(t, repo, "init", "-q", "-b", "main")
		for range rapid.IntRange(0, 12).Draw(r, "files") {
			reviewtest.Edit(r, repo)
		}
		reviewtest.GitIn(t, repo, "add", "-A")
		reviewtest.GitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "start")
		for range rapid.IntRange(0, 3).Draw(r, "uncommitted") {
			reviewtest.Edit(r, repo)
		}
		ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "p", Dirs: reviewtest.DirsIn(root)})
		reviewtest.Must(t, err)
		for range rapid.IntRange(0, 12).Draw(r, "edits") {
			reviewtest.Edit(r, ws.Path)
		}
		cs, err := scan.Workspace(t.Context(), ws, scan.Options{})
		reviewtest.Must(t, err)
		if len(cs.Refused) > 0 {
			r.Fatalf("refused: %v", cs.Refused)
		}

		// Git's result for the same files.
		index := []string{"GIT_DIR=" + ws.GitDir, "GIT_WORK_TREE=" + ws.Path, "GIT_INDEX_FILE=" + root + "/index"}
		reviewtest.GitWith(t, index, nil, "add", "-A")
		if tree := reviewtest.GitWith(t, index, nil, "write-tree"); tree != cs.Tree {
			r.Fatalf("tree %s, git says %s", cs.Tree, tree)
		}
		reviewtest.GitWith(t, index, nil, "read-tree", cs.BaseTree)
		var patch bytes.Buffer
		reviewtest.Must(t, printer.Patch(t.Context(), cs, &patch))
		if patch.Len() > 0 {
			reviewtest.GitWith(t, index, patch.Bytes(), "apply", "--cached", "--whitespace=nowarn", "-")
		}
		if tree := reviewtest.GitWith(t, index, nil, "write-tree"); tree != cs.Tree {
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
		want := reviewtest.GitWith(t, index, nil, "diff", "--name-status", "-z", cs.BaseTree, cs.Tree)
		if got := names.String(); got != reviewtest.StripScores(want) {
			r.Fatalf("names %q, git says %q", got, want)
		}
		accepted, err := accept.Run(t.Context(), ws, cs, accept.Options{Choice: review.Choice{All: true}})
		if cs.Empty() {
			return
		}
		reviewtest.Must(t, err)
		if tree := reviewtest.GitIn(t, repo, "rev-parse", accepted.Commit+"^{tree}"); tree != cs.Tree {
			r.Fatalf("accepted %s, want %s", tree, cs.Tree)
		}
	})
}
