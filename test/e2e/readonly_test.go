package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// cheat lets the tests pass without doing the task: it changes them.
const cheat = `
echo 'exit 0' > tests/check.sh
echo 'exit 0' > tests/new.sh
rm tests/other.txt
mv tests kept && mkdir tests && cp kept/* tests
rm -r kept
echo done > work.txt
`

func TestReadOnlyFilesAreNeitherChangedNorVerifiedAgainst(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"tests/check.sh": "echo checked; grep right work.txt\n", "tests/other.txt": "other\n", "work.txt": "todo\n"})
	o := m.ended(m.aibox(1, "run", "shell", "--network", "none", "--repo", repo, "--read-only", "tests/", "--json", "--verify", "ls tests; sh tests/check.sh", "--", "sh", "-c", cheat))
	if v := o.result().Verification; v == nil || v.ExitCode != 1 || strings.Join(v.Lines, " ") != "check.sh other.txt checked" {
		t.Errorf("the work is verified with the agent's own tests: %+v", v)
	}
	diff := m.aibox(0, "diff", o.ID)
	for _, name := range []string{"check.sh", "new.sh", "other.txt"} {
		if !strings.Contains(diff.stdout+diff.stderr, "tests/"+name+" is read-only in this session") {
			t.Errorf("nothing says that the change of %s is left out:\n%s", name, diff)
		}
	}
	if strings.Contains(diff.stdout, "+exit 0") || !strings.Contains(diff.stdout, "+done") {
		t.Errorf("the diff is\n%s", diff)
	}
	m.aibox(0, "accept", o.ID, "--to", "worktree", "--no-verify")
	if m.read(repo, "work.txt") != "done\n" || m.read(repo, "tests/other.txt") != "other\n" || !strings.Contains(m.read(repo, "tests/check.sh"), "grep right") || exists(filepath.Join(repo, "tests/new.sh")) {
		t.Error("what was delivered is not the change of work.txt alone")
	}

	if o := m.aibox(2, "run", "--resume", o.ID, "--read-only", "work.txt", "--", "true"); !strings.Contains(o.stderr, "keeps its workspace") {
		t.Errorf("a resumed session gets other patterns: %s", o)
	}
	if o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--read-only", "tset/", "--", "true"); !strings.Contains(o.stderr, "no file here matches the read-only patterns `tset/`") {
		t.Errorf("a pattern that protects nothing: %s", o)
	}
	m.write(repo+"/.aibox.toml", "read-only = [\"work.txt\"]\n")
	if o := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo more > work.txt"); m.ended(o).result().Changed {
		t.Errorf("a repository's file protects nothing: %s", o)
	}
	m.write(repo+"/.aibox.toml", "read-only = [\"!tests/\"]\n")
	if o := m.aibox(2, "run", "shell", "--network", "none", "--repo", repo, "--read-only", "tests/", "--", "true"); !strings.Contains(o.stderr, "allows changes of files that you protect") {
		t.Errorf("a repository's file takes protection away: %s", o)
	}
}
