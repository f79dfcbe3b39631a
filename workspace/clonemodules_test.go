package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/workspace"
)

// allowFileProtocol makes git clone submodules from file:// addresses, as a user's
// configuration can.
func allowFileProtocol(t *testing.T) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, "[protocol \"file\"]\n\tallow = always\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
}

// withAddresses is withSubmodules, where .gitmodules of the outer repository holds URLs and
// that of the submodule in it a relative path.
func withAddresses(t *testing.T) (repo, outer, inner string) {
	t.Helper()
	repo = withSubmodules(t)
	outer, inner = gitIn(t, repo, "config", "submodule.libs/outer.url"), gitIn(t, repo, "config", "submodule.other.url")
	relative, err := filepath.Rel(outer, inner)
	must(t, err)
	gitIn(t, outer, "config", "-f", ".gitmodules", "submodule.inner.url", relative)
	commit(t, outer, nil)
	gitIn(t, repo+"/libs/outer", "pull", "-q", "--no-rebase", "origin", "main")
	gitIn(t, repo, "config", "-f", ".gitmodules", "submodule.libs/outer.url", "file://"+outer)
	gitIn(t, repo, "config", "-f", ".gitmodules", "submodule.other.url", "file://"+inner+"/")
	commit(t, repo, nil)
	return repo, outer, inner
}

func TestTheSubmodulesOfAURLAreCloned(t *testing.T) {
	allowFileProtocol(t)
	repo, outer, inner := withAddresses(t)
	commit(t, inner, map[string]string{"inner.txt": "newer than what is recorded\n"})
	home := t.TempDir()
	ws := prepared(t, "file://"+repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
	for path, want := range map[string]string{
		"main.txt": "main\n", "libs/outer/outer.txt": "outer\n", "libs/outer/inner/inner.txt": "inner\n", "other/inner.txt": "inner\n",
	} {
		if got := read(t, filepath.Join(ws.Path, path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if want := []string{"libs/outer/.env", "libs/outer/inner/id_rsa", "other/id_rsa"}; !slices.Equal(sorted(ws.Hidden), want) {
		t.Errorf("hidden: %v", ws.Hidden)
	}
	if got := status(t, ws.Path); got != "" || len(ws.Notes) != 0 {
		t.Errorf("status %q, notes %q", got, ws.Notes)
	}
	for _, m := range ws.Modules {
		if m.URL == "" || m.Repo != "" || !strings.HasPrefix(m.GitDir, home) {
			t.Errorf("the record has %+v", m)
		}
	}
	// Nothing is fetched as long as the clones have the commits. They are used, however.
	must(t, os.RemoveAll(outer))
	must(t, os.RemoveAll(inner))
	for _, clone := range workspace.Clones(dirsIn(home)) {
		age(t, clone+"/aibox-server")
	}
	again := prepared(t, "file://"+repo, func(r *workspace.Request) { r.Dirs, r.Session = dirsIn(home), "again" })
	if got := read(t, again.Path+"/libs/outer/inner/inner.txt"); got != "inner\n" || len(again.Notes) != 0 {
		t.Errorf("again: %q, notes %q", got, again.Notes)
	}
	for _, clone := range workspace.Clones(dirsIn(home)) {
		used, err := os.Stat(clone + "/aibox-server")
		must(t, err)
		if time.Since(used.ModTime()) > time.Hour {
			t.Errorf("%s appears unused", clone)
		}
	}
}

func TestASubmoduleCommitThatIsOnNoBranchIsFetched(t *testing.T) {
	allowFileProtocol(t)
	repo, _, inner := withAddresses(t)
	gitIn(t, inner, "commit", "-q", "--amend", "-m", "rewritten")
	gitIn(t, inner, "config", "uploadpack.allowAnySHA1InWant", "true")
	ws := prepared(t, "file://"+repo)
	if got := read(t, ws.Path+"/other/inner.txt"); got != "inner\n" || len(ws.Notes) != 0 {
		t.Errorf("other/inner.txt %q, notes %q", got, ws.Notes)
	}
}

// TestASubmoduleAddressCannotLeaveTheNetworkProtocols has hostile repositories: their
// .gitmodules name folders of this machine and commands.
func TestASubmoduleAddressCannotLeaveTheNetworkProtocols(t *testing.T) {
	secret := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for address, want := range map[string]string{
		"file://" + secret:                 "protocol.file.allow always",
		secret:                             "is a path, not a URL",
		"../project":                       "protocol.file.allow always", // of a file:// URL
		"ext::sh -c \"touch " + ran + "\"": "is not an address that aibox clones",
		"http://127.0.0.1:1/x":             "is not an address that aibox clones",
		"https://-oProxyCommand=touch/x":   "starts with a dash",
		"-u./evil":                         "is a path, not a URL",
		"https://127.0.0.1:1/x":            "cloning https://127.0.0.1:1/x failed",
		"":                                 ".gitmodules has no address",
	} {
		t.Run(address, func(t *testing.T) {
			repo := repository(t)
			write(t, repo+"/.gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = '"+strings.ReplaceAll(address, `"`, `\"`)+"'\n")
			gitIn(t, repo, "config", "-f", ".gitmodules", "submodule.m.url", address)
			gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, secret, "rev-parse", "HEAD")+",m")
			must(t, os.Mkdir(repo+"/m", 0o755))
			gitIn(t, repo, "add", ".gitmodules")
			gitIn(t, repo, "commit", "-qm", "a submodule")
			ws, err := prepare(t, "file://"+repo) // fsck would report some
			must(t, err)
			if len(ws.Modules) != 0 || len(ws.Notes) != 1 || !strings.HasPrefix(ws.Notes[0], "submodule m is left out") || !strings.Contains(ws.Notes[0], want) {
				t.Errorf("modules %v, notes %q, want %q", ws.Modules, ws.Notes, want)
			}
			if entries, err := os.ReadDir(ws.Path + "/m"); err != nil || len(entries) > 0 {
				t.Errorf("in the folder: %v %v", entries, err)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Fatal("a command ran")
			}
		})
	}
}

// TestASubmoduleWhoseCloneFailsOnAFullDiskEndsTheRun has a server whose own disk is full, too.
func TestASubmoduleWhoseCloneFailsOnAFullDiskEndsTheRun(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/.gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ssh://git@example.com/m\n")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, repo, "rev-parse", "HEAD")+",m")
	must(t, os.Mkdir(repo+"/m", 0o755))
	gitIn(t, repo, "add", ".gitmodules")
	gitIn(t, repo, "commit", "-qm", "a submodule")
	const full = "fatal: write error: No space left on device"
	sshThat(t, "echo '"+full+"' >&2; exit 1\n")
	if _, err := prepare(t, "file://"+repo); fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "is full") {
		t.Errorf("the error is %v", err)
	}
	sshThat(t, "echo 'remote: "+full+"' >&2; exit 1\n")
	ws, err := prepare(t, "file://"+repo)
	must(t, err)
	if len(ws.Notes) != 1 || !strings.HasPrefix(ws.Notes[0], "submodule m is left out") {
		t.Errorf("notes %q", ws.Notes)
	}
	if _, err := prepare(t, "ssh://git@example.com/project"); fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "is full") {
		t.Errorf("the error is %v", err)
	}
}
