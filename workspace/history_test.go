package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/workspace"
)

// noObjectHas fails the test if an object that the agent got contains the text.
func noObjectHas(t *testing.T, ws *workspace.Workspace, text string) {
	t.Helper()
	for id, content := range objectsIn(t, ws.Path) {
		if strings.Contains(content, text) {
			t.Errorf("the object %s holds %q", id, content)
		}
	}
}

func TestAHiddenFileOfTheHistoryStaysHiddenWhateverItWasRenamedTo(t *testing.T) {
	for name, change := range map[string][]string{
		"a file":   {".env", "settings.txt"},
		"a folder": {"vault/deep/x", "open/deep/x"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t)
			commit(t, repo, map[string]string{change[0]: "KEY=canary\n"})
			from, _, _ := strings.Cut(change[0], "/")
			to, _, _ := strings.Cut(change[1], "/")
			gitIn(t, repo, "mv", from, to)
			gitIn(t, repo, "commit", "-qm", "rename")
			commit(t, repo, map[string]string{change[1]: "KEY=\n"})
			ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), "vault/") })
			noObjectHas(t, ws, "canary")
		})
	}
}

// A key that was committed by mistake and removed later is found by its content.
func TestAPrivateKeyThatWasRemovedIsNotInTheHistory(t *testing.T) {
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n-----END OPENSSH PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		file   string
		change func(t *testing.T, repo string)
		hide   []string
		there  bool
	}{
		"removed": {"deploy/server.pem", func(t *testing.T, repo string) {
			gitIn(t, repo, "rm", "-q", "deploy/server.pem")
			gitIn(t, repo, "commit", "-qm", "remove")
		}, nil, false},
		"without an extension": {"ops/deploy_key", func(t *testing.T, repo string) {
			gitIn(t, repo, "rm", "-q", "ops/deploy_key")
			gitIn(t, repo, "commit", "-qm", "remove")
		}, nil, false},
		"renamed": {"server.KEY", func(t *testing.T, repo string) {
			gitIn(t, repo, "mv", "server.KEY", "a.go")
			gitIn(t, repo, "commit", "-qm", "rename")
			commit(t, repo, map[string]string{"a.go": "package a\n"})
		}, nil, false},
		"replaced": {"server.pem", func(t *testing.T, repo string) {
			commit(t, repo, map[string]string{"server.pem": "-----BEGIN CERTIFICATE-----\n"})
		}, nil, false},
		"replaced in the files": {"server.pem", func(t *testing.T, repo string) {
			must(t, os.WriteFile(filepath.Join(repo, "server.pem"), []byte("-----BEGIN CERTIFICATE-----\n"), 0o600))
		}, nil, false},
		"removed in the files": {"server.pem", func(t *testing.T, repo string) { must(t, os.Remove(filepath.Join(repo, "server.pem"))) }, nil, false},
		"a program":            {"test.go", func(t *testing.T, repo string) { commit(t, repo, map[string]string{"test.go": "package a\n"}) }, nil, true},
		"unhidden":             {"server.pem", func(t *testing.T, repo string) { commit(t, repo, map[string]string{"server.pem": "x\n"}) }, []string{"!server.pem"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t)
			commit(t, repo, map[string]string{c.file: key, "see.txt": "see\n"})
			c.change(t, repo)
			ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), c.hide...) })
			there := false
			for _, content := range objectsIn(t, ws.Path) {
				there = there || strings.Contains(content, "canary")
			}
			if there != c.there {
				t.Errorf("the agent's repository has it: %t", there)
			}
			gitIn(t, ws.Path, "fsck", "--connectivity-only")
			if got := gitIn(t, ws.Path, "show", "HEAD:see.txt"); got != "see" {
				t.Errorf("another file is %q", got)
			}
			if _, err := os.Stat(filepath.Join(ws.Path, c.file)); err == nil && slices.Contains(ws.Hidden, c.file) {
				t.Error("a file that the agent has is recorded as hidden")
			}
		})
	}
}

// Git fetches what is missing in a partial clone if it is asked for it.
func TestAPrivateKeyIsTakenOutOfThePartOfAHistoryThatIsThere(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	commit(t, repo, map[string]string{"never.pem": "-----BEGIN PRIVATE KEY-----\nfar\n", "once.pem": "-----BEGIN PRIVATE KEY-----\ncanary\n", "see.txt": "see\n"})
	gitIn(t, repo, "rm", "-q", "never.pem", "once.pem")
	gitIn(t, repo, "commit", "-qm", "remove")
	partial := filepath.Join(t.TempDir(), "partial")
	gitIn(t, repo, "clone", "-q", "--filter=blob:none", "file://"+repo, partial)
	gitIn(t, partial, "-c", "protocol.file.allow=always", "show", "HEAD~1:once.pem") // fetches it
	gitIn(t, partial, "remote", "set-url", "origin", "file:///nowhere")
	ws, err := prepare(t, partial)
	must(t, err)
	noObjectHas(t, ws, "canary")
	if got := gitIn(t, ws.Path, "show", "HEAD:see.txt"); got != "see" {
		t.Errorf("another file is %q", got)
	}
	if got := gitIn(t, ws.Path, "rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("the agent gets %s commits, notes %q", got, ws.Notes)
	}
}

// Git ends with an error if it is asked for an object that it cannot fetch.
func TestAPartialCloneWithHiddenFilesIsCopied(t *testing.T) {
	for name, options := range map[string][]string{
		"without contents":             {"--filter=blob:none"},
		"without contents, and sparse": {"--filter=blob:none", "--sparse"},
		"without folders":              {"--filter=tree:0"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t)
			gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
			commit(t, repo, map[string]string{".env": "KEY=canary\n", "dir/see.txt": "see\n", "see.txt": "see\n", "old/once.txt": "once\n"})
			gitIn(t, repo, "rm", "-rq", "old")
			commit(t, repo, map[string]string{"last.txt": "last\n", "far/x.txt": "x\n"})
			partial := filepath.Join(t.TempDir(), "partial")
			gitIn(t, repo, slices.Concat([]string{"clone", "-q"}, options, []string{"file://" + repo, partial})...)
			gitIn(t, partial, "remote", "set-url", "origin", "file:///nowhere")
			ws, err := prepare(t, partial)
			must(t, err)
			noObjectHas(t, ws, "canary")
			if got := gitIn(t, ws.Path, "show", "HEAD:see.txt"); got != "see" {
				t.Errorf("another file is %q", got)
			}
			if got := gitIn(t, ws.Path, "rev-list", "--count", "HEAD"); got != "3" {
				t.Errorf("the agent gets %s commits, notes %q", got, ws.Notes)
			}
		})
	}
}

func TestAHiddenFileOfTheHistoryIsFoundBelowAFolderWithALineEnd(t *testing.T) {
	repo := repository(t)
	commit(t, repo, map[string]string{"odd\nfolder/.env": "KEY=canary\n"})
	gitIn(t, repo, "rm", "-rq", "odd\nfolder")
	gitIn(t, repo, "commit", "-qm", "remove")
	noObjectHas(t, prepared(t, repo), "canary")
}

// Old versions of some tools wrote the mode of a folder as 040000.
func TestHiddenFilesAreTakenOutOfTreesWithPaddedModes(t *testing.T) {
	repo := repository(t)
	sub := rawTree(t, repo, treeEntry{"100644", ".env", blob(t, repo, "KEY=canary\n")}, treeEntry{"100644", "c.txt", blob(t, repo, "see\n")})
	root := rawTree(t, repo, treeEntry{"100644", ".env", blob(t, repo, "KEY=canary\n")}, treeEntry{"040000", "old", sub})
	old := gitIn(t, repo, "commit-tree", "-m", "old", "-p", "HEAD", root)
	head := gitIn(t, repo, "commit-tree", "-m", "new", "-p", old, "HEAD^{tree}")
	gitIn(t, repo, "update-ref", "HEAD", head)
	ws, err := prepare(t, repo)
	must(t, err)
	if got := gitIn(t, ws.Path, "show", "HEAD~1:old/c.txt"); got != "see" {
		t.Errorf("a file of the history is %q", got)
	}
	gitIn(t, ws.Path, "fsck", "--connectivity-only")
	noObjectHas(t, ws, "canary")
}

// manyPaths stores ten trees, each of which holds the one below ten times, with the same file at
// 10^9 paths, and returns the id of the outermost one.
func manyPaths(t *testing.T, repo, name string) string {
	t.Helper()
	tree := rawTree(t, repo, treeEntry{"100644", name, blob(t, repo, "KEY=canary\n")})
	for range 9 {
		var entries []treeEntry
		for _, name := range strings.Split("abcdefghij", "") {
			entries = append(entries, treeEntry{"40000", strings.Repeat(name, 200), tree})
		}
		tree = rawTree(t, repo, entries...)
	}
	return tree
}

func TestAHistoryWithFewTreesAtVeryManyPathsEnds(t *testing.T) {
	repo := repository(t)
	old := gitIn(t, repo, "commit-tree", "-m", "old", "-p", "HEAD", manyPaths(t, repo, ".env"))
	gitIn(t, repo, "update-ref", "HEAD", gitIn(t, repo, "commit-tree", "-m", "new", "-p", old, "HEAD^{tree}"))
	ws, err := prepare(t, repo)
	must(t, err)
	noObjectHas(t, ws, "canary")
	if notes := strings.Join(ws.Notes, "\n"); !strings.Contains(notes, "no history") {
		t.Errorf("the notes are %s", notes)
	}
}

func TestACommitWithFewTreesAtVeryManyPathsIsRefused(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "branch", "many", gitIn(t, repo, "commit-tree", "-m", "many", "-p", "HEAD", manyPaths(t, repo, "x")))
	_, err := prepare(t, repo, func(r *workspace.Request) { r.Branch = "many" })
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "too many files") {
		t.Errorf("the error is %v", err)
	}
}
