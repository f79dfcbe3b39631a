package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// used is a row of `aibox top --json`.
type used struct {
	ID    string `json:"id"`
	Usage struct {
		Memory      int64   `json:"memory"`
		CPU         float64 `json:"cpu"`
		CPUSeconds  float64 `json:"cpu_seconds"`
		Processes   int     `json:"processes"`
		MemoryLimit int64   `json:"memory_limit"`
	} `json:"usage"`
}

// top measures a session.
func (m *machine) top(id string) used {
	m.t.Helper()
	var rows []used
	o := m.aibox(0, "top", "--json", id)
	if err := json.Unmarshal([]byte(o.stdout), &rows); err != nil || len(rows) != 1 {
		m.t.Fatalf("%v: %s", err, o)
	}
	return rows[0]
}

// answersSoon checks that a command that lists sessions is not slowed down much.
func (m *machine) answersSoon(what string) {
	m.t.Helper()
	began := time.Now()
	m.aibox(0, "ls")
	if took := time.Since(began); took > time.Minute {
		m.t.Errorf("ls takes %v beside %s", took, what)
	}
}

// memoryBombs are programs that use memory without end, in the ways in which a sandbox can.
var memoryBombs = map[string]string{
	"a process":         `perl -e 'push @x, "x" x 1_000_000 while 1'`,
	"many processes":    `for i in 1 2 3 4 5 6 7 8; do perl -e '$x .= "x" x 1_000_000 while length $x < 50e6; sleep 1000' & done; wait`,
	"files in memory":   `head -c 900000000 /dev/zero > /tmp/x; sleep 1000`,
	"gVisor's own file": `head -c 900000000 /dev/zero > /dev/x; sleep 1000`,
}

func TestASandboxThatUsesTooMuchMemoryIsEndedAndItsWorkIsKept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	other := m.detached("shell", "--network", "none", "--repo", m.repo("other", nil), "--", "sh", "-c", "until test -e go; do sleep 0.1; done; echo well")
	for name, bomb := range memoryBombs {
		o := m.aibox(5, "run", "shell", "--network", "none", "--memory", "256", "--repo", m.repo(strings.ReplaceAll(name, " ", "-"), nil), "--", "sh", "-c", "echo work > work.txt; "+bomb)
		if !strings.Contains(o.stderr, "reached its memory limit of 256 MiB") || !strings.Contains(o.stderr, "--memory sets another limit") || !strings.Contains(o.stderr, "work.txt") {
			t.Errorf("%s: the output is\n%s", name, o)
		}
		m.answersSoon(name)
	}
	for _, r := range m.stored() {
		if text := m.read(m.sessions(), r.ID, "audit.jsonl"); r.ID != other && !strings.Contains(text, `"limit":"memory"`) {
			t.Errorf("the log of %s has\n%s", r.ID, text)
		}
	}
	m.write(filepath.Join(m.record(other).State.Workspace.Path, "go"), "")
	if o := m.aibox(0, "logs", "-f", other); !strings.Contains(o.stdout, "well") {
		t.Errorf("the other session prints\n%s", o)
	}
}

// boundTo returns the largest number of processors that a thread of the process, or of one
// that it started, can use.
func boundTo(t *testing.T, pid int) int {
	t.Helper()
	most := 0
	for _, task := range glob(t, fmt.Sprintf("/proc/%d/task/*", pid)) {
		status, _ := os.ReadFile(task + "/status")
		for line := range strings.Lines(string(status)) {
			if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
				n := 0
				for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
					first, last, isRange := strings.Cut(part, "-")
					a, _ := strconv.Atoi(first)
					b := a
					if isRange {
						b, _ = strconv.Atoi(last)
					}
					n += b - a + 1
				}
				most = max(most, n)
			}
		}
		children, _ := os.ReadFile(task + "/children")
		for text := range strings.FieldsSeq(string(children)) {
			child, _ := strconv.Atoi(text)
			most = max(most, boundTo(t, child))
		}
	}
	return most
}

func TestASandboxThatUsesAllProcessorsIsKeptAtItsLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--cpus", "1", "--memory", "0", "--repo", m.repo("p", nil), "--", "sh", "-c",
		"for i in 1 2 3 4; do perl -e '1 while 1' & done; wait")
	m.top(id)
	if row := m.top(id); row.Usage.CPU > 130 || row.Usage.CPUSeconds == 0 || row.Usage.Processes < 5 || row.Usage.Memory < 1<<20 || row.Usage.MemoryLimit != 0 {
		t.Errorf("top prints %+v", row)
	}
	m.answersSoon("a session that burns processors")
	sandbox := m.record(id).State.Sandbox.PID
	if n := boundTo(t, sandbox); n != 1 && !m.hasSystemd() {
		t.Errorf("its threads can use %d processors", n)
	}
	if n, err := unix.Getpriority(unix.PRIO_PROCESS, sandbox); (err != nil || n > 15) && !m.hasSystemd() { // 20 minus the nice value
		t.Errorf("its nice value is %d, %v", 20-n, err)
	}
	m.aibox(0, "stop", id)
}

// hasSystemd reports whether systemd can limit the sandboxes of this machine.
func (m *machine) hasSystemd() bool {
	return strings.Contains(m.exec(aibox, "doctor").stdout, "a scope of your systemd")
}

func TestAPartOfAProcessorIsRefusedWithoutSystemdUnlessTheUserAllowsIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if m.hasSystemd() {
		return // test/matrix/systemd.sh tests that it is enforced
	}
	args := []string{"run", "shell", "--network", "none", "--cpus", "0.5", "--repo", m.repo("p", nil)}
	o := m.aibox(3, append(args, "--", "true")...)
	if !strings.Contains(o.stderr, "only have whole processors, not 0.5") || !strings.Contains(o.stderr, "--cpus 1 can be enforced") || len(m.stored()) > 0 {
		t.Errorf("the output is\n%s", o)
	}
	o = m.aibox(0, append(args, "--allow-degraded", "--", "true")...)
	if !strings.Contains(o.stderr, "not enforced: ") || !strings.Contains(o.stderr, "whole processors") {
		t.Errorf("the output is\n%s", o)
	}
}

// forkBomb counts the processes of the sandbox from inside, while its children fork endlessly. It
// prints the maximum once 100 counts have not exceeded it.
const forkBomb = `
$| = 1;
syscall($unshare, 0x10000000) == 0 or die "unshare: $!" if $unshare; # CLONE_NEWUSER
if (!fork) { while (1) { fork; select undef, undef, undef, 0.05 } }
my ($most, $same) = (0, 0);
while (1) {
  opendir my $proc, "/proc" or next;
  my $n = grep { /^[0-9]+$/ } readdir $proc;
  ($most, $same) = $n > $most ? ($n, 0) : ($most, $same + 1);
  print "at most $most processes\n" if $same == 100;
  select undef, undef, undef, 0.02;
}
`

func TestAForkBombIsLimitedAndStoppedBesideOthers(t *testing.T) {
	t.Parallel()
	for name, unshare := range map[string]int{
		"as root":             0,
		"in a user namespace": map[string]int{"amd64": 272, "arm64": 97}[runtime.GOARCH],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdsForkBomb(t, fmt.Sprintf("my $unshare = %d;", unshare)+forkBomb)
		})
	}
}

// holdsForkBomb runs a bomb beside others, and stops it.
func holdsForkBomb(t *testing.T, bomb string) {
	t.Helper()
	const pids = 100
	m := newMachine(t)
	b := m.start("run", "shell", "--network", "none", "--pids", fmt.Sprint(pids), "--repo", m.repo("p", nil), "--", "sh", "-c",
		`echo work > work.txt; exec perl -e "$0"`, bomb)
	b.stdout.await(t, "processes\n")
	id := m.stored()[0].ID
	var most int
	if _, err := fmt.Sscanf(b.stdout.String(), "at most %d processes", &most); err != nil || most < pids/2 || most > pids {
		t.Errorf("in the sandbox are %d processes, %v", most, err)
	}
	// gVisor keeps processes of its own for those that have ended. A bomb without a limit has
	// thousands after a second.
	if n := m.top(id).Usage.Processes; n > 500 {
		t.Errorf("%d processes are %d on the host", pids, n)
	}
	m.answersSoon("a fork bomb")
	m.aibox(0, "stop", id)
	b.wait()
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	m.tidied()
}

// manyUsers starts processes that the kernel's limit, which is one for each user, does not
// count, and counts those of the sandbox.
const manyUsers = `
$| = 1;
my $user = 1000;
while (1) {
  $user++;
  if (!fork) { $( = $user; $) = "$user $user"; $< = $user; $> = $user; for (1..20) { last if !fork } sleep 1000; exit }
  opendir my $proc, "/proc" or next;
  print scalar(grep { /^[0-9]+$/ } readdir $proc), " processes\n";
  select undef, undef, undef, 0.2;
}
`

func TestAForkBombOfManyUsersEndsTheSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(5, "run", "shell", "--network", "none", "--timeout", "1m", "--pids", "100", "--repo", m.repo("p", nil), "--", "sh", "-c",
		`echo work > work.txt; exec perl -e "$0"`, manyUsers)
	if !strings.Contains(o.stderr, "more than its process limit of 100") || !strings.Contains(o.stderr, "--pids sets another limit") || !strings.Contains(o.stderr, "work.txt") {
		t.Errorf("the output is\n%s", o)
	}
	if !strings.Contains(o.stderr, "and its limit is 100; at the limit") {
		t.Errorf("nothing warns:\n%s", o)
	}
	for line := range strings.Lines(o.stdout) {
		var n int
		if _, err := fmt.Sscanf(line, "%d processes", &n); err == nil && n > 1000 {
			t.Errorf("in the sandbox were %d processes", n)
		}
	}
	if text := m.read(m.sessions(), m.stored()[0].ID, "audit.jsonl"); !strings.Contains(text, `"limit":"processes"`) {
		t.Errorf("the log has\n%s", text)
	}
	m.tidied()
}

// A bomb whose processes never wait keeps as many in the making as there are. gVisor has processes
// of its own for both, and keeps them.
func TestAForkBombEndsBeforeTheHostHasNoProcessesLeft(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(5, "run", "shell", "--network", "none", "--timeout", "4m", "--pids", "1000", "--repo", m.repo("p", nil), "--", "sh", "-c",
		`echo work > work.txt; exec perl -e 'fork while 1'`)
	if !strings.Contains(o.stderr, "processes and threads of this machine, and its limit is 3024, so it was ended") || !strings.Contains(o.stderr, "--pids sets another limit") {
		t.Errorf("the output is\n%s", o)
	}
	id := m.stored()[0].ID
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	if text := m.read(m.sessions(), id, "audit.jsonl"); !strings.Contains(text, `"limit":"tasks"`) {
		t.Errorf("the log has\n%s", text)
	}
	m.tidied()
}

func TestSettingsOfResourcesAreResolvedAndRecorded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "true")
	spec := m.read(m.sessions(), m.stored()[0].ID, "spec.json")
	if !strings.Contains(spec, `"memory": `) || !strings.Contains(spec, `"cpus": `) || strings.Contains(spec, "auto\",\n  \"memory") {
		t.Errorf("the record is\n%s", spec)
	}
	if !strings.Contains(o.stderr, "; at most ") {
		t.Errorf("the limits are not printed:\n%s", o)
	}
	if o := m.aibox(2, "run", "shell", "--memory", "16", "--repo", m.repo("q", nil), "--", "true"); !strings.Contains(o.stderr, "at least 64") {
		t.Errorf("the output is\n%s", o)
	}
}
