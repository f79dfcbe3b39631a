package workspace_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// indexVersion returns the version in the header of the index of a folder's repository.
func indexVersion(t *testing.T, folder string) uint32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, ".git/index"))
	must(t, err)
	if len(data) < 8 || string(data[:4]) != "DIRC" {
		t.Fatalf("no index: %q", data)
	}
	return binary.BigEndian.Uint32(data[4:8])
}

func TestTheIndexHasTheLowestSufficientVersion(t *testing.T) {
	repo := repository(t)
	if got := indexVersion(t, prepared(t, repo).Path); got != 2 {
		t.Errorf("without extended flags the index has version %d", got)
	}
	gitIn(t, repo, "sparse-checkout", "set", "dir")
	commit(t, repo, map[string]string{"dir/c.txt": "sea\n"})
	write(t, repo+"/dir/b.txt", "changed\n")
	gitIn(t, repo, "sparse-checkout", "set", "--no-cone", "/dir/")
	ws := prepared(t, repo)
	if got := indexVersion(t, ws.Path); got != 3 {
		t.Errorf("with files that are not there on purpose it has version %d", got)
	}
	if got := status(t, ws.Path); got != " M dir/b.txt" {
		t.Errorf("the status is\n%s", got)
	}
}

// Aider and others read repositories with GitPython. The one in Debian 12 and 13 reads only
// versions 1 and 2.
const withGitPython = `
import git, sys
repo = git.Repo(sys.argv[1])
print("files:", *(path for path, _ in sorted(repo.index.entries)))
print("changed:", *sorted(diff.a_path for diff in repo.index.diff(None)))
print("new:", *repo.untracked_files)
repo.index.add(["new.txt"])
repo.index.commit("from Python")
print("head:", *sorted(blob.path for blob in repo.head.commit.tree.traverse() if blob.type == "blob"))
`

func TestGitPythonReadsAndWritesTheIndex(t *testing.T) {
	repo := repository(t)
	write(t, filepath.Join(repo, ".env"), "SECRET=1\n")
	write(t, repo+"/a.txt", "changed\n")
	ws := prepared(t, repo)
	write(t, ws.Path+"/new.txt", "new\n")
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", withGitPython, ws.Path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (it needs Debian's package python3-git)\n%s", err, out)
	}
	want := "files: a.txt dir/b.txt\nchanged: a.txt\nnew: new.txt\nhead: a.txt dir/b.txt new.txt\n"
	if string(out) != want {
		t.Errorf("GitPython says\n%s\nnot\n%s", out, want)
	}
	if got := status(t, ws.Path); strings.TrimSpace(got) != "M a.txt" {
		t.Errorf("afterwards git says\n%s", got)
	}
}
