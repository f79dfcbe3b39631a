package review_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/review"
	"aibox/test/hostile"
)

// everything chooses all of cs, what is risky included.
func everything(cs *review.ChangeSet) review.Choice {
	choice := review.Choice{All: true}
	for _, c := range cs.Changes {
		choice.Risky = append(choice.Risky, c.Path.Raw())
	}
	return choice
}

// review goes the whole way of a person who looks and accepts, and returns all
// that was printed.
func reviewAll(b *bench) string {
	t := b.t
	t.Helper()
	var out bytes.Buffer
	cs := b.compute()
	must(t, review.Assess(t.Context(), b.ws, cs))
	must(t, cs.Patch(t.Context(), &out))
	must(t, cs.Show(t.Context(), &out, review.ShowOptions{Color: true}))
	must(t, cs.Stat(&out, 0))
	must(t, cs.NameStatus(t.Context(), &out))
	must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
		for _, hunk := range f.Hunks {
			fmt.Fprintf(&out, "%s %s %v\n", hunk.ID, hunk.Path, hunk.Lines)
		}
		return nil
	}))
	fmt.Fprintln(&out, cs.Refused, cs.Ignored, cs.Notes)
	b.appliesTo(cs)
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: everything(cs)})
	must(t, err)
	out.WriteString(gitIn(t, b.repo, "log", "-p", accepted.Branch))
	_, err = review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: everything(cs), Target: review.ToWorktree})
	must(t, err)
	out.WriteString(gitIn(t, b.repo, "status"))
	return out.String()
}

// TestNothingHostileRunsLeaksOrHidesInReview takes each attack through review,
// accept, discard and recovery; then it shows that the trap was set: plain git
// falls for it in the same workspace.
func TestNothingHostileRunsLeaksOrHidesInReview(t *testing.T) {
	for _, attack := range hostile.Attacks() {
		t.Run(attack.Name, func(t *testing.T) {
			t.Parallel()
			b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
			canary := filepath.Join(t.TempDir(), "canary")
			must(t, attack.Plant(b.ws.Path, canary))
			must(t, os.RemoveAll(canary)) // planting runs git, as the agent would
			b.write("work.txt", "the agent's work\n")
			if out := reviewAll(b); attack.Worked(out, canary) {
				t.Errorf("it worked:\n%s", out)
			}

			known, err := attack.Known()
			must(t, err)
			falls, err := attack.Falls(b.ws.Path, canary)
			must(t, err)
			if falls != known {
				t.Errorf("plain git falls for it: %t; this version is known to: %t", falls, known)
			}

			must(t, os.RemoveAll(canary))
			saved, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
			must(t, err)
			restored, err := review.Restore(t.Context(), *saved, "")
			must(t, err)
			out := gitIn(t, b.repo, "log", "-p", restored.Branch)
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
			b := newRepository(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"}).prepare()
			outside := filepath.Join(filepath.Dir(b.ws.Path), "outside")
			write(t, outside+"/a.txt", hostile.Secret+"\n")
			must(t, tree.Make(b.ws.Path, outside))
			cs, err := review.Compute(t.Context(), b.ws, review.Options{MaxFiles: tree.Most})
			must(t, err)
			checkTree(t, cs, &tree)
			must(t, review.Assess(t.Context(), b.ws, cs))
			if !cs.Empty() {
				accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: everything(cs)})
				must(t, err)
				if got := gitIn(t, b.repo, "rev-parse", accepted.Branch+"^{tree}"); got != cs.Tree {
					t.Errorf("the branch holds the tree %s, want %s", got, cs.Tree)
				}
				b.appliesTo(cs)
			}
			var out bytes.Buffer
			must(t, cs.Patch(t.Context(), &out))
			if strings.Contains(out.String(), hostile.Secret) {
				t.Error("a file from outside is in the patch")
			}
			_, err = review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{MaxFiles: tree.Most})
			must(t, err)
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
