package branch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/review/worktree"
	"aibox/workspace"
)

// withSubmodules is a repository with the submodule lib, which has the submodule deep,
// both checked out.
func withSubmodules(t *testing.T) *reviewtest.Fixture {
	t.Helper()
	allow := []string{"-c", "protocol.file.allow=always"}
	deep := reviewtest.NewRepository(t, map[string]string{"deep.txt": "deep\n"})
	lib := reviewtest.NewRepository(t, map[string]string{"lib.txt": "one\ntwo\nthree\n", "other.txt": "other\n"})
	reviewtest.GitIn(t, lib.Repo, append(allow, "submodule", "--quiet", "add", deep.Repo, "deep")...)
	reviewtest.GitIn(t, lib.Repo, "commit", "-q", "-m", "deep")
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"})
	reviewtest.GitIn(t, b.Repo, append(allow, "submodule", "--quiet", "add", lib.Repo, "lib")...)
	reviewtest.GitIn(t, b.Repo, append(allow, "submodule", "--quiet", "update", "--init", "--recursive")...)
	reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "lib")
	return b
}

func TestUnchangedSubmodulesAreNotListed(t *testing.T) {
	b := withSubmodules(t)
	reviewtest.Write(t, b.Repo+"/lib/lib.txt", "uncommitted\n")
	b.Prepare()
	cs := b.Compute()
	b.Want(cs)
	if len(cs.Refused)+len(cs.Notes) != 0 {
		t.Errorf("refused %v, notes %v", cs.Refused, cs.Notes)
	}
}

func acceptAll(t *testing.T, b *reviewtest.Fixture, cs *review.ChangeSet, choice review.Choice, before *accept.Prior) (*accept.Result, *accept.Prior) {
	t.Helper()
	a, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: choice, Prior: before})
	reviewtest.Must(t, err)
	return a, &accept.Prior{
		Selection: a.Selection, Tree: a.Tree, Branch: a.Branch, Commit: a.Commit, CommitTree: a.CommitTree, Modules: a.Modules,
	}
}

func TestChangesInASubmoduleBecomeABranchThere(t *testing.T) {
	b := withSubmodules(t)
	reviewtest.Write(t, b.Repo+"/lib/lib.txt", "one\ntwo\nmine\n")
	b.Prepare()
	b.Write("a.txt", "agent\n")
	b.Write("lib/lib.txt", "agent\ntwo\nmine\n")
	b.Write("lib/deep/new.txt", "agent\n")
	cs := b.Compute()
	b.Want(cs, "M\ta.txt", "A\tlib/deep/new.txt", "M\tlib/lib.txt")
	statusBefore := reviewtest.GitIn(t, b.Repo, "status", "--porcelain")
	a, _ := acceptAll(t, b, cs, review.Choice{All: true}, nil)

	lib, deep := b.Repo+"/lib", b.Repo+"/lib/deep"
	branch := "aibox/" + b.Workspace.Session
	if got := reviewtest.GitIn(t, deep, "log", "--format=%s", "--name-status", branch, "^HEAD"); !strings.Contains(got, "A\tnew.txt") {
		t.Errorf("deep has %q", got)
	}
	libTip, deepTip := reviewtest.GitIn(t, lib, "rev-parse", branch), reviewtest.GitIn(t, deep, "rev-parse", branch)
	if got := reviewtest.GitIn(t, lib, "diff", "--name-status", branch+"~1", branch); got != "M\tdeep\nM\tlib.txt" {
		t.Errorf("the agent's commit in lib changes %q", got)
	}
	if got := reviewtest.GitIn(t, lib, "diff", "--name-status", branch+"~2", branch+"~1"); got != "M\tlib.txt" || reviewtest.GitIn(t, lib, "rev-parse", branch+"~2") != reviewtest.GitIn(t, lib, "rev-parse", "HEAD") {
		t.Errorf("below it is %q", got)
	}
	if got := reviewtest.GitIn(t, lib, "rev-parse", branch+":deep"); got != deepTip {
		t.Errorf("lib records %s of deep, whose branch is at %s", got, deepTip)
	}
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-status", "--ignore-submodules=none", branch+"~1", branch); got != "M\ta.txt\nM\tlib" {
		t.Errorf("the agent's commit changes %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "rev-parse", branch+":lib"); got != libTip {
		t.Errorf("the branch records %s of lib, whose branch is at %s", got, libTip)
	}
	if got := reviewtest.GitIn(t, b.Repo, "ls-tree", "-r", "--name-only", branch); strings.Contains(got, "lib/") {
		t.Errorf("files of the submodule are in the repository around it: %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "status", "--porcelain"); got != statusBefore {
		t.Errorf("status was %q, is %q", statusBefore, got)
	}
	if len(a.Modules) != 2 || a.Modules[0].Path != "lib" || a.Modules[0].Commit != libTip || a.Modules[0].Uncommitted == "" || a.Modules[1].Commit != deepTip {
		t.Errorf("reported %+v", a.Modules)
	}
	// The branch also works in git itself.
	reviewtest.GitIn(t, lib, "checkout", "-q", "--", ".")
	reviewtest.GitIn(t, b.Repo, "switch", "-q", branch)
	reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--recursive")
	if data, err := os.ReadFile(lib + "/lib.txt"); err != nil || string(data) != "agent\ntwo\nmine\n" {
		t.Errorf("after git submodule update lib.txt is %q %v", data, err)
	}
}

func TestAcceptingASubmoduleInPartsGivesTheSame(t *testing.T) {
	b := withSubmodules(t).Prepare()
	b.Write("a.txt", "agent\n")
	b.Write("lib/lib.txt", "agent\ntwo\nthree\n")
	b.Write("lib/other.txt", "agent\n")
	b.Write("lib/deep/deep.txt", "agent\n")
	cs := b.Compute()
	branch := "aibox/" + b.Workspace.Session
	var before *accept.Prior
	for i, path := range []string{"lib/lib.txt", "a.txt", "lib/deep/deep.txt", "lib/other.txt"} {
		var a *accept.Result
		if a, before = acceptAll(t, b, cs, review.Choice{Files: []string{path}}, before); a.Branch != branch {
			t.Errorf("accept %d went to %s", i, a.Branch)
		}
		for _, m := range a.Modules {
			if m.Branch != branch {
				t.Errorf("accept %d went to %s of %s", i, m.Branch, m.Path)
			}
		}
	}
	if got := reviewtest.GitIn(t, b.Repo+"/lib", "rev-list", "--count", branch, "^HEAD"); got != "3" {
		t.Errorf("lib has %s commits", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "rev-list", "--count", branch, "^HEAD"); got != "4" {
		t.Errorf("the repository has %s commits", got)
	}
	reviewtest.GitIn(t, b.Repo, "switch", "-q", branch)
	reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--recursive")
	for _, path := range []string{"a.txt", "lib/lib.txt", "lib/other.txt", "lib/deep/deep.txt"} {
		want, err := os.ReadFile(b.Path(path))
		reviewtest.Must(t, err)
		if got, err := os.ReadFile(filepath.Join(b.Repo, path)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

func TestAFailedAcceptRemovesSubmoduleBranches(t *testing.T) {
	b := withSubmodules(t).Prepare()
	b.Write("lib/lib.txt", "agent\n")
	b.Write("lib/deep/deep.txt", "agent\n")
	reviewtest.GitIn(t, b.Repo, "branch", "taken")
	cs := b.Compute()
	_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Branch: "taken"})
	if fault.KindOf(err) != fault.Conflict {
		t.Fatalf("error %v", err)
	}
	for _, repo := range []string{b.Repo + "/lib", b.Repo + "/lib/deep"} {
		if got := reviewtest.GitIn(t, repo, "for-each-ref", "refs/heads/taken"); got != "" {
			t.Errorf("%s keeps %s", repo, got)
		}
	}
	if got := reviewtest.GitIn(t, b.Workspace.GitDir, "for-each-ref", "refs/aibox/"+b.Workspace.Session+"/[0-9]*"); got != "" {
		t.Errorf("a saved state is left: %s", got)
	}
}

func TestDiscardedWorkInSubmodulesCanBeRestored(t *testing.T) {
	b := withSubmodules(t).Prepare()
	b.Write("lib/lib.txt", "agent\n")
	saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
	found, err := recovery.PointsIn(t.Context(), b.Workspace.GitDir)
	reviewtest.Must(t, err)
	if len(found) != 1 || found[0].Files != 1 || found[0].Ref != saved.Ref {
		t.Fatalf("found %+v", found)
	}
	cs, err := found[0].Changes(t.Context())
	reviewtest.Must(t, err)
	b.Want(cs, "M\tlib/lib.txt")
	restored, err := accept.Restore(t.Context(), found[0], "")
	reviewtest.Must(t, err)
	if len(restored.Modules) != 1 {
		t.Fatalf("restored %+v", restored)
	}
	if got := reviewtest.GitIn(t, b.Repo+"/lib", "show", restored.Modules[0].Branch+":lib.txt"); got != "agent" {
		t.Errorf("lib.txt is %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "rev-parse", restored.Branch+":lib"); got != restored.Modules[0].Commit {
		t.Errorf("the branch records %s", got)
	}
	again, err := workspace.Rebuild(t.Context(), workspace.RebuildRequest{
		Of: b.Workspace, Tree: saved.Commit, Dirs: reviewtest.DirsIn(b.Home), Made: func(*workspace.Workspace) error { return nil },
	})
	reviewtest.Must(t, err)
	b.Workspace = again
	b.Want(b.Compute(), "M\tlib/lib.txt")
	if got := reviewtest.GitIn(t, again.Path, "status", "--porcelain"); got != " M lib/lib.txt" {
		t.Errorf("status %q", got)
	}
}

func TestSubmoduleWorkIsDeliveredToTheWorkingTree(t *testing.T) {
	b := withSubmodules(t)
	reviewtest.GitIn(t, b.Repo+"/lib", "config", "core.autocrlf", "true")
	reviewtest.Write(t, b.Repo+"/lib/lib.txt", "one\r\ntwo\r\nthree\r\n")
	b.Prepare()
	b.Write("lib/lib.txt", "agent\r\ntwo\r\nthree\r\n")
	b.Write("lib/deep/new.txt", "agent\n")
	b.Write("a.txt", "agent\n")
	reviewtest.Write(t, b.Repo+"/lib/lib.txt", "one\r\ntwo\r\nmine\r\n")
	cs := b.Compute()
	a, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Target: accept.ToWorktree})
	reviewtest.Must(t, err)
	if len(a.Paths) != 3 {
		t.Errorf("paths %v", a.Paths)
	}
	for path, want := range map[string]string{"lib/lib.txt": "agent\r\ntwo\r\nmine\r\n", "lib/deep/new.txt": "agent\n", "a.txt": "agent\n"} {
		if got, err := os.ReadFile(filepath.Join(b.Repo, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if got := reviewtest.GitIn(t, b.Repo+"/lib", "for-each-ref", "refs/heads/aibox"); got != "" {
		t.Errorf("lib has the branch %s", got)
	}
}

// TestASubmodulesOwnSettingsApplyToItsFiles has settings that differ between the repository and its
// submodule.
func TestASubmodulesOwnSettingsApplyToItsFiles(t *testing.T) {
	deliver := func(b *reviewtest.Fixture) []worktree.Step {
		_, err := accept.Run(t.Context(), b.Workspace, b.Compute(), accept.Options{Choice: review.Choice{All: true}, Target: accept.ToWorktree})
		if clash, ok := errors.AsType[*worktree.ConflictError](err); ok {
			return clash.Conflicts
		}
		reviewtest.Must(t, err)
		return nil
	}
	work := func(b *reviewtest.Fixture) {
		reviewtest.Must(t, os.Symlink("lib.txt", b.Path("lib/link")))
		b.Write("lib/other.txt", "agent\n")
		reviewtest.Must(t, os.Chmod(b.Path("lib/other.txt"), 0o755))
	}
	b := withSubmodules(t).Prepare()
	work(b)
	for _, name := range []string{"core.fileMode", "core.symlinks"} {
		reviewtest.GitIn(t, b.Repo, "config", name, "false")
	}
	if clashes := deliver(b); len(clashes) > 0 {
		t.Errorf("with settings of the repository around it: %v", clashes)
	}
	b = withSubmodules(t).Prepare()
	work(b)
	for _, name := range []string{"core.fileMode", "core.symlinks"} {
		reviewtest.GitIn(t, b.Repo+"/lib", "config", name, "false")
	}
	if clashes := deliver(b); len(clashes) != 2 || !strings.Contains(clashes[0].Reason, "core.symlinks") || !strings.Contains(clashes[1].Reason, "core.fileMode") {
		t.Errorf("with settings of its own: %v", clashes)
	}
}

func TestAConflictInASubmoduleChangesNothing(t *testing.T) {
	b := withSubmodules(t).Prepare()
	b.Write("lib/lib.txt", "agent\ntwo\nthree\n")
	b.Write("a.txt", "agent\n")
	reviewtest.Write(t, b.Repo+"/lib/lib.txt", "mine\ntwo\nthree\n")
	_, err := accept.Run(t.Context(), b.Workspace, b.Compute(), accept.Options{Choice: review.Choice{All: true}, Target: accept.ToWorktree})
	if clash, ok := errors.AsType[*worktree.ConflictError](err); !ok || len(clash.Conflicts) != 1 || clash.Conflicts[0].Path != "lib/lib.txt" {
		t.Fatalf("error %v", err)
	}
	if got, _ := os.ReadFile(b.Repo + "/a.txt"); string(got) != "a\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestReplacingASubmoduleIsRefused(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, b *reviewtest.Fixture){
		"a symlink": func(t *testing.T, b *reviewtest.Fixture) {
			reviewtest.Must(t, os.RemoveAll(b.Path("lib")))
			reviewtest.Must(t, os.Symlink(b.Repo, b.Path("lib")))
		},
		"a file": func(t *testing.T, b *reviewtest.Fixture) {
			reviewtest.Must(t, os.RemoveAll(b.Path("lib")))
			b.Write("lib", "x\n")
		},
		"a symlink for one inside": func(t *testing.T, b *reviewtest.Fixture) {
			reviewtest.Must(t, os.RemoveAll(b.Path("lib/deep")))
			reviewtest.Must(t, os.Symlink("/etc", b.Path("lib/deep")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := withSubmodules(t).Prepare()
			change(t, b)
			cs := b.Compute()
			b.Want(cs)
			if len(cs.Refused) != 1 || !strings.Contains(cs.Refused[0].Reason, "is in the place of a submodule") {
				t.Errorf("refused %v", cs.Refused)
			}
		})
	}
}

// TestReplacingASubmoduleThatDidNotComeAlongIsRefused has a submodule of which aibox found no
// repository, so that the agent has an empty folder.
func TestReplacingASubmoduleThatDidNotComeAlongIsRefused(t *testing.T) {
	for name, change := range map[string]func(b *reviewtest.Fixture) (path string){
		"a file": func(b *reviewtest.Fixture) string {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("in/gone")))
			b.Write("in/gone", "x\n")
			return "in/gone"
		},
		"a symlink": func(b *reviewtest.Fixture) string {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("in/gone")))
			reviewtest.Must(b.T, os.Symlink("/etc", b.Path("in/gone")))
			return "in/gone"
		},
		"a file in it": func(b *reviewtest.Fixture) string {
			b.Write("in/gone/x", "x\n")
			return "in/gone"
		},
		"a file for its folder": func(b *reviewtest.Fixture) string {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("in")))
			b.Write("in", "x\n")
			return "in"
		},
		"a folder that git does not see": func(b *reviewtest.Fixture) string {
			reviewtest.Must(b.T, os.RemoveAll(b.Path("in/gone")))
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", ".gitignore": "x.o\n"})
			head := reviewtest.GitIn(t, b.Repo, "rev-parse", "HEAD")
			reviewtest.GitIn(t, b.Repo, "update-index", "--add", "--cacheinfo", "160000,"+head+",in/gone")
			reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "submodule")
			b.Prepare()
			path := change(b)
			cs := b.Compute()
			b.Want(cs)
			if path != "" && (len(cs.Refused) != 1 || cs.Refused[0].Path.Raw() != path) || path == "" && len(cs.Refused) > 0 {
				t.Errorf("refused %v", cs.Refused)
			}
		})
	}
}

func TestAnAgentsRepositoryInASubmoduleIsNotOpened(t *testing.T) {
	b := withSubmodules(t).Prepare()
	canary := filepath.Join(t.TempDir(), "canary")
	reviewtest.GitIn(t, b.Path("lib"), "init", "-q")
	reviewtest.GitIn(t, b.Path("lib"), "config", "core.fsmonitor", "touch "+canary)
	reviewtest.GitIn(t, b.Path("lib"), "config", "core.worktree", "/")
	b.Write("lib/lib.txt", "agent\n")
	b.Write("lib/deep/.git", "gitdir: "+b.Repo+"/.git\n")
	cs := b.Compute()
	b.Want(cs, "M\tlib/lib.txt")
	if len(cs.Refused) != 2 {
		t.Errorf("refused %v", cs.Refused)
	}
	acceptAll(t, b, cs, review.Choice{All: true}, nil)
	if _, err := os.Stat(canary); err == nil {
		t.Error("what the agent configured has run")
	}
}

func TestChangesToGitmodulesAreRiskyOrRefused(t *testing.T) {
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
		b := withSubmodules(t).Prepare()
		b.Write(".gitmodules", content)
		cs := b.Compute()
		reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, cs))
		if !taken {
			b.Want(cs)
			if len(cs.Refused) != 1 || !strings.Contains(cs.Refused[0].Reason, "submodules come from") {
				t.Errorf("%q: refused %v", content, cs.Refused)
			}
			continue
		}
		b.Want(cs, "M\t.gitmodules")
		a, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
		reviewtest.Must(t, err)
		if len(a.Left) != 1 || a.Files != 0 {
			t.Errorf("%q: a plain accept takes %d files and leaves out %v", content, a.Files, a.Left)
		}
		if a, err = accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true, Risky: []string{".gitmodules"}}}); err != nil || a.Files != 1 {
			t.Errorf("%q: %+v %v", content, a, err)
		}
	}
}

func TestAnEmptiedSubmoduleKeepsItsEntry(t *testing.T) {
	b := withSubmodules(t).Prepare()
	reviewtest.Must(t, os.RemoveAll(b.Path("lib")))
	cs := b.Compute()
	a, _ := acceptAll(t, b, cs, review.Choice{All: true}, nil)
	if got := reviewtest.GitIn(t, b.Repo, "ls-tree", a.Branch, "lib"); !strings.HasPrefix(got, "160000 commit "+a.Modules[0].Commit) {
		t.Errorf("lib is %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo+"/lib", "ls-tree", "-r", "--name-only", a.Branch); got != "deep" {
		t.Errorf("lib holds %q", got)
	}
}

func TestSubmoduleFilesAreStoredThroughTheirOwnFilters(t *testing.T) {
	b := withSubmodules(t)
	reviewtest.GitIn(t, b.Repo+"/lib", "config", "filter.up.clean", "tr a-z A-Z")
	reviewtest.GitIn(t, b.Repo+"/lib", "config", "filter.up.smudge", "tr A-Z a-z")
	reviewtest.Write(t, b.Repo+"/lib/.gitattributes", "*.up filter=up\n")
	reviewtest.GitIn(t, b.Repo+"/lib", "add", ".gitattributes")
	reviewtest.GitIn(t, b.Repo+"/lib", "commit", "-qm", "attributes")
	reviewtest.GitIn(t, b.Repo, "commit", "-qam", "lib moves")
	b.Prepare()
	b.Write("lib/new.up", "agent\n")
	cs := b.Compute()
	a, _ := acceptAll(t, b, cs, review.Choice{All: true}, nil)
	if got := reviewtest.GitIn(t, b.Repo+"/lib", "show", a.Branch+":new.up"); got != "AGENT" {
		t.Errorf("lib stores %q", got)
	}
	_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Target: accept.ToWorktree})
	reviewtest.Must(t, err)
	if got, err := os.ReadFile(b.Repo + "/lib/new.up"); err != nil || string(got) != "agent\n" {
		t.Errorf("the working tree has %q %v", got, err)
	}
}
