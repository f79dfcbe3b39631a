package workspace_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/workspace"
)

// treeEntry is an entry of a tree that git itself does not make.
type treeEntry struct{ mode, name, id string }

// rawTree stores a tree without any check of its names.
func rawTree(t *testing.T, repo string, entries ...treeEntry) string {
	t.Helper()
	var data []byte
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		must(t, err)
		data = append(data, fmt.Sprintf("%s %s\x00%s", e.mode, e.name, id)...)
	}
	file := filepath.Join(t.TempDir(), "tree")
	write(t, file, string(data))
	return gitIn(t, repo, "hash-object", "-t", "tree", "-w", "--literally", file)
}

// blob stores a file's content.
func blob(t *testing.T, repo, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "blob")
	write(t, file, content)
	return gitIn(t, repo, "hash-object", "-w", file)
}

// rawIndex gives the repository an index with one file, without any check of its name.
func rawIndex(t *testing.T, repo, path, id string) {
	t.Helper()
	raw, err := hex.DecodeString(id)
	must(t, err)
	entry := make([]byte, 40, 100) // its stat, of which only the mode counts
	binary.BigEndian.PutUint32(entry[24:], 0o100644)
	entry = binary.BigEndian.AppendUint16(append(entry, raw...), uint16(len(path)))
	entry = append(entry, path...)
	entry = append(entry, make([]byte, 8-len(entry)%8)...)
	index := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), entry...)
	sum := sha1.Sum(index)
	write(t, repo+"/.git/index", string(append(index, sum[:]...)))
}

// hostileRepositories returns the addresses of repositories that hold names which git refuses to check out,
// so that files would be written outside of the workspace, below victim.
func hostileRepositories(t *testing.T, victim string) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(name string, tree func(repo, content string) []treeEntry) {
		repo := repository(t)
		root := rawTree(t, repo, tree(repo, blob(t, repo, "hostile\n"))...)
		gitIn(t, repo, "update-ref", "refs/heads/main", gitIn(t, repo, "commit-tree", "-m", "hostile", root))
		gitIn(t, repo, "symbolic-ref", "HEAD", "refs/heads/main")
		all[name] = "file://" + repo
	}
	within := func(repo string, e treeEntry) string { return rawTree(t, repo, e) }
	submodule := repository(t)
	module := gitIn(t, submodule, "rev-parse", "HEAD")
	modules := func(repo, path string) treeEntry {
		return treeEntry{"100644", ".gitmodules", blob(t, repo, fmt.Sprintf("[submodule \"m\"]\n\tpath = %s\n\turl = file://%s\n", path, submodule))}
	}
	add("a symlink in place of .git", func(repo, _ string) []treeEntry {
		return []treeEntry{{"120000", ".git", blob(t, repo, victim)}}
	})
	add("a file in .git", func(repo, content string) []treeEntry {
		return []treeEntry{{"40000", ".git", within(repo, treeEntry{"100644", "config", content})}}
	})
	add("a folder above the top", func(repo, content string) []treeEntry {
		return []treeEntry{{"40000", "..", within(repo, treeEntry{"40000", "above", within(repo, treeEntry{"100644", "file", content})})}}
	})
	add("a submodule above the top", func(repo, _ string) []treeEntry {
		return []treeEntry{{"40000", "..", within(repo, treeEntry{"160000", "above", module})}, modules(repo, "../above")}
	})
	add("a submodule behind a symlink", func(repo, _ string) []treeEntry {
		return []treeEntry{modules(repo, "dir/inside"), {"120000", "dir", blob(t, repo, victim)}, {"40000", "dir", within(repo, treeEntry{"160000", "inside", module})}}
	})
	for _, name := range []string{"git~1", ".git ", ".git::$INDEX_ALLOCATION", "x\\.git", ".g\u200cit"} {
		add("a file that could be taken for .git: "+name, func(_, content string) []treeEntry {
			return []treeEntry{{"100644", name, content}}
		})
		add("a file in a folder that could be taken for .git: "+name, func(repo, content string) []treeEntry {
			return []treeEntry{{"40000", "d", within(repo, treeEntry{"40000", name, within(repo, treeEntry{"100644", "x", content})})}}
		})
	}
	for _, name := range []string{".gitmodules", ".GitModules", "gitmod~1"} {
		add("a symlink in place of .gitmodules: "+name, func(repo, _ string) []treeEntry {
			return []treeEntry{{"120000", name, blob(t, repo, "elsewhere")}}
		})
	}
	all["an index with a file above the top"] = repository(t)
	above := all["an index with a file above the top"]
	rawIndex(t, above, "../above/file", blob(t, above, "hostile\n"))
	all["a submodule below a symlink of the user"] = repository(t)
	linked := all["a submodule below a symlink of the user"]
	gitIn(t, linked, "update-index", "--add", "--cacheinfo", "160000,"+module+",lib/inside")
	must(t, os.Symlink(victim, linked+"/lib"))
	return all
}

func TestNoNameInARepositoryLeadsOutOfTheWorkspace(t *testing.T) {
	allowFileProtocol(t)
	victim := t.TempDir()
	for name, address := range hostileRepositories(t, victim) {
		home := t.TempDir()
		_, err := prepare(t, address, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
		if fault.KindOf(err) != fault.Usage && !strings.Contains(name, "symlink of the user") {
			t.Errorf("%s: it is not refused: %v", name, err)
		}
		for _, dir := range []string{victim, home + "/agent_workspace"} {
			entries, _ := os.ReadDir(dir)
			for _, entry := range entries {
				if entry.Name() != "project" {
					t.Errorf("%s: it left %s in %s", name, entry.Name(), dir)
				}
			}
		}
		must(t, os.RemoveAll(victim))
		must(t, os.Mkdir(victim, 0o700))
	}
}

// Git cannot add such a file, so that the preparation would fail.
func TestAnUntrackedFileThatCouldBeTakenForDotGitIsLeftOut(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/git~1", "x\n")
	write(t, repo+"/dir/.git ", "x\n")
	write(t, repo+"/.g\u200cit/new.txt", "x\n")
	write(t, repo+"/new.txt", "x\n")
	ws := prepared(t, repo)
	if got := status(t, ws.Path); got != "?? new.txt" {
		t.Errorf("git status says:\n%s", got)
	}
	notes := strings.Join(ws.Notes, "\n")
	for _, name := range []string{"git~1", "dir/.git ", ".g\\u200cit/new.txt"} {
		if !strings.Contains(notes, name+" is left out") {
			t.Errorf("no note has %s:\n%s", name, notes)
		}
	}
}
