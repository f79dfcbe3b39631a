package review_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/test/hostile"
)

// everything chooses all of cs, including risky changes.
func everything(cs *review.ChangeSet) review.Choice {
	choice := review.Choice{All: true}
	for _, c := range cs.Changes {
		choice.Risky = append(choice.Risky, c.Path.Raw())
	}
	return choice
}

// review does everything that a user does to review and accept, and returns all output.
func reviewAll(b *reviewtest.Fixture) string {
	t := b.T
	t.Helper()
	var out bytes.Buffer
	cs := b.Compute()
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, cs))
	reviewtest.Must(t, printer.Patch(t.Context(), cs, &out))
	reviewtest.Must(t, printer.Diff(t.Context(), cs, &out, printer.DiffOptions{Color: true}))
	reviewtest.Must(t, printer.Stat(cs, &out, 0))
	reviewtest.Must(t, printer.NameStatus(t.Context(), cs, &out))
	reviewtest.Must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
		for _, hunk := range f.Hunks {
			fmt.Fprintf(&out, "%s %s %v\n", hunk.ID, hunk.Path, hunk.Lines)
		}
		return nil
	}))
	fmt.Fprintln(&out, cs.Refused, cs.Ignored, cs.Notes)
	b.AppliesTo(cs)
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: everything(cs)})
	reviewtest.Must(t, err)
	out.WriteString(reviewtest.GitIn(t, b.Repo, "log", "-p", accepted.Branch))
	_, err = accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: everything(cs), Target: accept.ToWorktree})
	reviewtest.Must(t, err)
	out.WriteString(reviewtest.GitIn(t, b.Repo, "status"))
	return out.String()
}

// TestHostileWorkspacesCannotRunLeakOrHideAnything takes each attack through review,
// accept, discard and recovery; then it shows that the trap was set: plain git
// falls for it in the same workspace.
func TestHostileWorkspacesCannotRunLeakOrHideAnything(t *testing.T) {
	for _, attack := range hostile.Attacks() {
		t.Run(attack.Name, func(t *testing.T) {
			t.Parallel()
			b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
			canary := filepath.Join(t.TempDir(), "canary")
			reviewtest.Must(t, attack.Plant(b.Workspace.Path, canary))
			reviewtest.Must(t, os.RemoveAll(canary)) // planting runs git, as the agent would
			b.Write("work.txt", "the agent's work\n")
			if out := reviewAll(b); attack.Worked(out, canary) {
				t.Errorf("it worked:\n%s", out)
			}

			known, err := attack.Known()
			reviewtest.Must(t, err)
			falls, err := attack.Falls(b.Workspace.Path, canary)
			reviewtest.Must(t, err)
			if falls != known {
				t.Errorf("plain git falls for it: %t; this version is known to: %t", falls, known)
			}

			reviewtest.Must(t, os.RemoveAll(canary))
			saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
			reviewtest.Must(t, err)
			restored, err := accept.Restore(t.Context(), *saved, "")
			reviewtest.Must(t, err)
			out := reviewtest.GitIn(t, b.Repo, "log", "-p", restored.Branch)
			if attack.Effect != hostile.Hides && attack.Worked(out, canary) {
				t.Errorf("it worked when the work was discarded and brought back:\n%s", out)
			}
		})
	}
}

// TestEveryHostileTreeIsRefusedOrNoted goes through names, kinds and sizes.
func TestEveryHostileTreeIsRefusedOrNoted(t *testing.T) {
	for _, tree := range hostile.Trees() {
		t.Run(tree.Name, func(t *testing.T) {
			t.Parallel()
			b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"}).Prepare()
			outside := filepath.Join(filepath.Dir(b.Workspace.Path), "outside")
			reviewtest.Write(t, outside+"/a.txt", hostile.Secret+"\n")
			reviewtest.Must(t, tree.Make(b.Workspace.Path, outside))
			cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{MaxFiles: tree.Most})
			reviewtest.Must(t, err)
			checkTree(t, cs, &tree)
			reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, cs))
			if !cs.Empty() {
				accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: everything(cs)})
				reviewtest.Must(t, err)
				if got := reviewtest.GitIn(t, b.Repo, "rev-parse", accepted.Branch+"^{tree}"); got != cs.Tree {
					t.Errorf("the branch holds the tree %s, want %s", got, cs.Tree)
				}
				b.AppliesTo(cs)
			}
			var out bytes.Buffer
			reviewtest.Must(t, printer.Patch(t.Context(), cs, &out))
			if strings.Contains(out.String(), hostile.Secret) {
				t.Error("a file from outside is in the patch")
			}
			_, err = recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{MaxFiles: tree.Most})
			reviewtest.Must(t, err)
			if secret, err := os.ReadFile(outside + "/a.txt"); err != nil || string(secret) != hostile.Secret+"\n" {
				t.Errorf("the file outside holds %q now: %v", secret, err)
			}
		})
	}
}

func checkTree(t *testing.T, cs *review.ChangeSet, tree *hostile.Tree) {
	t.Helper()
	refused := map[string]string{}
	for _, r := range cs.Refused {
		refused[r.Path.Raw()] = r.Reason
	}
	for path, words := range tree.Refused {
		if !strings.Contains(refused[path], words) {
			t.Errorf("%q is refused with %q, want %q; all: %v", path, refused[path], words, cs.Refused)
		}
	}
	if len(refused) != len(tree.Refused) {
		t.Errorf("refused: %v", cs.Refused)
	}
	if tree.Whole != "" {
		if !strings.Contains(strings.Join(cs.Notes, "\n"), tree.Whole) {
			t.Errorf("notes: %v", cs.Notes)
		}
		if tree.Most > 0 && len(cs.Changes) != tree.Most {
			t.Errorf("%d changes, want %d", len(cs.Changes), tree.Most)
		}
		return
	}
	for _, c := range cs.Changes {
		words, expected := tree.Taken[c.Path.Raw()]
		for _, gone := range tree.Gone {
			expected = expected || c.Kind == review.Deleted && c.Path.Raw() == gone
		}
		switch notes := strings.Join(c.Notes, "\n"); {
		case !expected:
			t.Errorf("%s of %s was not expected", c.Kind, c.Path)
		case words == "" && notes != "", !strings.Contains(notes, words):
			t.Errorf("%s has the notes %q, want %q", c.Path, notes, words)
		}
	}
	if len(cs.Changes) != len(tree.Taken)+len(tree.Gone) {
		t.Errorf("%d changes: %v", len(cs.Changes), cs.Changes)
	}
}
