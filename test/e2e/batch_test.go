package e2e

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	machinelimit "aibox/runtime/limit"
)

// batchReport is the JSON of `aibox run` for several sessions.
type batchReport struct {
	Batch    string   `json:"batch"`
	Sessions []report `json:"sessions"`
}

// compared is what the tests read of the JSON of `aibox compare`.
type compared struct {
	Batch    string `json:"batch"`
	Sessions []struct {
		ID     string `json:"id"`
		Agent  string `json:"agent"`
		Known  bool   `json:"known"`
		Files  int    `json:"files"`
		SameAs string `json:"same_as"`
		Tokens struct{ Requests int }
	} `json:"sessions"`
	Files []struct {
		Path string                `json:"path"`
		By   []struct{ ID string } `json:"by"`
	} `json:"files"`
}

func TestABatchOfTwoRealAgentsIsComparedAndOneIsAccepted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	script := m.script("[[step]]\nrun = \"echo two >> a.txt\"\n[[step]]\nsay = \"done\"\n")
	o := m.aibox(0, "run", "--agent", "codex,claude", "--repo", repo, "--prompt", "go", "--inference", script, "--json")
	var got batchReport
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || len(got.Sessions) != 2 {
		t.Fatalf("%v\n%s", err, o)
	}
	for i, agent := range []string{"codex", "claude"} {
		if r := got.Sessions[i]; r.Agent != agent || r.Batch != got.Batch || !r.result().Changed || len(r.Files) != 1 || !strings.Contains(o.stderr, r.ID) {
			t.Errorf("the session of %s is %+v", agent, r)
		}
	}
	var c compared
	if err := json.Unmarshal([]byte(m.aibox(0, "compare", got.Batch, "--json").stdout), &c); err != nil || c.Batch != got.Batch || len(c.Sessions) != 2 {
		t.Fatalf("%v, %+v", err, c)
	}
	if c.Sessions[1].SameAs != c.Sessions[0].ID || c.Sessions[0].Tokens.Requests == 0 || len(c.Files) != 1 || len(c.Files[0].By) != 2 {
		t.Errorf("the comparison is %+v", c)
	}
	if o := m.aibox(0, "compare", c.Sessions[0].ID[:5]); strings.Count(o.stdout, "\n") != 6 || !strings.Contains(o.stdout, "a.txt") {
		t.Errorf("compare prints\n%s", o)
	}
	branch := strings.TrimSpace(m.aibox(0, "accept", c.Sessions[0].ID).stdout)
	if got := m.git(repo, "show", branch+":a.txt"); got != "one\ntwo\n" {
		t.Errorf("the branch has %q", got)
	}
	if o := m.aibox(0, "ls", "--batch", got.Batch); !strings.Contains(o.stdout, "accepted") || strings.Count(o.stdout, "\n") != 3 {
		t.Errorf("ls prints\n%s", o)
	}
	m.aibox(0, "discard", c.Sessions[1].ID)
}

func TestABatchEndsWithTheHighestExitCode(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	o := m.aibox(5, "run", "shell", "--times", "2", "--network", "none", "--repo", repo, "--timeout", "1s", "--max-parallel", "1", "--", "sh", "-c", "sleep 30")
	if !strings.Contains(o.stderr, "2 of 2 sessions failed") || !strings.Contains(o.stderr, "queued: ") {
		t.Errorf("it prints\n%s", o)
	}
	for _, args := range [][]string{{"--times", "0"}, {"--times", "33"}, {"--agent", "shell,,codex"}, {"--times", "2", "--accept", "branch"}, {"--times", "2", "--resume", "0dq4f"}} {
		if o := m.aibox(2, append([]string{"run", "--repo", repo, "--prompt", "x"}, args...)...); !strings.Contains(o.stderr, "→") {
			t.Errorf("%q prints\n%s", args, o)
		}
	}
}

// waiting is an agent that runs until the file go is in its workspace.
const waiting = "echo ready; until test -e go; do sleep 0.05; done; echo x > x.txt"

// queuedAt waits until a session is queued at a position, 0 for one that has started.
func (m *machine) queuedAt(id string, position int) {
	m.t.Helper()
	eventually(m.t, hung, id+" has its place in the queue", func() bool {
		var all []report
		if err := json.Unmarshal([]byte(m.aibox(0, "ls", "--json").stdout), &all); err != nil {
			m.t.Fatal(err)
		}
		for _, r := range all {
			if r.ID == id {
				return r.Position == position && (r.State.Phase == "queued") == (position > 0)
			}
		}
		return false
	})
}

// Two sessions that may each use more than half of the machine's memory run one after the
// other.
func TestASessionWaitsForTheMemoryOfAnother(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	memory := strconv.FormatInt(machinelimit.ThisMachine().Memory>>20*6/10, 10)
	start := func(args ...string) string {
		o := m.aibox(0, append(append([]string{"run", "-d", "shell", "--network", "none", "--repo", repo}, args...), "--", "sh", "-c", waiting)...)
		return strings.TrimSpace(o.stdout)
	}
	first, second := start("--memory", memory), start("--memory", memory)
	m.queuedAt(first, 0)
	m.queuedAt(second, 1)
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "it may use "+memory+" MiB of memory, and running sessions leave") {
		t.Errorf("ls prints\n%s", o)
	}
	m.write(filepath.Join(m.record(first).State.Workspace.Path, "go"), "")
	eventually(t, hung, "the second one runs", func() bool { return m.record(second).State.Phase == "running" })
	m.write(filepath.Join(m.record(second).State.Workspace.Path, "go"), "")
	m.aibox(0, "attach", second)
	for _, id := range []string{first, second} {
		m.aibox(0, "discard", id)
	}
	m.tidied()
}

func TestQueuedSessionsStartOneAfterTheOtherWhateverIsKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	start := func() string {
		o := m.aibox(0, "run", "-d", "shell", "--max-parallel", "1", "--network", "none", "--repo", repo, "--", "sh", "-c", waiting)
		return strings.TrimSpace(o.stdout)
	}
	first, second, third, fourth, fifth := start(), start(), start(), start(), start()
	for i, id := range []string{first, second, third, fourth, fifth} {
		m.queuedAt(id, i)
	}
	kill(t, m.record(second).State.Supervisor) // the first in the queue
	o := m.aibox(0, "ls")
	if !strings.Contains(o.stderr, "aibox rerun "+second) || !strings.Contains(o.stdout, "queued 1") {
		t.Errorf("after a kill, ls prints\n%s", o)
	}
	m.queuedAt(third, 1)
	kill(t, m.record(fourth).State.Supervisor) // in the middle
	m.aibox(0, "stop", fifth)
	if f := m.record(fifth).State.Result.Fault; f == nil || f.Kind != "interrupted" {
		t.Errorf("the stopped one has %+v", m.record(fifth).State.Result)
	}
	m.write(filepath.Join(m.record(first).State.Workspace.Path, "go"), "")
	m.queuedAt(third, 0)
	sixth := start()
	m.queuedAt(sixth, 1)
	m.aibox(0, "rm", sixth)

	// A client that waits leaves nothing.
	before := len(m.stored())
	client := m.start("run", "shell", "--max-parallel", "1", "--network", "none", "--repo", repo, "--", "sh", "-c", waiting)
	eventually(t, hung, "it is queued", func() bool { return strings.Contains(m.aibox(0, "ls").stdout, "queued 1") })
	_ = client.Process.Signal(interrupt)
	if code := client.wait(); code != 130 || len(m.stored()) != before {
		t.Errorf("ctrl-c exits with %d and leaves %d records of %d", code, len(m.stored()), before)
	}
	m.write(filepath.Join(m.record(third).State.Workspace.Path, "go"), "")
	m.aibox(0, "attach", third)
	for _, id := range []string{first, third} {
		m.aibox(0, "discard", id)
	}
	for _, id := range []string{first, second, third, fourth, fifth} {
		m.aibox(0, "rm", id)
	}
}

func TestAForkContinuesACopyAndTheOriginalStaysReviewable(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	script := m.script("[[step]]\nrun = \"echo more >> a.txt\"\n[[step]]\nsay = \"done\"\n")
	first := m.ended(m.aibox(0, "run", "codex", "--repo", repo, "--prompt", "go", "--inference", script, "--json"))
	second := m.ended(m.aibox(0, "fork", first.ID, "--prompt", "again", "--json"))
	if second.Forks != first.ID || second.Agent != "codex" || len(second.Files) != 1 || second.Files[0].Added != 2 {
		t.Errorf("the fork is %+v", second)
	}
	if o := m.aibox(0, "diff", first.ID); strings.Count(o.stdout, "+more") != 1 {
		t.Errorf("the original changes\n%s", o)
	}
	running := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", waiting)
	if o := m.aibox(2, "fork", running, "--", "true"); !strings.Contains(o.stderr, "still running") || !strings.Contains(o.stderr, "aibox stop "+running) {
		t.Errorf("forking a running session says\n%s", o)
	}
	m.aibox(0, "stop", running)
	for _, id := range []string{first.ID, second.ID} {
		m.aibox(0, "discard", id)
	}
}
