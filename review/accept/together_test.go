package accept_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
)

// replacements are ways to replace files of the user with something that a plain accept
// leaves out.
var replacements = map[string]struct {
	work func(b *reviewtest.Fixture)
	kept []string // the user's files that must stay
	left []string // the paths that are listed as left out
	name string   // the paths for --accept-risky that take the replacement; empty if it cannot be taken
}{
	"a folder by a symlink that leads out": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("lib")))
			reviewtest.Must(b.T, os.Symlink("../../elsewhere", b.Path("lib")))
		},
		kept: []string{"lib/one.txt", "lib/deep/two.txt"}, left: []string{"lib", "lib/deep/two.txt", "lib/one.txt"}, name: "lib",
	},
	"a file by a symlink that leads out": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Remove(b.Path("plain.txt")))
			reviewtest.Must(b.T, os.Symlink("../../elsewhere", b.Path("plain.txt")))
		},
		kept: []string{"plain.txt"}, left: []string{"plain.txt"}, name: "plain.txt",
	},
	"a file by a folder with risky files only": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Remove(b.Path("plain.txt")))
			b.Write("plain.txt/deep/.envrc", "evil\n")
		},
		kept: []string{"plain.txt"}, left: []string{"plain.txt", "plain.txt/deep/.envrc"}, name: "plain.txt/deep/.envrc",
	},
	"a file by a folder with a FIFO only": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Remove(b.Path("plain.txt")))
			reviewtest.Must(b.T, os.Mkdir(b.Path("plain.txt"), 0o755))
			reviewtest.Must(b.T, unix.Mkfifo(b.Path("plain.txt/pipe"), 0o644))
		},
		kept: []string{"plain.txt"}, left: []string{"plain.txt"},
	},
	"a folder by a symlink that leads out, and a file by what was in it": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Remove(b.Path("plain.txt")))
			reviewtest.Must(b.T, os.Mkdir(b.Path("plain.txt"), 0o755))
			reviewtest.Must(b.T, os.Rename(b.Path("lib/one.txt"), b.Path("plain.txt/one.txt")))
			reviewtest.Must(b.T, os.RemoveAll(b.Path("lib")))
			reviewtest.Must(b.T, os.Symlink("../../elsewhere", b.Path("lib")))
		},
		kept: []string{"plain.txt", "lib/one.txt", "lib/deep/two.txt"}, left: []string{"lib", "lib/deep/two.txt", "plain.txt", "plain.txt/one.txt"}, name: "lib",
	},
	"a folder by a FIFO": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("lib")))
			reviewtest.Must(b.T, unix.Mkfifo(b.Path("lib"), 0o644))
		},
		kept: []string{"lib/one.txt", "lib/deep/two.txt"}, left: []string{"lib/deep/two.txt", "lib/one.txt"},
	},
	"a renamed folder, and a symlink that leads out in its place": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Rename(b.Path("lib"), b.Path("moved")))
			reviewtest.Must(b.T, os.Symlink("../../elsewhere", b.Path("lib")))
		},
		kept: []string{"lib/one.txt", "lib/deep/two.txt"}, left: []string{"lib", "moved/deep/two.txt", "moved/one.txt"}, name: "lib",
	},
	"a renamed file whose new name is risky, and a folder in its place": {
		work: func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Rename(b.Path("plain.txt"), b.Path(".envrc")))
			b.Write("plain.txt/readme", "comes with it\n")
		},
		kept: []string{"plain.txt"}, left: []string{".envrc", "plain.txt/readme"}, name: ".envrc",
	},
}

// A removed file and its replacement are delivered only together. Otherwise the user would
// lose a file that the review shows as replaced.
func TestAFileIsKeptWhenItsReplacementIsLeftOut(t *testing.T) {
	for name, c := range replacements {
		for _, target := range []accept.Target{accept.ToBranch, accept.ToWorktree} {
			t.Run(fmt.Sprintf("%s, to a %s", name, target), func(t *testing.T) {
				b := reviewtest.NewRepository(t, map[string]string{
					"plain.txt": "a\nb\nc\n", "lib/one.txt": "1\n2\n3\n", "lib/deep/two.txt": "4\n5\n6\n", "other.txt": "x\n",
				}).Prepare()
				c.work(b)
				b.Write("other.txt", "changed\n")
				cs := b.Assess()
				accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Target: target, Choice: review.Choice{All: true}})
				reviewtest.Must(t, err)
				var left []string
				for _, l := range accepted.Left {
					left = append(left, l.Path.Raw())
				}
				slices.Sort(left)
				if !slices.Equal(left, c.left) {
					t.Errorf("left out is %q, want %q", left, c.left)
				}
				tree := accepted.Tree
				if got := reviewtest.GitIn(t, b.Workspace.GitDir, "show", tree+":other.txt"); got != "changed" {
					t.Errorf("what has no risk is delivered as %q", got)
				}
				for _, path := range c.kept {
					if want := reviewtest.GitIn(t, b.Workspace.GitDir, "rev-parse", cs.BaseTree+":"+path); !strings.HasSuffix(reviewtest.GitIn(t, b.Workspace.GitDir, "ls-tree", tree, path), want+"\t"+path) {
						t.Errorf("%s is not in the tree that is delivered", path)
					}
					if target == accept.ToWorktree && !regular(filepath.Join(b.Repo, path)) {
						t.Errorf("%s is gone from the user's files", path)
					}
				}
				if c.name == "" {
					return
				}
				all, err := cs.Select(t.Context(), review.Choice{All: true, Risky: []string{c.name}})
				reviewtest.Must(t, err)
				if got, err := cs.TreeOf(t.Context(), all); err != nil || got != cs.Tree {
					t.Errorf("with the risk accepted the tree is %s (%v), want %s", got, err, cs.Tree)
				}
			})
		}
	}
}

func regular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// A deletion that is named is taken, whatever replaces the file.
func TestADeletionIsAcceptedWithoutItsReplacement(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"lib/one.txt": "1\n"}).Prepare()
	reviewtest.Must(t, os.RemoveAll(b.Path("lib")))
	reviewtest.Must(t, os.Symlink("../../elsewhere", b.Path("lib")))
	cs := b.Assess()
	for _, choice := range []review.Choice{{Files: []string{"lib/one.txt"}}, {All: true, Risky: []string{"lib/one.txt"}}} {
		s, err := cs.Select(t.Context(), choice)
		reviewtest.Must(t, err)
		if len(s.Taken) != 1 || s.Taken[0].Path.Raw() != "lib/one.txt" {
			t.Errorf("%+v takes %v", choice, s.Taken)
		}
	}
	s, err := cs.Select(t.Context(), review.Choice{Files: []string{"lib"}, Risky: []string{"lib"}})
	reviewtest.Must(t, err)
	if _, err := cs.TreeOf(t.Context(), s); fault.KindOf(err) != fault.Conflict {
		t.Errorf("the symlink without the deletion: %v", err)
	}
}
