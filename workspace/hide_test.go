package workspace_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/workspace"
)

// key is the words in the first and last line of a private key, in two parts so that no scanner
// takes this file for one.
const key = "-----BEGIN OPENSSH PRIVATE " + "KEY-----\nbm90IGEga2V5\n-----END OPENSSH PRIVATE " + "KEY-----\n"

// hiding prepares a workspace of a repository with the files, with the built-in globs
// and more.
func hiding(t *testing.T, files map[string]string, more ...string) *workspace.Workspace {
	t.Helper()
	repo := repository(t)
	commit(t, repo, files)
	return prepared(t, repo, func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), more...) })
}

func TestTheBuiltInGlobsHideSecretsAndNoSource(t *testing.T) {
	ws := hiding(t, map[string]string{
		".env": "A=1\n", "web/.env.local": "A=1\n", ".env.example": "A=\n", "web/.env.sample": "A=\n",
		"src/id_generator.py": "x\n", "id_rsa": "x\n", "id_ed25519_sk": "x\n", "id_rsa.pub": "x\n", "src/id_rsa_loader.go": "package x\n", "id_rsa_keys/a": "x\n",
		"testdata/server.key": key, "testdata/fullchain.pem": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n" + key,
		"ca.pem": "-----BEGIN CERTIFICATE-----\nx\n", "putty.ppk": "PuTTY-User-Key-File-3: ssh-ed25519\n", "keys_test.go": "package x\nconst key = `" + key + "`\n",
		"large.pem": key + strings.Repeat("x", 1<<16), "only/a.key": "\n" + key,
	})
	want := []string{".env", "id_ed25519_sk", "id_rsa", "only/a.key", "putty.ppk", "testdata/fullchain.pem", "testdata/server.key", "web/.env.local"}
	if !slices.Equal(ws.Hidden, want) || ws.HiddenFiles != len(want) {
		t.Errorf("hidden are %d: %q", ws.HiddenFiles, ws.Hidden)
	}
	for _, path := range append(want, "only", "testdata") {
		if exists(filepath.Join(ws.Path, path)) {
			t.Errorf("%s is in the workspace", path)
		}
	}
	for _, path := range []string{"src/id_generator.py", "src/id_rsa_loader.go", "id_rsa_keys/a", "id_rsa.pub", ".env.example", "web/.env.sample", "ca.pem", "keys_test.go", "large.pem"} {
		if !exists(filepath.Join(ws.Path, path)) {
			t.Errorf("%s is missing", path)
		}
	}
	if out := status(t, ws.Path); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
}

func TestKeysAreFoundInACommitAndAmongUntrackedFiles(t *testing.T) {
	repo := repository(t)
	commit(t, repo, map[string]string{"k": key, "k\xff*": key})
	write(t, repo+"/new", key)
	for name, with := range map[string]func(*workspace.Request){
		"as it is": func(*workspace.Request) {},
		"clean":    func(r *workspace.Request) { r.Clean = true },
	} {
		ws := prepared(t, repo, with)
		if want := 3; ws.HiddenFiles != want && name == "as it is" || exists(ws.Path+"/k") || exists(ws.Path+"/k\xff*") || exists(ws.Path+"/new") {
			t.Errorf("%s: hidden are %q", name, ws.Hidden)
		}
		if ws.Uncommitted != "" {
			t.Errorf("%s: %s", name, gitIn(t, ws.GitDir, "show", "--stat", ws.Uncommitted))
		}
		must(t, workspace.Undo(t.Context(), ws))
	}
}

func TestAnExclamationMarkUnhidesFiles(t *testing.T) {
	files := map[string]string{"testdata/a.key": key, "testdata/b.key": key, ".env": "A=1\n", "vault/x": "x\n"}
	ws := hiding(t, files, "vault/", "!testdata/a.key", "!.env", "!vault/x")
	if want := []string{"testdata/b.key", "vault/x"}; !slices.Equal(ws.Hidden, want) { // a file in a hidden folder cannot be shown again
		t.Errorf("hidden are %q, not %q", ws.Hidden, want)
	}
	if len(ws.Unmatched) > 0 {
		t.Errorf("unmatched: %q", ws.Unmatched)
	}
	if all := hiding(t, files, "!*"); len(all.Hidden) > 0 {
		t.Errorf("with !*, hidden are %q", all.Hidden)
	}
}

func TestGlobsMatchLikeGitignore(t *testing.T) {
	files := map[string]string{"a.key": "x\n", "d/b.key": "x\n", "d/secrets/c": "x\n", "secrets/e": "x\n", "d/vault": "x\n", "[x]": "x\n", "x": "x\n"}
	for glob, want := range map[string][]string{
		"**/*.key": {"a.key", "d/b.key"}, "*.key": {"a.key", "d/b.key"}, "/*.key": {"a.key"}, "secrets/": {"d/secrets/c", "secrets/e"},
		"/secrets": {"secrets/e"}, "d/**": {"d/b.key", "d/secrets/c", "d/vault"}, "vault/": nil, `\[x]`: {"[x]"}, "[x]": {"x"},
	} {
		ws := hiding(t, files, glob)
		if !slices.Equal(ws.Hidden, want) {
			t.Errorf("%s hides %q, not %q", glob, ws.Hidden, want)
		}
		if idle := len(ws.Unmatched) > 0; idle != (want == nil) {
			t.Errorf("%s: unmatched are %q", glob, ws.Unmatched)
		}
	}
}

func exists(path string) bool { return exec.Command("test", "-e", path).Run() == nil }

// objectsIn are all objects of the repository at dir, by id.
func objectsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(gitIn(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[id] = gitIn(t, dir, "cat-file", kind, id)
	}
	return all
}

func TestHistoryIsKeptWithoutHiddenFiles(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		repo := t.TempDir()
		gitIn(t, repo, "init", "-q", "-b", "main", "--object-format="+format)
		gitIn(t, repo, "config", "user.name", "Ann")
		gitIn(t, repo, "config", "user.email", "ann@example.com")
		commit(t, repo, map[string]string{"a.txt": "one\n", "empty": ""})
		first := gitIn(t, repo, "rev-parse", "HEAD")
		commit(t, repo, map[string]string{"config.env": "KEY=canary-0\n", "b/c.txt": "c\n"}) // under another name at first
		commit(t, repo, map[string]string{".env": "KEY=canary-1\n", "only/.env.local": "KEY=canary-2\n", "old.key": key + "canary-3\n"})
		gitIn(t, repo, "rm", "-q", "config.env")
		commit(t, repo, map[string]string{".env": "KEY=canary-0\n", "a.txt": "one\ntwo\n"})
		gitIn(t, repo, "switch", "-qc", "side", "HEAD~1")
		commit(t, repo, map[string]string{"side.txt": "s\n", ".env": "KEY=canary-4\n"})
		gitIn(t, repo, "switch", "-q", "main")
		gitIn(t, repo, "merge", "-q", "--no-edit", "-X", "ours", "side")
		commit(t, repo, map[string]string{"b/c.txt": "c\nd\n", "vault/x": "canary-5\n", "vault/y": "canary-6\n"})
		ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), "vault/") })

		gitIn(t, ws.Path, "fsck", "--strict", "--full")
		if out := status(t, ws.Path); out != "" {
			t.Errorf("git status says:\n%s", out)
		}
		if got, want := gitIn(t, ws.Path, "log", "--format=%an %ae %ad %cd %s"), gitIn(t, repo, "log", "--format=%an %ae %ad %cd %s"); got != want {
			t.Errorf("log:\n%s\nwant:\n%s", got, want)
		}
		if got, want := gitIn(t, ws.Path, "log", "-p", "-m", "--format=%s", "--", "a.txt", "b"), gitIn(t, repo, "log", "-p", "-m", "--format=%s", "--", "a.txt", "b"); got != want {
			t.Errorf("log -p:\n%s\nwant:\n%s", got, want)
		}
		blame := func(dir string) string { return gitIn(t, dir, "blame", "--line-porcelain", "a.txt") }
		if got, want := strings.Count(blame(ws.Path), "\tone"), strings.Count(blame(repo), "\tone"); got != want || want != 1 {
			t.Errorf("blame: %s", blame(ws.Path))
		}
		if got := gitIn(t, ws.Path, "rev-list", "--max-parents=0", "HEAD"); got != first {
			t.Errorf("the first commit, which had nothing hidden, is %s now and was %s", got, first)
		}
		for id, content := range objectsIn(t, ws.Path) {
			if strings.Contains(content, "canary") || strings.Contains(content, ".env") && !strings.Contains(content, "config.env") {
				t.Errorf("%s: the object %s holds %q", format, id, content)
			}
		}
	}
}

func TestAShallowHistoryIsKeptWithoutHiddenFiles(t *testing.T) {
	repo := repository(t)
	for i := range 6 {
		commit(t, repo, map[string]string{"a.txt": strings.Repeat("x", i+1), ".env": strings.Repeat("canary", i+1)})
	}
	ws := prepared(t, repo, func(r *workspace.Request) { r.Depth = 3 })
	gitIn(t, ws.Path, "fsck", "--strict", "--full")
	if got := gitIn(t, ws.Path, "rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("%s commits", got)
	}
	if out := status(t, ws.Path); out != "" {
		t.Errorf("git status says:\n%s", out)
	}
	for id, content := range objectsIn(t, ws.Path) {
		if strings.Contains(content, "canary") {
			t.Errorf("the object %s holds %q", id, content)
		}
	}
}
