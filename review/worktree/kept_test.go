package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/reviewtest"
	"aibox/workspace"
)

func TestGitLFSFilesReachTheWorkingTreeAndItsCommits(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"old.bin": "\x00old", "gone.bin": "\x00gone", "same.bin": "\x00same"}).Prepare()
	b.Write("old.bin", "\x00changed")
	b.Write("deep/new.bin", "\x00new")
	reviewtest.Must(t, os.Remove(b.Path("gone.bin")))
	mustPlace(b)
	b.Holds("old.bin", "\x00changed")
	b.Holds("deep/new.bin", "\x00new")
	if status := reviewtest.GitIn(t, b.Repo, "status", "--porcelain", "-uall"); status != " D gone.bin\n M old.bin\n?? deep/new.bin" {
		t.Errorf("git prints\n%s", status)
	}
	b.Commit(nil)
	reviewtest.GitIn(t, b.Repo, "lfs", "fsck")
	b.Nowhere("\x00changed")
	b.Nowhere("\x00new")
	if paths := mustPlace(b); len(paths) != 0 {
		t.Errorf("again it places %q", paths)
	}
}

// kept are the ways in which git stores something other than a file's bytes.
var kept = map[string]struct{ attributes, was, now string }{
	"filter":   {"kept/** filter=crypt\n", "letters\n", "other letters\n"},
	"ident":    {"kept/** ident\n", "$Id: 0123 $\none\n", "$Id: 0123 $\ntwo\n"},
	"encoding": {"kept/** working-tree-encoding=UTF-16LE\n", "o\x00n\x00e\x00\n\x00", "t\x00w\x00o\x00\n\x00"},
}

func TestConvertedFilesReachTheWorkingTreeUnchanged(t *testing.T) {
	for name, c := range kept {
		for _, from := range []string{"the files", "a commit"} {
			t.Run(name+" from "+from, func(t *testing.T) {
				b := reviewtest.NewRepository(t, map[string]string{".gitattributes": c.attributes}).UseCrypt()
				files := map[string]string{"kept/mode": "mode" + c.was, "kept/old": c.was}
				if name == "encoding" {
					files["kept/mode"] = c.was
				}
				files["kept/gone"], files["kept/moved"] = c.was+c.was, c.was+c.was+c.was
				b.Commit(files)
				if from == "a commit" && name == "encoding" {
					b.Prepare(func(req *workspace.Request) { req.Clean = true })
					b.Write("kept/old", "stored\n")
					b.Write("kept/new", "stored, too\n")
					clashes(b, "kept/new: take the branch", "kept/old: take the branch")
					accepted := b.Take(b.Compute(), review.Choice{All: true}, nil)
					reviewtest.GitIn(t, b.Repo, "checkout", "-q", accepted.Branch)
					b.Holds("kept/old", strings.Join(strings.Split("stored\n", ""), "\x00")+"\x00")
					return
				}
				b.Prepare(func(req *workspace.Request) { req.Clean = from == "a commit" })
				b.Write("kept/old", c.now)
				b.Write("kept/new", c.now)
				reviewtest.Must(t, os.Chmod(b.Path("kept/mode"), 0o755))
				reviewtest.Must(t, os.Remove(b.Path("kept/gone")))
				reviewtest.Must(t, os.Rename(b.Path("kept/moved"), b.Path("kept/there")))
				cs := b.Compute()
				mustPlace(b)
				b.Holds("kept/old", c.now)
				b.Holds("kept/new", c.now)
				b.Holds("kept/mode", files["kept/mode"])
				b.Holds("kept/there", files["kept/moved"])
				reviewtest.GitIn(t, b.Repo, "add", "-A")
				got := reviewtest.GitIn(t, b.Repo, "ls-tree", "-r", reviewtest.GitIn(t, b.Repo, "write-tree"))
				if branch := b.Take(cs, review.Choice{All: true}, nil).Branch; got != reviewtest.GitIn(t, b.Repo, "ls-tree", "-r", branch) {
					t.Errorf("a commit of it has\n%s\nbut the branch\n%s", got, reviewtest.GitIn(t, b.Repo, "ls-tree", "-r", branch))
				}
			})
		}
	}
}

func TestUserChangesToConvertedFilesAreKeptAndTheHintWorks(t *testing.T) {
	for name, c := range kept {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": c.attributes}).UseCrypt()
			b.Commit(map[string]string{"kept/old": c.was, "kept/gone": c.was}).Prepare()
			b.Write("kept/old", c.now)
			reviewtest.Must(t, os.Remove(b.Path("kept/gone")))
			b.User("kept/old", c.was+c.was)
			b.User("kept/gone", c.was+c.was)
			clashes(b, "kept/gone: you changed it", "kept/old: cannot be merged")
			reviewtest.GitIn(t, b.Repo, "checkout", "-q", "kept/gone")
			_, err := place(b)
			hints := strings.Join(fault.Hints(err), "\n")
			if !strings.Contains(hints, "git stash push -- kept/old") || strings.Contains(hints, "branch") {
				t.Errorf("the advice is %q", hints)
			}
			reviewtest.GitIn(t, b.Repo, "stash", "push", "-q", "--", "kept/old")
			mustPlace(b)
			b.Holds("kept/old", c.now)
		})
	}
}

// TestADeliveryToTheWorkingTreeRunsNoFilter has files that git would have to read, because they are as
// old as the index.
func TestADeliveryToTheWorkingTreeRunsNoFilter(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "kept/** filter=crypt\n"}).UseCrypt()
	b.Commit(map[string]string{"kept/old": "letters\n", "kept/gone": "more letters\n", "kept/mine": "of mine\n"})
	b.Prepare(func(req *workspace.Request) { req.Clean = true })
	log := filepath.Join(t.TempDir(), "log")
	clean := reviewtest.GitIn(t, b.Repo, "config", "filter.crypt.clean")
	reviewtest.GitIn(t, b.Repo, "config", "filter.crypt.clean", "echo %f >> "+log+"; "+clean)
	for _, name := range []string{"kept/old", "kept/gone", "kept/mine"} {
		reviewtest.Must(t, os.Remove(b.InRepo(name)))
	}
	reviewtest.GitIn(t, b.Repo, "checkout", "-q", "--", "kept")
	before := time.Now().Add(-time.Hour) // an index that is older than its files
	reviewtest.Must(t, os.Chtimes(b.InRepo(".git/index"), before, before))
	reviewtest.GitIn(t, b.Repo, "diff-files", "--name-only")
	if _, err := os.Stat(log); err != nil {
		t.Fatal("git does not read the files:", err)
	}
	reviewtest.Must(t, os.Remove(log))
	b.Write("kept/old", "of the agent\n")
	b.Write("kept/mine", "of the agent\n")
	reviewtest.Must(t, os.Remove(b.Path("kept/gone")))
	b.User("kept/mine", "OF MINE\n")
	clashes(b, "kept/mine: cannot be merged")
	reviewtest.GitIn(t, b.Repo, "checkout", "-q", "--", "kept/mine")
	reviewtest.Must(t, os.RemoveAll(log))
	mustPlace(b)
	b.Holds("kept/old", "of the agent\n")
	b.Holds("kept/mine", "of the agent\n")
	if ran, err := os.ReadFile(log); err == nil {
		t.Errorf("the filter ran for %q", ran)
	}
}

// TestUserChangesThatGitIgnoresAreKept has the user tell git to assume that the files are unchanged, so
// that git reports no change of them.
func TestUserChangesThatGitIgnoresAreKept(t *testing.T) {
	for name, c := range kept {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{".gitattributes": c.attributes}).UseCrypt()
			b.Commit(map[string]string{"kept/old": c.was, "kept/gone": c.was, "kept/same": c.was})
			reviewtest.GitIn(t, b.Repo, "update-index", "--assume-unchanged", "kept/old", "kept/gone", "kept/same")
			b.Prepare()
			b.Write("kept/old", c.now)
			b.Write("kept/same", c.now)
			reviewtest.Must(t, os.Remove(b.Path("kept/gone")))
			b.User("kept/old", c.was+c.was)
			b.User("kept/gone", c.was+c.was)
			clashes(b, "kept/gone: you changed it", "kept/old: cannot be merged")
		})
	}
}
