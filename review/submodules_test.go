package review_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

// withSubmodules is a repository with the submodule lib, which has the submodule deep,
// both checked out.
func withSubmodules(t *testing.T) *bench {
	t.Helper()
	allow := []string{"-c", "protocol.file.allow=always"}
	deep := newRepository(t, map[string]string{"deep.txt": "deep\n"})
	lib := newRepository(t, map[string]string{"lib.txt": "one\ntwo\nthree\n", "other.txt": "other\n"})
	gitIn(t, lib.repo, append(allow, "submodule", "--quiet", "add", deep.repo, "deep")...)
	gitIn(t, lib.repo, "commit", "-q", "-m", "deep")
	b := newRepository(t, map[string]string{"a.txt": "a\n"})
	gitIn(t, b.repo, append(allow, "submodule", "--quiet", "add", lib.repo, "lib")...)
	gitIn(t, b.repo, append(allow, "submodule", "--quiet", "update", "--init", "--recursive")...)
	gitIn(t, b.repo, "commit", "-q", "-m", "lib")
	return b
}

func TestUntouchedSubmodulesAreNoChange(t *testing.T) {
	b := withSubmodules(t)
	write(t, b.repo+"/lib/lib.txt", "uncommitted\n")
	b.prepare()
	cs := b.compute()
	b.want(cs)
	if len(cs.Refused)+len(cs.Notes) != 0 {
		t.Errorf("refused %v, notes %v", cs.Refused, cs.Notes)
	}
}

func accept(t *testing.T, b *bench, cs *review.ChangeSet, choice review.Choice, before *review.Before) (*review.Accepted, *review.Before) {
	t.Helper()
	a, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: choice, Before: before})
	must(t, err)
	return a, &review.Before{
		Selection: a.Selection, Tree: a.Tree, Branch: a.Branch, Commit: a.Commit, CommitTree: a.CommitTree, Modules: a.Modules,
	}
}

func TestChangesInASubmoduleBecomeABranchThere(t *testing.T) {
	b := withSubmodules(t)
	write(t, b.repo+"/lib/lib.txt", "one\ntwo\nmine\n")
	b.prepare()
	b.write("a.txt", "agent\n")
	b.write("lib/lib.txt", "agent\ntwo\nmine\n")
	b.write("lib/deep/new.txt", "agent\n")
	cs := b.compute()
	b.want(cs, "M\ta.txt", "A\tlib/deep/new.txt", "M\tlib/lib.txt")
	statusBefore := gitIn(t, b.repo, "status", "--porcelain")
	a, _ := accept(t, b, cs, review.Choice{All: true}, nil)

	lib, deep := b.repo+"/lib", b.repo+"/lib/deep"
	branch := "aibox/" + b.ws.Session
	if got := gitIn(t, deep, "log", "--format=%s", "--name-status", branch, "^HEAD"); !strings.Contains(got, "A\tnew.txt") {
		t.Errorf("deep has %q", got)
	}
	libTip, deepTip := gitIn(t, lib, "rev-parse", branch), gitIn(t, deep, "rev-parse", branch)
	if got := gitIn(t, lib, "diff", "--name-status", branch+"~1", branch); got != "M\tdeep\nM\tlib.txt" {
		t.Errorf("the agent's commit in lib changes %q", got)
	}
	if got := gitIn(t, lib, "diff", "--name-status", branch+"~2", branch+"~1"); got != "M\tlib.txt" || gitIn(t, lib, "rev-parse", branch+"~2") != gitIn(t, lib, "rev-parse", "HEAD") {
		t.Errorf("below it is %q", got)
	}
	if got := gitIn(t, lib, "rev-parse", branch+":deep"); got != deepTip {
		t.Errorf("lib records %s of deep, whose branch is at %s", got, deepTip)
	}
	if got := gitIn(t, b.repo, "diff", "--name-status", "--ignore-submodules=none", branch+"~1", branch); got != "M\ta.txt\nM\tlib" {
		t.Errorf("the agent's commit changes %q", got)
	}
	if got := gitIn(t, b.repo, "rev-parse", branch+":lib"); got != libTip {
		t.Errorf("the branch records %s of lib, whose branch is at %s", got, libTip)
	}
	if got := gitIn(t, b.repo, "ls-tree", "-r", "--name-only", branch); strings.Contains(got, "lib/") {
		t.Errorf("files of the submodule are in the repository around it: %q", got)
	}
	if got := gitIn(t, b.repo, "status", "--porcelain"); got != statusBefore {
		t.Errorf("status was %q, is %q", statusBefore, got)
	}
	if len(a.Modules) != 2 || a.Modules[0].Path != "lib" || a.Modules[0].Commit != libTip || a.Modules[0].Uncommitted == "" || a.Modules[1].Commit != deepTip {
		t.Errorf("told of %+v", a.Modules)
	}
	// What git itself does with the branch.
	gitIn(t, lib, "checkout", "-q", "--", ".")
	gitIn(t, b.repo, "switch", "-q", branch)
	gitIn(t, b.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--recursive")
	if data, err := os.ReadFile(lib + "/lib.txt"); err != nil || string(data) != "agent\ntwo\nmine\n" {
		t.Errorf("after git submodule update lib.txt is %q %v", data, err)
	}
}

func TestAcceptingASubmoduleBitByBitGivesTheSame(t *testing.T) {
	b := withSubmodules(t).prepare()
	b.write("a.txt", "agent\n")
	b.write("lib/lib.txt", "agent\ntwo\nthree\n")
	b.write("lib/other.txt", "agent\n")
	b.write("lib/deep/deep.txt", "agent\n")
	cs := b.compute()
	branch := "aibox/" + b.ws.Session
	var before *review.Before
	for i, path := range []string{"lib/lib.txt", "a.txt", "lib/deep/deep.txt", "lib/other.txt"} {
		var a *review.Accepted
		if a, before = accept(t, b, cs, review.Choice{Files: []string{path}}, before); a.Branch != branch {
			t.Errorf("accept %d went to %s", i, a.Branch)
		}
		for _, m := range a.Modules {
			if m.Branch != branch {
				t.Errorf("accept %d went to %s of %s", i, m.Branch, m.Path)
			}
		}
	}
	if got := gitIn(t, b.repo+"/lib", "rev-list", "--count", branch, "^HEAD"); got != "3" {
		t.Errorf("lib has %s commits", got)
	}
	if got := gitIn(t, b.repo, "rev-list", "--count", branch, "^HEAD"); got != "4" {
		t.Errorf("the repository has %s commits", got)
	}
	gitIn(t, b.repo, "switch", "-q", branch)
	gitIn(t, b.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--recursive")
	for _, path := range []string{"a.txt", "lib/lib.txt", "lib/other.txt", "lib/deep/deep.txt"} {
		want, err := os.ReadFile(b.path(path))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(b.repo, path)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

func TestAnAcceptThatFailsTakesTheBranchesOfSubmodulesBack(t *testing.T) {
	b := withSubmodules(t).prepare()
	b.write("lib/lib.txt", "agent\n")
	b.write("lib/deep/deep.txt", "agent\n")
	gitIn(t, b.repo, "branch", "taken")
	cs := b.compute()
	_, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, Branch: "taken"})
	if fault.KindOf(err) != fault.Conflict {
		t.Fatalf("error %v", err)
	}
	for _, repo := range []string{b.repo + "/lib", b.repo + "/lib/deep"} {
		if got := gitIn(t, repo, "for-each-ref", "refs/heads/taken"); got != "" {
			t.Errorf("%s keeps %s", repo, got)
		}
	}
	if got := gitIn(t, b.ws.GitDir, "for-each-ref", "refs/aibox/"+b.ws.Session+"/[0-9]*"); got != "" {
		t.Errorf("a saved state is left: %s", got)
	}
}

func TestDiscardedWorkInSubmodulesCanBeRestored(t *testing.T) {
	b := withSubmodules(t).prepare()
	b.write("lib/lib.txt", "agent\n")
	saved, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
	must(t, err)
	found, err := review.SavedIn(t.Context(), b.ws.GitDir)
	must(t, err)
	if len(found) != 1 || found[0].Files != 1 || found[0].Ref != saved.Ref {
		t.Fatalf("found %+v", found)
	}
	cs, err := found[0].Changes(t.Context())
	must(t, err)
	b.want(cs, "M\tlib/lib.txt")
	restored, err := review.Restore(t.Context(), found[0], "")
	must(t, err)
	if len(restored.Modules) != 1 {
		t.Fatalf("restored %+v", restored)
	}
	if got := gitIn(t, b.repo+"/lib", "show", restored.Modules[0].Branch+":lib.txt"); got != "agent" {
		t.Errorf("lib.txt is %q", got)
	}
	if got := gitIn(t, b.repo, "rev-parse", restored.Branch+":lib"); got != restored.Modules[0].Commit {
		t.Errorf("the branch records %s", got)
	}
	again, err := workspace.Rebuild(t.Context(), workspace.RebuildRequest{
		Of: b.ws, Tree: saved.Commit, Dirs: dirsIn(b.home), Made: func(*workspace.Workspace) error { return nil },
	})
	must(t, err)
	b.ws = again
	b.want(b.compute(), "M\tlib/lib.txt")
	if got := gitIn(t, again.Path, "status", "--porcelain"); got != " M lib/lib.txt" {
		t.Errorf("status %q", got)
	}
}

func TestWorkInASubmoduleGoesToTheWorkingTree(t *testing.T) {
	b := withSubmodules(t)
	gitIn(t, b.repo+"/lib", "config", "core.autocrlf", "true")
	write(t, b.repo+"/lib/lib.txt", "one\r\ntwo\r\nthree\r\n")
	b.prepare()
	b.write("lib/lib.txt", "agent\r\ntwo\r\nthree\r\n")
	b.write("lib/deep/new.txt", "agent\n")
	b.write("a.txt", "agent\n")
	write(t, b.repo+"/lib/lib.txt", "one\r\ntwo\r\nmine\r\n")
	cs := b.compute()
	a, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, Target: review.ToWorktree})
	must(t, err)
	if len(a.Paths) != 3 {
		t.Errorf("paths %v", a.Paths)
	}
	for path, want := range map[string]string{"lib/lib.txt": "agent\r\ntwo\r\nmine\r\n", "lib/deep/new.txt": "agent\n", "a.txt": "agent\n"} {
		if got, err := os.ReadFile(filepath.Join(b.repo, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if got := gitIn(t, b.repo+"/lib", "for-each-ref", "refs/heads/aibox"); got != "" {
		t.Errorf("lib has the branch %s", got)
	}
}

func TestAConflictInASubmoduleChangesNothing(t *testing.T) {
	b := withSubmodules(t).prepare()
	b.write("lib/lib.txt", "agent\ntwo\nthree\n")
	b.write("a.txt", "agent\n")
	write(t, b.repo+"/lib/lib.txt", "mine\ntwo\nthree\n")
	_, err := review.Accept(t.Context(), b.ws, b.compute(), review.AcceptOptions{Choice: review.Choice{All: true}, Target: review.ToWorktree})
	if clash, ok := errors.AsType[*review.WorktreeConflict](err); !ok || len(clash.Clashes) != 1 || clash.Clashes[0].Path != "lib/lib.txt" {
		t.Fatalf("error %v", err)
	}
	if got, _ := os.ReadFile(b.repo + "/a.txt"); string(got) != "a\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestWhatTakesTheSubmodulesPlaceIsRefused(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, b *bench){
		"a symlink": func(t *testing.T, b *bench) {
			must(t, os.RemoveAll(b.path("lib")))
			must(t, os.Symlink(b.repo, b.path("lib")))
		},
		"a file": func(t *testing.T, b *bench) {
			must(t, os.RemoveAll(b.path("lib")))
			b.write("lib", "x\n")
		},
		"a symlink for one inside": func(t *testing.T, b *bench) {
			must(t, os.RemoveAll(b.path("lib/deep")))
			must(t, os.Symlink("/etc", b.path("lib/deep")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := withSubmodules(t).prepare()
			change(t, b)
			cs := b.compute()
			b.want(cs)
			if len(cs.Refused) != 1 || !strings.Contains(cs.Refused[0].Reason, "stands where a submodule was") {
				t.Errorf("refused %v", cs.Refused)
			}
		})
	}
}

func TestARepositoryThatTheAgentMakesInASubmoduleIsNotOpened(t *testing.T) {
	b := withSubmodules(t).prepare()
	canary := filepath.Join(t.TempDir(), "canary")
	gitIn(t, b.path("lib"), "init", "-q")
	gitIn(t, b.path("lib"), "config", "core.fsmonitor", "touch "+canary)
	gitIn(t, b.path("lib"), "config", "core.worktree", "/")
	b.write("lib/lib.txt", "agent\n")
	b.write("lib/deep/.git", "gitdir: "+b.repo+"/.git\n")
	cs := b.compute()
	b.want(cs, "M\tlib/lib.txt")
	if len(cs.Refused) != 2 {
		t.Errorf("refused %v", cs.Refused)
	}
	accept(t, b, cs, review.Choice{All: true}, nil)
	if _, err := os.Stat(canary); err == nil {
		t.Error("what the agent configured has run")
	}
}

func TestGitmodulesIsTakenAsARiskOrRefused(t *testing.T) {
	plain := "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/lib\n"
	for content, taken := range map[string]bool{
		plain: true,
		plain + "\tbranch = main\n\tupdate = rebase\n# a comment\n":  true,
		strings.Replace(plain, "https", "-uhttps", 1):                false,
		strings.Replace(plain, "https://example.org", "./-x", 1):     false,
		strings.Replace(plain, "https", "ext::sh", 1):                false,
		strings.Replace(plain, "\"lib\"", "\"../../x\"", 1):          false,
		strings.Replace(plain, "path = lib", "path = ../x", 1):       false,
		strings.Replace(plain, "path = lib", "path = .git/hooks", 1): false,
		strings.Replace(plain, "path = lib", "path = -x", 1):         false,
		plain + "\tupdate = !touch x\n":                              false,
		plain + "[include]\n\tpath = /etc/x\n":                       false,
		"\tpath = lib\n":                                             false,
		strings.Replace(plain, "lib\n", "li\\\nb\n", 1):              false,
	} {
		b := withSubmodules(t).prepare()
		b.write(".gitmodules", content)
		cs := b.compute()
		must(t, review.Assess(t.Context(), b.ws, cs))
		if !taken {
			b.want(cs)
			if len(cs.Refused) != 1 || !strings.Contains(cs.Refused[0].Reason, "submodules come from") {
				t.Errorf("%q: refused %v", content, cs.Refused)
			}
			continue
		}
		b.want(cs, "M\t.gitmodules")
		a, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
		must(t, err)
		if len(a.Left) != 1 || a.Files != 0 {
			t.Errorf("%q: a plain accept takes %d files and leaves out %v", content, a.Files, a.Left)
		}
		if a, err = review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true, Risky: []string{".gitmodules"}}}); err != nil || a.Files != 1 {
			t.Errorf("%q: %+v %v", content, a, err)
		}
	}
}

func TestASubmoduleOfWhichAllFilesGoKeepsItsPlace(t *testing.T) {
	b := withSubmodules(t).prepare()
	must(t, os.RemoveAll(b.path("lib")))
	cs := b.compute()
	a, _ := accept(t, b, cs, review.Choice{All: true}, nil)
	if got := gitIn(t, b.repo, "ls-tree", a.Branch, "lib"); !strings.HasPrefix(got, "160000 commit "+a.Modules[0].Commit) {
		t.Errorf("lib is %q", got)
	}
	if got := gitIn(t, b.repo+"/lib", "ls-tree", "-r", "--name-only", a.Branch); got != "deep" {
		t.Errorf("lib holds %q", got)
	}
}

func TestFilesOfASubmoduleAreStoredAsItsOwnGitWould(t *testing.T) {
	b := withSubmodules(t)
	gitIn(t, b.repo+"/lib", "config", "filter.up.clean", "tr a-z A-Z")
	gitIn(t, b.repo+"/lib", "config", "filter.up.smudge", "tr A-Z a-z")
	write(t, b.repo+"/lib/.gitattributes", "*.up filter=up\n")
	gitIn(t, b.repo+"/lib", "add", ".gitattributes")
	gitIn(t, b.repo+"/lib", "commit", "-qm", "attributes")
	gitIn(t, b.repo, "commit", "-qam", "lib moves")
	b.prepare()
	b.write("lib/new.up", "agent\n")
	cs := b.compute()
	a, _ := accept(t, b, cs, review.Choice{All: true}, nil)
	if got := gitIn(t, b.repo+"/lib", "show", a.Branch+":new.up"); got != "AGENT" {
		t.Errorf("lib stores %q", got)
	}
	_, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, Target: review.ToWorktree})
	must(t, err)
	if got, err := os.ReadFile(b.repo + "/lib/new.up"); err != nil || string(got) != "agent\n" {
		t.Errorf("the working tree has %q %v", got, err)
	}
}
