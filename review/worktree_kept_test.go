package review_test

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

func TestFilesOfGitLFSReachTheWorkingTreeAndThenAnyCommit(t *testing.T) {
	b := newRepository(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}).useLFS()
	b.commit(map[string]string{"old.bin": "\x00old", "gone.bin": "\x00gone", "same.bin": "\x00same"}).prepare()
	b.write("old.bin", "\x00changed")
	b.write("deep/new.bin", "\x00new")
	must(t, os.Remove(b.path("gone.bin")))
	mustPlace(b)
	b.holds("old.bin", "\x00changed")
	b.holds("deep/new.bin", "\x00new")
	if status := gitIn(t, b.repo, "status", "--porcelain", "-uall"); status != " D gone.bin\n M old.bin\n?? deep/new.bin" {
		t.Errorf("git says\n%s", status)
	}
	b.commit(nil)
	gitIn(t, b.repo, "lfs", "fsck")
	b.nowhere("\x00changed")
	b.nowhere("\x00new")
	if paths := mustPlace(b); len(paths) != 0 {
		t.Errorf("again it places %q", paths)
	}
}

// kept are the ways in which git stores something else than a file's bytes.
var kept = map[string]struct{ attributes, was, now string }{
	"filter":   {"kept/** filter=crypt\n", "letters\n", "other letters\n"},
	"ident":    {"kept/** ident\n", "$Id: 0123 $\none\n", "$Id: 0123 $\ntwo\n"},
	"encoding": {"kept/** working-tree-encoding=UTF-16LE\n", "o\x00n\x00e\x00\n\x00", "t\x00w\x00o\x00\n\x00"},
}

func TestWhatGitDoesNotStoreAsItIsReachesTheWorkingTreeAsTheAgentHadIt(t *testing.T) {
	for name, c := range kept {
		for _, from := range []string{"the files", "a commit"} {
			t.Run(name+" from "+from, func(t *testing.T) {
				b := newRepository(t, map[string]string{".gitattributes": c.attributes}).useCrypt()
				files := map[string]string{"kept/mode": "mode" + c.was, "kept/old": c.was}
				if name == "encoding" {
					files["kept/mode"] = c.was
				}
				files["kept/gone"], files["kept/moved"] = c.was+c.was, c.was+c.was+c.was
				b.commit(files)
				if from == "a commit" && name == "encoding" {
					b.prepare(func(req *workspace.Request) { req.Clean = true })
					b.write("kept/old", "stored\n")
					b.write("kept/new", "stored, too\n")
					clashes(b, "kept/new: take the branch", "kept/old: take the branch")
					accepted := b.take(b.compute(), review.Choice{All: true}, nil)
					gitIn(t, b.repo, "checkout", "-q", accepted.Branch)
					b.holds("kept/old", strings.Join(strings.Split("stored\n", ""), "\x00")+"\x00")
					return
				}
				b.prepare(func(req *workspace.Request) { req.Clean = from == "a commit" })
				b.write("kept/old", c.now)
				b.write("kept/new", c.now)
				must(t, os.Chmod(b.path("kept/mode"), 0o755))
				must(t, os.Remove(b.path("kept/gone")))
				must(t, os.Rename(b.path("kept/moved"), b.path("kept/there")))
				cs := b.compute()
				mustPlace(b)
				b.holds("kept/old", c.now)
				b.holds("kept/new", c.now)
				b.holds("kept/mode", files["kept/mode"])
				b.holds("kept/there", files["kept/moved"])
				gitIn(t, b.repo, "add", "-A")
				got := gitIn(t, b.repo, "ls-tree", "-r", gitIn(t, b.repo, "write-tree"))
				if branch := b.take(cs, review.Choice{All: true}, nil).Branch; got != gitIn(t, b.repo, "ls-tree", "-r", branch) {
					t.Errorf("a commit of it has\n%s\nbut the branch\n%s", got, gitIn(t, b.repo, "ls-tree", "-r", branch))
				}
			})
		}
	}
}

func TestAChangeOfTheUsersInWhatGitDoesNotStoreAsItIsStaysAndTheAdviceHelps(t *testing.T) {
	for name, c := range kept {
		t.Run(name, func(t *testing.T) {
			b := newRepository(t, map[string]string{".gitattributes": c.attributes}).useCrypt()
			b.commit(map[string]string{"kept/old": c.was, "kept/gone": c.was}).prepare()
			b.write("kept/old", c.now)
			must(t, os.Remove(b.path("kept/gone")))
			b.user("kept/old", c.was+c.was)
			b.user("kept/gone", c.was+c.was)
			clashes(b, "kept/gone: you changed it", "kept/old: cannot be merged")
			gitIn(t, b.repo, "checkout", "-q", "kept/gone")
			_, err := place(b)
			hints := strings.Join(fault.Hints(err), "\n")
			if !strings.Contains(hints, "git stash push -- kept/old") || strings.Contains(hints, "branch") {
				t.Errorf("the advice is %q", hints)
			}
			gitIn(t, b.repo, "stash", "push", "-q", "--", "kept/old")
			mustPlace(b)
			b.holds("kept/old", c.now)
		})
	}
}
