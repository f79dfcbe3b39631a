package accept_test

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
	"aibox/workspace"
)

func TestAcceptLeavesHiddenFilesUnchanged(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".env": "KEY=canary-7f3a\n", "a.txt": "one\n", "certs/id_rsa": "canary-7f3a\n"}).Prepare()
	for _, name := range []string{".env", "certs/id_rsa"} {
		if _, err := os.Lstat(b.Path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is in the workspace", name)
		}
	}
	if out := reviewtest.GitIn(t, b.Workspace.Path, "grep", "-l", "one", "HEAD"); out != "HEAD:a.txt" {
		t.Errorf("grep: %s", out)
	}
	objects := reviewtest.GitIn(t, b.Workspace.Path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(objects) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(reviewtest.GitIn(t, b.Workspace.Path, "cat-file", kind, id), "canary-7f3a") {
			t.Errorf("object %s holds the hidden file", id)
		}
	}
	if out := reviewtest.GitIn(t, b.Workspace.Path, "status", "--porcelain"); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	b.Write("a.txt", "agent\n")
	b.Write(".env", "KEY=evil\n")
	cs := b.Compute()
	b.Want(cs, "M\t.env", "M\ta.txt")
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, cs))
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":.env"); got != "KEY=canary-7f3a" {
		t.Errorf(".env is now %q", got)
	}
}

// assessed is the change set with its risks.
func assessed(t *testing.T, b *reviewtest.Fixture) *review.ChangeSet {
	t.Helper()
	cs := b.Compute()
	reviewtest.Must(t, review.Assess(t.Context(), b.Workspace, cs))
	return cs
}

// held are the changes that a plain accept leaves out for a hidden file.
func held(cs *review.ChangeSet) (paths []string) {
	for _, c := range cs.Changes {
		for _, r := range c.Risks {
			if r.Rule == "hidden-file" && r.Holds() {
				paths = append(paths, c.Path.Raw())
			}
		}
	}
	return paths
}

func TestAgentFilesWithHiddenNamesAreRestored(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", ".gitignore": ".env.local\n"}).Prepare()
	b.Write("id_rsa", "agent\n") // hidden names without a file of the user
	b.Write(".env.test", "agent\n")
	b.Write("src/.env", "agent\n")
	cs := assessed(t, b)
	b.Want(cs, "A\t.env.test", "A\tid_rsa", "A\tsrc/.env")
	if got := held(cs); len(got) > 0 {
		t.Errorf("held back: %q", got)
	}
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true, Risky: []string{".env.test", "src/.env"}}})
	reviewtest.Must(t, err)
	for _, path := range []string{"id_rsa", ".env.test", "src/.env"} {
		if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":"+path); got != "agent" {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestAHiddenFileIsReplacedOnlyWhenSelectedByName(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".env": "USER=1\nB=2\nC=3\nD=4\n", "vault/x": "user\n", "a.txt": "one\n"})
	reviewtest.Write(t, b.Repo+"/.env.local", "untracked\n")
	b.Prepare(func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), "vault/") })
	b.Write(".env", "AGENT=1\nB=2\nC=3\nD=agent\n")
	b.Write(".env.local", "agent\n")
	b.Write("vault", "a file in the place of a folder\n")
	cs := assessed(t, b)
	want := ".env .env.local vault vault/x"
	if got := strings.Join(held(cs), " "); got != want {
		t.Fatalf("held back are %s, not %s", got, want)
	}
	plain, err := cs.Select(t.Context(), review.Choice{All: true})
	reviewtest.Must(t, err)
	if len(plain.Taken) > 0 {
		t.Errorf("a plain accept takes %+v", plain.Taken)
	}
	reviewtest.Must(t, cs.Files(t.Context(), func(file review.FileDiff) error {
		if file.Change.Path == ".env" {
			_, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(file.Hunks[0].Split()[0].ID)}, Risky: []string{".env"}})
			if len(file.Hunks[0].Split()) > 1 && fault.KindOf(err) != fault.Usage {
				t.Errorf("a part of .env: %v", err)
			}
		}
		return nil
	}))
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true, Risky: []string{".env"}}})
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":.env"); got != "AGENT=1\nB=2\nC=3\nD=agent" {
		t.Errorf(".env on the branch is %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "show", accepted.Branch+":vault/x"); got != "user" {
		t.Errorf("vault/x on the branch is %q", got)
	}
	for path, want := range map[string]string{".env": "USER=1\nB=2\nC=3\nD=4\n", ".env.local": "untracked\n", "vault/x": "user\n"} {
		if got, err := os.ReadFile(b.Repo + "/" + path); err != nil || string(got) != want {
			t.Errorf("the user's %s is %q now (%v)", path, got, err)
		}
	}
}

func TestAgentFilesWithHiddenNamesAreRecovered(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".env": "USER=1\n", "web/.env": "USER=2\n", "a.txt": "one\n"}).Prepare()
	b.Write(".env", "AGENT=1\n")
	b.Write("id_rsa", "agent\n")
	before := assessed(t, b)
	reviewtest.Must(t, os.RemoveAll(b.Workspace.Path))
	again, err := workspace.Rebuild(t.Context(), workspace.RebuildRequest{
		Of: b.Workspace, Tree: before.Tree, Dirs: reviewtest.DirsIn(b.Home), Made: func(*workspace.Workspace) error { return nil },
	})
	reviewtest.Must(t, err)
	for path, want := range map[string]string{".env": "AGENT=1\n", "id_rsa": "agent\n", "web/.env": ""} {
		if got, _ := os.ReadFile(again.Path + "/" + path); string(got) != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	b.Workspace = again
	after := assessed(t, b)
	if after.Tree != before.Tree || strings.Join(held(after), " ") != ".env" {
		t.Errorf("the work is %s, held back %q; it was %s", after.Tree, held(after), before.Tree)
	}
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{
		Of: again, Has: after.Tree, Tree: again.BaseTree, Session: "verify-0aaaa", Dirs: reviewtest.DirsIn(b.Home),
	})
	reviewtest.Must(t, err)
	if _, err := os.Lstat(copied.Path + "/.env"); !os.IsNotExist(err) {
		t.Error("the copy without the agent's work holds .env")
	}
}
