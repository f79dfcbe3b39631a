package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An agent that puts something in the place of the user's files that is never taken, or
// not without being read, does not get those files deleted.
func TestAPlainAcceptDeletesNothingForWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"branch", "worktree"} {
		m := newMachine(t)
		repo := m.repo("p", map[string]string{"lib/a.txt": "a\n", "plain": "b\n", "other.txt": "x\n"})
		r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
			"rm -r lib plain; ln -s /etc lib; mkdir plain; echo evil > plain/.envrc; echo changed > other.txt"))
		var accepted struct {
			Branch string `json:"branch"`
			Left   []struct {
				Path string `json:"path"`
				With string `json:"with"`
			} `json:"left"`
		}
		o := m.aibox(0, "accept", r.ID, "--to", to, "--json")
		if err := json.Unmarshal([]byte(o.stdout), &accepted); err != nil {
			t.Fatalf("%v\n%s", err, o)
		}
		left := map[string]string{}
		for _, l := range accepted.Left {
			left[l.Path] = l.With
		}
		if len(left) != 4 || left["lib/a.txt"] != "lib" || left["plain"] != "plain/.envrc" || !strings.Contains(o.stderr, "depends on lib") {
			t.Errorf("to a %s, left out is %v:\n%s", to, left, o)
		}
		if to == "worktree" {
			if got := m.read(repo, "other.txt"); got != "changed\n" {
				t.Errorf("what has no risk is %q", got)
			}
			for _, file := range []string{"lib/a.txt", "plain"} {
				if info, err := os.Lstat(filepath.Join(repo, file)); err != nil || !info.Mode().IsRegular() {
					t.Errorf("%s is gone (%v)", file, err)
				}
			}
			continue
		}
		if got := strings.TrimSpace(m.git(repo, "ls-tree", "-r", "--name-only", accepted.Branch)); got != "lib/a.txt\nother.txt\nplain" {
			t.Errorf("the branch holds\n%s", got)
		}
	}
}
