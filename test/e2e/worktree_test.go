package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Work goes onto the working tree beside what the user did meanwhile, and nowhere else.
func TestWorkIsAcceptedOntoTheWorkingTree(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n", "b.txt": "b\n"})
	work := func(args ...string) string {
		return m.ended(m.aibox(0, append(append([]string{"run", "shell", "--network", "none", "--repo", repo, "--json"}, args...), "--", "sh", "-c",
			"echo 9 >> a.txt; mkdir d; echo new > d/new.txt; rm b.txt")...)).ID
	}
	id := work()
	m.write(filepath.Join(repo, "a.txt"), "0\n1\n2\n3\n4\n5\n6\n7\n8\n")
	m.write(filepath.Join(repo, "staged.txt"), "staged\n")
	m.git(repo, "add", "staged.txt")
	index, head := m.read(repo, ".git/index"), m.read(repo, ".git/HEAD")
	o := m.aibox(0, "accept", id, "--to", "worktree")
	if o.stdout != "a.txt\nb.txt\nd/new.txt\n" || !strings.Contains(o.stderr, "working tree of "+repo) {
		t.Errorf("accept prints\n%s", o)
	}
	if m.read(repo, "a.txt") != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n" || m.read(repo, "d/new.txt") != "new\n" || len(glob(t, repo+"/b.txt")) != 0 {
		t.Error("the working tree does not hold the work")
	}
	if m.read(repo, ".git/index") != index || m.read(repo, ".git/HEAD") != head || m.git(repo, "branch", "--list", "aibox*") != "" {
		t.Error("accept touched more than files")
	}
	m.aibox(2, "accept", id, "--to", "worktree")
	if o := m.aibox(0, "recover", id); !strings.Contains(o.stdout, "before-worktree") {
		t.Errorf("what was there before is not saved:\n%s", o)
	}

	// What does not fit is listed, and nothing changes.
	m.git(repo, "checkout", "-q", "-f", "HEAD", "--", ".")
	if err := os.RemoveAll(filepath.Join(repo, "d")); err != nil {
		t.Fatal(err)
	}
	id = work()
	m.write(filepath.Join(repo, "a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\nmine\n")
	m.write(filepath.Join(repo, "d/new.txt"), "mine\n")
	status := m.git(repo, "status", "--porcelain=v2")
	o = m.aibox(0, "accept", id, "--to", "worktree", "--dry-run")
	if !strings.Contains(o.stderr, "a.txt: you and the agent changed the same lines") || !strings.Contains(o.stderr, "2 conflicting files") {
		t.Errorf("the plan prints\n%s", o)
	}
	o = m.aibox(6, "accept", id, "--to", "worktree")
	for _, line := range []string{"a.txt: you and the agent changed the same lines", "d/new.txt: you already have a file there", "--to branch"} {
		if !strings.Contains(o.stderr, line) {
			t.Errorf("the output lacks %q:\n%s", line, o)
		}
	}
	if m.git(repo, "status", "--porcelain=v2") != status || m.read(repo, "a.txt") != "1\n2\n3\n4\n5\n6\n7\n8\nmine\n" || m.read(repo, "b.txt") != "b\n" {
		t.Error("something changed")
	}
	m.aibox(0, "accept", id)
}

func TestARunDeliversItsWorkToTheWorkingTreeIfRequested(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--accept", "worktree", "--", "sh", "-c", "echo two > a.txt")
	if m.read(repo, "a.txt") != "two\n" || !strings.Contains(o.stderr, "1 file in your working tree "+repo) {
		t.Errorf("a.txt holds %q:\n%s", m.read(repo, "a.txt"), o)
	}
}

// An accept is killed (SIGKILL) as soon as it has begun to write, over and over. The
// next command takes it back, until one gets through.
func TestAnAcceptThatIsKilledLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		"echo two > a.txt; for n in $(seq 400); do echo $n > new$n.txt; done")).ID
	journals := filepath.Join(m.home, ".local/share/aibox/repos/*/aibox/worktree.json")
	placed := func() int {
		if left := glob(t, repo+"/.aibox-*"); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
		return len(glob(t, repo+"/new*.txt"))
	}
	killed := 0
	for range 20 {
		accept := m.cmd(aibox, "accept", id, "--to", "worktree")
		if err := accept.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = accept.Wait() // it is killed, or there was nothing left to do
			close(ended)
		}()
		for running := true; running; {
			select {
			case <-ended:
				running = false
			default:
				if len(glob(t, journals)) == 0 {
					continue
				}
				_ = accept.Process.Kill()
				<-ended
				running = false
			}
		}
		if len(glob(t, journals)) == 0 {
			continue // it was quicker, or did not get so far
		}
		killed++
		if o := m.aibox(0, "ls"); !strings.Contains(o.stderr, "was interrupted") || len(glob(t, journals)) != 0 {
			t.Errorf("the next command does not mend:\n%s", o)
		}
		if n := placed(); n != 0 && n != 400 {
			t.Fatalf("%d of 400 files are placed", n)
		}
	}
	if killed == 0 {
		t.Error("none was killed in time")
	}
	o := m.cmd(aibox, "accept", id, "--to", "worktree")
	_ = o.Run() // one may have got through
	if n := placed(); n != 400 || m.read(repo, "a.txt") != "two\n" {
		t.Errorf("%d of 400 files are placed in the end", n)
	}
	t.Logf("%d killed", killed)
}
