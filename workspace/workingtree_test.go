package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheTopOfAWorkingTreeIsWhereGitSeesIt(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	below, link := filepath.Join(top, "a", "b"), filepath.Join(t.TempDir(), "link")
	if err := os.MkdirAll(filepath.Join(below, ".git"), 0o700); err != nil { // an empty .git is no repository
		t.Fatal(err)
	}
	if err := os.Symlink(below, link); err != nil {
		t.Fatal(err)
	}
	linked, err := filepath.EvalSymlinks(t.TempDir()) // a linked worktree or a submodule has a file there
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(linked, ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{linked: linked, top: top, below: top, link: top, t.TempDir(): "", filepath.Join(top, "no"): "", "": ""} {
		if got := WorkingTree(path); got != want {
			t.Errorf("the top of %q is %q, not %q", path, got, want)
		}
	}
}
