package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/workspace"
)

func TestLookFindsTheTopAndTheBranchFromAnyFolder(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "switch", "-qc", "dark/mode")
	place, err := workspace.Look(t.Context(), filepath.Join(repo, "dir"), dirsIn(t.TempDir()))
	must(t, err)
	if real, _ := filepath.EvalSymlinks(repo); place.Top != real || place.Branch != "dark/mode" || place.Unborn {
		t.Errorf("got %+v", place)
	}
}

func TestAFolderIsFoundThroughASymlinkFromElsewhere(t *testing.T) {
	repo := repository(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Join(repo, "dir"), link))
	place, err := workspace.Look(t.Context(), link, dirsIn(t.TempDir()))
	must(t, err)
	if real, _ := filepath.EvalSymlinks(repo); place.Top != real || place.Start != "dir" {
		t.Errorf("got %+v", place)
	}
	if ws := prepared(t, link); ws.Files != 2 {
		t.Errorf("%d files were copied", ws.Files)
	}
}

func TestLookRefusesTheSameAsPrepare(t *testing.T) {
	home := t.TempDir()
	dirs := dirsIn(home)
	inside := filepath.Join(dirs.Workspace, "project")
	write(t, filepath.Join(inside, "a.txt"), "a")
	bare := filepath.Join(home, "bare.git")
	gitIn(t, home, "init", "-q", "--bare", bare)
	for what, repo := range map[string]string{
		"nothing": filepath.Join(home, "none"), "a folder without a repository": t.TempDir(), "a workspace": inside, "a bare repository": bare,
		"an address that runs a program": "ext::sh -c true", "an address with a password": "https://ann:secret@example.org/x",
	} {
		_, err := workspace.Look(t.Context(), repo, dirs)
		_, prepareErr := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "k3f9", Dirs: dirs})
		if err == nil || prepareErr == nil || fault.KindOf(err) != fault.Usage || err.Error() != prepareErr.Error() {
			t.Errorf("%s: a look says %v, Prepare %v", what, err, prepareErr)
		}
	}
}

func TestAHeadThatNamesNoCommitIsReported(t *testing.T) {
	for what, head := range map[string]string{
		"a commit that is gone": strings.Repeat("1", 40), "a name that is no branch": "ref: refs/heads/../../x", "nothing": "x",
	} {
		repo := repository(t)
		write(t, filepath.Join(repo, ".git", "HEAD"), head+"\n")
		_, err := workspace.Look(t.Context(), repo, dirsIn(t.TempDir()))
		if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "exit status") || strings.Contains(err.Error(), "ambiguous") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFilesListsTheFilesOfTheWorkspace(t *testing.T) {
	repo := repository(t)
	commit(t, repo, map[string]string{".env": "SECRET=1", ".gitignore": "built\n", "vault/key": "k"})
	write(t, filepath.Join(repo, "new.txt"), "new")
	write(t, filepath.Join(repo, "built"), "ignored")
	dirs := dirsIn(t.TempDir())
	req := workspace.Request{Repo: repo, Dirs: dirs, Session: "k3f9", Hide: append(workspace.DefaultHide(), "vault")}
	visible, hidden, err := workspace.Files(t.Context(), req)
	must(t, err)
	if want := []string{".gitignore", "a.txt", "dir/b.txt", "new.txt"}; !slices.Equal(visible, want) {
		t.Errorf("the agent would get %q, not %q", visible, want)
	}
	if want := []string{".env", "vault/key"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden are %q, not %q", hidden, want)
	}
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = req.Hide })
	if ws.Files != len(visible) {
		t.Errorf("Prepare copies %d files", ws.Files)
	}
	req.Clean = true
	if visible, _, err = workspace.Files(t.Context(), req); err != nil || slices.Contains(visible, "new.txt") {
		t.Errorf("of the commit: %q, %v", visible, err)
	}
}

func TestFilesListsThoseOfARepositoryWithoutACommit(t *testing.T) {
	repo := t.TempDir()
	gitIn(t, repo, "init", "-q", "-b", "main")
	for _, name := range []string{"staged.txt", "new.txt", ".env"} {
		write(t, repo+"/"+name, "x\n")
	}
	gitIn(t, repo, "add", "staged.txt")
	for _, clean := range []bool{false, true} {
		var want, out []string
		if !clean {
			want, out = []string{"new.txt", "staged.txt"}, []string{".env"}
		}
		visible, hidden, err := workspace.Files(t.Context(), workspace.Request{Repo: repo, Clean: clean, Hide: workspace.DefaultHide(), Dirs: dirsIn(t.TempDir())})
		if err != nil || !slices.Equal(visible, want) || !slices.Equal(hidden, out) {
			t.Errorf("clean %t: the agent would get %q, without %q: %v", clean, visible, hidden, err)
		}
	}
}

func TestBranchesListsLocalAndRemoteBranches(t *testing.T) {
	origin := repository(t)
	gitIn(t, origin, "branch", "theirs")
	repo := filepath.Join(t.TempDir(), "clone")
	gitIn(t, origin, "clone", "-q", origin, repo)
	gitIn(t, repo, "branch", "mine")
	names, err := workspace.Branches(t.Context(), repo, dirsIn(t.TempDir()))
	must(t, err)
	slices.Sort(names)
	if want := []string{"main", "mine", "theirs"}; !slices.Equal(names, want) {
		t.Errorf("got %q, not %q", names, want)
	}
}

func TestBranchesOfAURLStartWithTheDefaultBranch(t *testing.T) {
	origin := repository(t)
	gitIn(t, origin, "branch", "a-branch")
	gitIn(t, origin, "tag", "v1")
	names, err := workspace.Branches(t.Context(), "file://"+origin, dirsIn(t.TempDir()))
	must(t, err)
	if want := []string{"main", "a-branch"}; !slices.Equal(names, want) {
		t.Errorf("got %q, not %q", names, want)
	}
}

func TestAURLThatWouldRunAProgramIsRefused(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, address := range []string{"ext::sh -c \"touch " + ran + "\"", "https://-oProxyCommand=touch/x", "http://127.0.0.1:1/x", "file://" + ran} {
		if names, err := workspace.Branches(t.Context(), address, dirsIn(t.TempDir())); err == nil || fault.KindOf(err) != fault.Usage || len(names) > 0 {
			t.Errorf("%s: %q, %v", address, names, err)
		}
	}
	if _, err := workspace.Branches(t.Context(), ran, dirsIn(t.TempDir())); err == nil || strings.Contains(err.Error(), "ran: ") {
		t.Errorf("got %v", err)
	}
}

func TestListingBranchesNeverAsksForAPassword(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	write(t, filepath.Join(bin, "ssh"), "#!/bin/sh\necho \"$SSH_ASKPASS_REQUIRE $SSH_ASKPASS $GIT_TERMINAL_PROMPT\" >"+said+"\nexit 1\n")
	must(t, os.Chmod(filepath.Join(bin, "ssh"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := workspace.Branches(t.Context(), "ssh://example.org/x.git", dirsIn(t.TempDir())); err == nil {
		t.Error("there are branches")
	}
	if got := read(t, said); got != "force false 0\n" {
		t.Errorf("ssh may ask: %q", got)
	}
}

// TestTheIndexIsComparedUpToTheFirstDifference has a commit of which git can read only the beginning. A
// hostile commit has so many files in a few trees that git has no memory for a list of all differences.
func TestTheIndexIsComparedUpToTheFirstDifference(t *testing.T) {
	repo := repository(t)
	list := fmt.Sprintf("100644 blob %s\ta.txt\n040000 tree %s\tz\n", gitIn(t, repo, "hash-object", "-w", "dir/b.txt"), strings.Repeat("1", 40))
	cmd := exec.CommandContext(t.Context(), "git", "-C", repo, "mktree", "--missing")
	cmd.Stdin = strings.NewReader(list)
	tree, err := cmd.Output()
	must(t, err)
	gitIn(t, repo, "update-ref", "HEAD", gitIn(t, repo, "commit-tree", "-m", "lacks a tree", strings.TrimSpace(string(tree))))
	_, _, err = workspace.Files(t.Context(), workspace.Request{Repo: repo, Dirs: dirsIn(t.TempDir())})
	if err == nil || !strings.HasPrefix(err.Error(), "reading the commit:") {
		t.Errorf("got %v", err)
	}
}
