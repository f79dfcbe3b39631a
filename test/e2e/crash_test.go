package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/internal/amount"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// worker is an agent that changes a file and then runs forever.
const worker = "echo work > work.txt; echo ready; while :; do sleep 0.2; done"

func TestKillingTheClientHarmsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	client := m.start("run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c",
		"echo ready; until test -e go; do sleep 0.05; done; echo done > work.txt; echo finished; exit 3")
	client.stdout.await(t, "ready")
	client.kill()
	r := m.stored()[0]
	if !r.State.Supervisor.Alive() || !r.State.Sandbox.Alive() {
		t.Fatal("the session died with its client")
	}
	again := m.start("attach", r.ID)
	again.stdout.await(t, "ready")
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	if code := again.wait(); code != 1 || again.stdout.String() != "ready\nfinished\n" {
		t.Errorf("attach ends with %d and %q", code, again.stdout.String())
	}
	if end := m.record(r.ID).State.Result; end.ExitCode != 3 || !end.Changed {
		t.Errorf("the result is %+v", end)
	}
}

func TestKillingTheSupervisorEndsTheSandboxAndTheNextCommandRepairs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	r := m.record(id)
	kill(t, r.State.Supervisor)
	r.sandboxEnds(t)
	if code := watcher.wait(); code != 1 || !strings.Contains(watcher.stderr.String(), "supervisor died") {
		t.Errorf("the watcher exits with %d and prints %q", code, watcher.stderr.String())
	}
	o := m.aibox(0, "ls")
	if !strings.Contains(o.stderr, "cleaned up after "+id) || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stdout, "failed") {
		t.Errorf("the repair is not one clear line:\n%s", o)
	}
	if o := m.aibox(0, "ls"); o.stderr != "" {
		t.Errorf("it is repaired a second time:\n%s", o)
	}
	if left := m.containers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if o := m.aibox(0, "logs", id); o.stdout != "ready\n" {
		t.Errorf("the record is not kept:\n%s", o)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	// Another test's session can hold the bridge for a moment while it looks for a network.
	eventually(t, hung, "the bridge is back in the pool", func() bool { return m.lease(r.State.Network.Bridge) })
	m.aibox(0, "accept", id)
	m.aibox(0, "rm", id)
}

// lease reports whether no session on this machine holds a bridge.
func (m *machine) lease(bridge string) bool {
	for _, r := range m.stored() {
		if r.State.Network.Bridge == bridge && r.State.Supervisor.Alive() {
			return false
		}
	}
	file, err := os.Open(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "aibox/networks", bridge+".lease"))
	if err != nil {
		return true
	}
	defer file.Close()
	// If another test's session has taken the bridge meanwhile, it had been released.
	holder, _ := os.ReadFile(file.Name())
	free := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
	return free || string(holder) != m.stored()[0].ID
}

func kill(t testing.TB, p runtime.Process) {
	t.Helper()
	if err := runtime.KillProcess(p); err != nil {
		t.Fatal(err)
	}
	eventually(t, hung, "a killed process is gone", func() bool { return !p.Alive() })
}

// A supervisor reports each stage of the start on its standard output. It is
// killed the moment it reports one, and the next command has to leave nothing.
func TestASupervisorKilledDuringItsStartLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, stage := range []struct {
		name string
		done bool
	}{
		{"workspace", false},
		{"network", true},
		{"workspace", true},
		{"sandbox", false},
		{"sandbox", true},
		{"probes", false},
	} {
		name := stage.name + " begins"
		if stage.done {
			name = stage.name + " is done"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
				files["folder/"+name] = strings.Repeat(name+"\n", 10_000)
			}
			var m *machine
			untilKilledInTime(t, func() bool {
				m = newMachine(t)
				return m.dieAt(session.Spec{Repository: m.repo("p", files)}, stage.name, stage.done)
			})
			// The sandbox ends by itself; no command has been given yet.
			for _, r := range m.stored() {
				r.sandboxEnds(t)
			}
			// A child that was being forked holds the lock for another moment.
			var o outcome
			printed := ""
			eventually(t, hung, "the next command repairs", func() bool {
				o = m.aibox(0, "ls", "--json")
				printed += o.stderr
				return strings.TrimSpace(o.stdout) == "[]"
			})
			if strings.Contains(printed, "its agent's work is kept") || strings.Count(printed, "its agent had not started") != 1 {
				t.Errorf("the repair prints %q", printed)
			}
			if left := glob(t, filepath.Join(m.sessions(), "*")); len(left) > 0 {
				t.Errorf("sessions are left: %q\n%s", left, o)
			}
			if left := glob(t, filepath.Join(m.home, "agent_workspace/*")); len(left) > 0 {
				t.Errorf("workspaces are left: %q\n%s", left, o)
			}
			if left := m.containers(); len(left) > 0 {
				t.Errorf("containers are left: %q\n%s", left, o)
			}
			if left := glob(t, filepath.Join(m.home, ".local/share/aibox/repos/*/refs/aibox/*")); len(left) > 0 {
				t.Errorf("refs are left: %q\n%s", left, o)
			}
		})
	}
}

// untilKilledInTime repeats kill, which calls dieAt on a new machine, until it succeeds.
func untilKilledInTime(t *testing.T, kill func() bool) {
	t.Helper()
	for range 10 {
		if kill() {
			return
		}
	}
	t.Fatal("the supervisor was always killed too late")
}

// dieAt starts a supervisor as `aibox run shell` does and kills it when it reports
// that stage. It returns false if the agent had started by then: on a busy machine the
// report may be read late, and the session counts as one whose agent ran.
func (m *machine) dieAt(spec session.Spec, stage string, done bool) bool {
	m.t.Helper()
	image := strings.TrimSpace(m.exec("docker", "image", "inspect", "--format", "{{.Id}}", baseImage(m)).stdout)
	spec.Agent, spec.Args, spec.Network = "shell", []string{"sh", "-c", worker}, netguard.None.String()
	spec.Image, spec.Timeout = image, amount.Duration(time.Minute)
	launch, err := json.Marshal(session.Launch{ImageID: runtime.ImageID(image), Spec: spec})
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := m.cmd(aibox, "supervise")
	cmd.Stdin = strings.NewReader(string(launch))
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var printed []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed = append(printed, lines.Text())
		var line struct{ Step *session.Step }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			m.t.Fatal(err)
		}
		if line.Step != nil && line.Step.Name == stage && line.Step.Done == done {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return !slices.ContainsFunc(m.stored(), func(r record) bool {
				return r.State.Phase != string(session.Ended) && !r.State.Started.IsZero()
			})
		}
	}
	m.t.Fatalf("the stage never came: %q", printed)
	return false
}

// baseImage is the image of the shell agent.
func baseImage(m *machine) string {
	m.t.Helper()
	return strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
}

func TestTheNextRunReusesTheNetworkOfADeadSession(t *testing.T) {
	// Not parallel: other tests would take the network first.
	m := newMachine(t)
	repo := m.repo("p", nil)
	id := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", worker)
	r := m.record(id)
	there := m.exec("docker", "network", "ls", "-q", "--no-trunc", "--filter", "label=aibox.pool").stdout
	kill(t, r.State.Supervisor)
	after := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "true"))
	if next := m.record(after.ID).State.Network; !strings.Contains(there, next.ID) {
		t.Errorf("a new network was made, %s, though that of the dead session, %s, was free", next.Bridge, r.State.Network.Bridge)
	}
}

// SIGTERM to a supervisor, as at a machine's shutdown, is a stop: the work is kept.
func TestASupervisorThatIsTerminatedKeepsTheWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	if err := syscall.Kill(m.record(id).State.Supervisor.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	watcher.ends(130)
	if r := m.record(id).State.Result; r == nil || !r.Changed {
		t.Errorf("the result is %+v", r)
	}
}

// A record that a crash damaged does not hide other sessions.
func TestADamagedRecordIsReportedAndHidesNoOther(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "true"))
	torn := filepath.Join(m.sessions(), "00000-torn")
	m.write(filepath.Join(torn, "spec.json"), `{"id": "00000-to`)
	cmd := exec.CommandContext(t.Context(), aibox, "ls")
	cmd.Env = m.env
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), r.ID) || !strings.Contains(string(out), "damaged") {
		t.Errorf("ls prints\n%s", out)
	}
	m.aibox(0, "rm", r.ID)
}
