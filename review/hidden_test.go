package review_test

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

func TestHiddenFilesStayAsTheUserHasThem(t *testing.T) {
	b := newRepository(t, map[string]string{".env": "KEY=canary-7f3a\n", "a.txt": "one\n", "certs/id_rsa": "canary-7f3a\n"}).prepare()
	for _, name := range []string{".env", "certs/id_rsa"} {
		if _, err := os.Lstat(b.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is in the workspace", name)
		}
	}
	if out := gitIn(t, b.ws.Path, "grep", "-l", "one", "HEAD"); out != "HEAD:a.txt" {
		t.Errorf("grep: %s", out)
	}
	objects := gitIn(t, b.ws.Path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(objects) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(gitIn(t, b.ws.Path, "cat-file", kind, id), "canary-7f3a") {
			t.Errorf("object %s holds the hidden file", id)
		}
	}
	if out := gitIn(t, b.ws.Path, "status", "--porcelain"); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	b.write("a.txt", "agent\n")
	b.write(".env", "KEY=evil\n")
	cs := b.compute()
	b.want(cs, "M\t.env", "M\ta.txt")
	must(t, review.Assess(t.Context(), b.ws, cs))
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
	must(t, err)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":.env"); got != "KEY=canary-7f3a" {
		t.Errorf(".env is now %q", got)
	}
}

// assessed is the change set with its risks.
func assessed(t *testing.T, b *bench) *review.ChangeSet {
	t.Helper()
	cs := b.compute()
	must(t, review.Assess(t.Context(), b.ws, cs))
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

func TestWhatTheAgentWritesUnderAHiddenNameComesBack(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n", ".gitignore": ".env.local\n"}).prepare()
	b.write("id_rsa", "agent\n") // hidden names, and no file of the user's
	b.write(".env.test", "agent\n")
	b.write("src/.env", "agent\n")
	cs := assessed(t, b)
	b.want(cs, "A\t.env.test", "A\tid_rsa", "A\tsrc/.env")
	if got := held(cs); len(got) > 0 {
		t.Errorf("held back: %q", got)
	}
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true, Risky: []string{".env.test", "src/.env"}}})
	must(t, err)
	for _, path := range []string{"id_rsa", ".env.test", "src/.env"} {
		if got := gitIn(t, b.repo, "show", accepted.Branch+":"+path); got != "agent" {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestAHiddenFileOfTheUsersIsReplacedByNameOnly(t *testing.T) {
	b := newRepository(t, map[string]string{".env": "USER=1\nB=2\nC=3\nD=4\n", "vault/x": "user\n", "a.txt": "one\n"})
	write(t, b.repo+"/.env.local", "untracked\n")
	b.prepare(func(r *workspace.Request) { r.Hide = append(workspace.DefaultHide(), "vault/") })
	b.write(".env", "AGENT=1\nB=2\nC=3\nD=agent\n")
	b.write(".env.local", "agent\n")
	b.write("vault", "a file in the place of a folder\n")
	cs := assessed(t, b)
	want := ".env .env.local vault vault/x"
	if got := strings.Join(held(cs), " "); got != want {
		t.Fatalf("held back are %s, not %s", got, want)
	}
	plain, err := cs.Select(t.Context(), review.Choice{All: true})
	must(t, err)
	if len(plain.Taken) > 0 {
		t.Errorf("a plain accept takes %+v", plain.Taken)
	}
	must(t, cs.Files(t.Context(), func(file review.FileDiff) error {
		if file.Change.Path == ".env" {
			_, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(file.Hunks[0].Split()[0].ID)}, Risky: []string{".env"}})
			if len(file.Hunks[0].Split()) > 1 && fault.KindOf(err) != fault.Usage {
				t.Errorf("a part of .env: %v", err)
			}
		}
		return nil
	}))
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true, Risky: []string{".env"}}})
	must(t, err)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":.env"); got != "AGENT=1\nB=2\nC=3\nD=agent" {
		t.Errorf(".env on the branch is %q", got)
	}
	if got := gitIn(t, b.repo, "show", accepted.Branch+":vault/x"); got != "user" {
		t.Errorf("vault/x on the branch is %q", got)
	}
	for path, want := range map[string]string{".env": "USER=1\nB=2\nC=3\nD=4\n", ".env.local": "untracked\n", "vault/x": "user\n"} {
		if got, err := os.ReadFile(b.repo + "/" + path); err != nil || string(got) != want {
			t.Errorf("the user's %s is %q now (%v)", path, got, err)
		}
	}
}

func TestTheAgentsFilesUnderHiddenNamesAreRecovered(t *testing.T) {
	b := newRepository(t, map[string]string{".env": "USER=1\n", "web/.env": "USER=2\n", "a.txt": "one\n"}).prepare()
	b.write(".env", "AGENT=1\n")
	b.write("id_rsa", "agent\n")
	before := assessed(t, b)
	must(t, os.RemoveAll(b.ws.Path))
	again, err := workspace.Rebuild(t.Context(), workspace.RebuildRequest{
		Of: b.ws, Tree: before.Tree, Dirs: dirsIn(b.home), Made: func(*workspace.Workspace) error { return nil },
	})
	must(t, err)
	for path, want := range map[string]string{".env": "AGENT=1\n", "id_rsa": "agent\n", "web/.env": ""} {
		if got, _ := os.ReadFile(again.Path + "/" + path); string(got) != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	b.ws = again
	after := assessed(t, b)
	if after.Tree != before.Tree || strings.Join(held(after), " ") != ".env" {
		t.Errorf("the work is %s, held back %q; it was %s", after.Tree, held(after), before.Tree)
	}
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{
		Of: again, Has: after.Tree, Tree: again.BaseTree, Session: "verify-0aaaa", Dirs: dirsIn(b.home),
	})
	must(t, err)
	if _, err := os.Lstat(copied.Path + "/.env"); !os.IsNotExist(err) {
		t.Error("the copy without the agent's work holds .env")
	}
}
