package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aibox/workspace"
)

func TestUnusualRepositoriesWork(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) string{
		"a subfolder": func(t *testing.T) string { return repository(t) + "/dir" },
		"a detached HEAD": func(t *testing.T) string {
			repo := repository(t)
			gitIn(t, repo, "switch", "-q", "--detach")
			return repo
		},
		"a shallow clone": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{"c.txt": "c\n"})
			clone := t.TempDir() + "/clone"
			gitIn(t, "/", "clone", "-q", "--depth=1", "file://"+repo, clone)
			return clone
		},
		"a worktree": func(t *testing.T) string {
			repo := repository(t)
			gitIn(t, repo, "config", "extensions.worktreeConfig", "true")
			tree := t.TempDir() + "/tree"
			gitIn(t, repo, "worktree", "add", "-q", tree)
			gitIn(t, tree, "config", "--worktree", "core.sparseCheckout", "false")
			return tree
		},
		"a .git file": func(t *testing.T) string {
			dir := t.TempDir()
			gitIn(t, dir, "init", "-q", "--separate-git-dir="+t.TempDir()+"/real", "work")
			commit(t, dir+"/work", map[string]string{"a.txt": "a\n"})
			return dir + "/work"
		},
		"awkward names": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{
				"with space": "1", "new\nline": "2", "-dash": "3", "\xff\xfe": "4", "\"q\"": "5", "tab\t/x": "6", "a\\b": "7",
			})
			return repo
		},
		"a sparse checkout": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{"out/c.txt": "c\n"})
			gitIn(t, repo, "sparse-checkout", "set", "dir")
			return repo
		},
		"CRLF by attribute": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{".gitattributes": "*.txt text eol=crlf\n", "d.txt": "d\r\ne\r\n"})
			return repo
		},
		"a SHA-256 repository": func(t *testing.T) string {
			repo := filepath.Join(t.TempDir(), "project")
			gitIn(t, "/", "init", "-q", "--object-format=sha256", repo)
			commit(t, repo, map[string]string{"a.txt": "a\n"})
			return repo
		},
		"a name that is no folder name": func(t *testing.T) string {
			repo := filepath.Join(t.TempDir(), "..\x1b[31m né")
			must(t, os.Rename(repository(t), repo))
			return repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := make(t)
			before := status(t, repo)
			ws := prepared(t, repo)
			if got := status(t, ws.Path); got != before {
				t.Errorf("status:\n%s\nwant:\n%s", got, before)
			}
			if ws.Uncommitted != "" {
				t.Errorf("there is uncommitted work: %s", gitIn(t, ws.GitDir, "show", "--stat", ws.Uncommitted))
			}
			if got := ws.HeadRef; name == "a detached HEAD" && got != "" {
				t.Errorf("HEAD is on %s", got)
			}
		})
	}
}

func TestAFilteredFileKeepsItsBlob(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "config", "filter.up.clean", "tr a-z A-Z")
	gitIn(t, repo, "config", "filter.up.smudge", "tr A-Z a-z")
	commit(t, repo, map[string]string{".gitattributes": "*.up filter=up\n", "x.up": "pointer\n"})
	stored := gitIn(t, repo, "rev-parse", "HEAD:x.up")
	ws := prepared(t, repo)
	if got := read(t, ws.Path+"/x.up"); got != "pointer\n" {
		t.Errorf("content %q", got)
	}
	if got := gitIn(t, ws.GitDir, "rev-parse", ws.BaseTree+":x.up"); got != stored {
		t.Errorf("blob %s, want %s", got, stored)
	}
}

func TestUncommittedWorkIsStoredAsGitAddStoresIt(t *testing.T) {
	repo := repository(t)
	commit(t, repo, map[string]string{"crlf.txt": "one\r\ntwo\r\n", "lf.txt": "one\ntwo\n", "secret/old": "old letters\n"})
	gitIn(t, repo, "config", "filter.up.clean", "tr a-z A-Z")
	gitIn(t, repo, "config", "core.safecrlf", "true")
	commit(t, repo, map[string]string{".gitattributes": "*.txt text=auto\nsecret/** filter=up\n"})
	for name, content := range map[string]string{
		"crlf.txt": "one\r\ntwo\r\nthree\r\n", "lf.txt": "one\ntwo\nthree\n", "new.txt": "one\r\n", "secret/new": "letters\n", "secret/old": "more letters\n",
		"secret/staged": "staged letters\n", "odd\n\"name.txt": "x\r\n",
	} {
		write(t, repo+"/"+name, content)
	}
	gitIn(t, repo, "add", "secret/staged")
	ws := prepared(t, repo)
	gitIn(t, repo, "-c", "core.safecrlf=false", "add", "-A")
	if got, want := gitIn(t, ws.GitDir, "rev-parse", ws.BaseTree), gitIn(t, repo, "write-tree"); got != want {
		t.Errorf("-git +aibox\n-%s\n+%s", gitIn(t, repo, "ls-tree", "-r", want), gitIn(t, ws.GitDir, "ls-tree", "-r", got))
	}
}

func TestUncommittedWorkIsThatOfTheCopyIfTheUserSavesFilesMeanwhile(t *testing.T) {
	for _, hide := range [][]string{nil, {".gitattributes"}} {
		repo := repository(t)
		commit(t, repo, map[string]string{".gitattributes": "*.txt text\n"})
		write(t, repo+"/a.txt", "copied\r\n")
		write(t, repo+"/new.txt", "copied\n")
		write(t, repo+"/build.out", "vanishes\n")
		ws, err := prepare(t, repo, func(r *workspace.Request) {
			r.Hide = hide
			r.Progress = func(now workspace.Progress) {
				if now.Stage == "copying" && now.Files == now.Total {
					must(t, os.Remove(repo+"/build.out"))
					write(t, repo+"/a.txt", "saved later\n")
					write(t, repo+"/new.txt", "saved later\n")
				}
			}
		})
		must(t, err)
		for _, path := range []string{"a.txt", "new.txt"} {
			if got := gitIn(t, ws.GitDir, "show", ws.BaseTree+":"+path); strings.TrimSuffix(got, "\r") != "copied" {
				t.Errorf("%s is recorded as %q, hiding %q", path, got, hide)
			}
		}
	}
}

func TestUncommittedWorkIsThatOfTheCopyIfTheUserSavesFilesWhileGitStoresThem(t *testing.T) {
	for _, meanwhile := range []string{"echo 'saved later' >new.txt", "echo 'saved later' >new.txt; rm -f other.txt"} {
		repo := repository(t)
		gitIn(t, repo, "config", "filter.saves.clean", meanwhile+"; tr a-z A-Z")
		commit(t, repo, map[string]string{".gitattributes": "*.first filter=saves\n"})
		for _, name := range []string{"a.first", "new.txt", "other.txt"} {
			write(t, repo+"/"+name, "copied\n")
		}
		ws, err := prepare(t, repo)
		must(t, err)
		for path, want := range map[string]string{"a.first": "COPIED", "new.txt": "copied", "other.txt": "copied"} {
			if got := gitIn(t, ws.GitDir, "show", ws.BaseTree+":"+path); got != want {
				t.Errorf("%s is recorded as %q", path, got)
			}
		}
	}
}

func TestUncommittedWorkIsThatOfTheCopyIfTheUserTakesItBackMeanwhile(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "copied\n")
	ws, err := prepare(t, repo, func(r *workspace.Request) {
		r.Progress = func(now workspace.Progress) {
			if now.Stage == "copying" && now.Files == now.Total {
				gitIn(t, repo, "restore", "a.txt")
			}
		}
	})
	must(t, err)
	if got := gitIn(t, ws.GitDir, "show", ws.BaseTree+":a.txt"); got != "copied" {
		t.Errorf("a.txt is recorded as %q", got)
	}
}

func TestUncommittedWorkIsStoredByFiltersAndRulesThatTheAgentDoesNotGet(t *testing.T) {
	repo := repository(t)
	commit(t, repo, map[string]string{".gitignore": "tools/\n"})
	gitIn(t, repo, "config", "filter.strip.clean", "tools/strip")
	write(t, repo+"/tools/strip", "#!/bin/sh\nsed 's/secret//'\n")
	must(t, os.Chmod(repo+"/tools/strip", 0o755))
	write(t, repo+"/.git/info/exclude", ".gitattributes\n")
	write(t, repo+"/.gitattributes", "*.nb filter=strip\n*.txt text\n")
	write(t, repo+"/a.nb", "a secret output\n")
	write(t, repo+"/new.txt", "one\r\n")
	ws := prepared(t, repo)
	for path, want := range map[string]string{"a.nb": "a  output\n", "new.txt": "one\n"} {
		size := gitIn(t, ws.GitDir, "cat-file", "-s", ws.BaseTree+":"+path)
		if got := gitIn(t, ws.GitDir, "show", ws.BaseTree+":"+path); got != strings.TrimSpace(want) || size != strconv.Itoa(len(want)) {
			t.Errorf("%s is recorded as %q, of %s bytes", path, got, size)
		}
	}
}

func TestAURLIsClonedAndNamed(t *testing.T) {
	repo := repository(t)
	home := t.TempDir()
	for _, session := range []string{"one", "two"} {
		ws := prepared(t, "file://"+repo, func(r *workspace.Request) { r.Dirs, r.Session = dirsIn(home), session })
		if got := status(t, ws.Path); got != "" || !strings.HasPrefix(filepath.Base(ws.Path), "project") {
			t.Errorf("%s: %s", ws.Path, got)
		}
	}
}
