package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aibox/app/sandbox"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/process"
	"aibox/session/snapshot"
)

// counterProgram counts in memory, and answers with its count on a port. It writes the count to
// three places, and tries to reach the supervisor of its sandbox all the time.
const counterProgram = `
import socket, threading, time, os
n = 0
opened = []
def dial():
    while True:
        try:
            s = socket.create_connection(("10.200.200.1", ` + "%d" + `), 1)
            opened.append(s)
            s.settimeout(1)
            try:
                got = s.recv(100)
            except Exception as e:
                got = repr(e).encode()
            open("/tmp/reached", "ab").write(got + b"\n")
        except OSError:
            pass
threading.Thread(target=dial, daemon=True).start()
while True:
    n += 1
    for path in ("/tmp/n", "/home/user/n", "/workspace/n"):
        with open(path + ".new", "w") as f:
            f.write(str(n))
        os.rename(path + ".new", path)
    print(n, flush=True)
    time.sleep(0.02)
`

// counting is a sandbox of acme in which the counter runs.
func (s *sandboxServer) counting(r sandbox.Request) (sandbox.Sandbox, process.Info) {
	s.m.t.Helper()
	r.Permissions.Root = true
	made := s.create(r)
	s.must(sandboxCall{Do: "exec", Tenant: "acme", ID: made.ID, User: "root", Argv: []string{"sh", "-c", "mkdir -p /workspace && chmod 777 /workspace && echo kept >/etc/of-root"}}, nil)
	var counter process.Info
	s.must(sandboxCall{Do: "launch", Tenant: "acme", ID: made.ID, Argv: []string{"python3", "-c", fmt.Sprintf(counterProgram, netguard.PortLifeline)}}, &counter)
	s.counts(made.ID)
	return made, counter
}

// counts waits until the counter of a sandbox counts, and returns what it has counted.
func (s *sandboxServer) counts(id session.ID) int {
	s.m.t.Helper()
	var n int
	first := -1
	eventually(s.m.t, hung, "the program counts", func() bool {
		var err error
		out := strings.TrimSpace(s.sh(id, "cat /tmp/n").Text)
		if n, err = strconv.Atoi(out); err != nil {
			return false
		}
		if first < 0 {
			first = n
		}
		return n > first
	})
	return n
}

func (s *sandboxServer) snapshot(id session.ID) snapshot.Snapshot {
	s.m.t.Helper()
	var taken snapshot.Snapshot
	took := s.must(sandboxCall{Do: "snapshot", Tenant: "acme", ID: id, Name: "a name"}, &taken)
	s.m.t.Logf("the snapshot of %d bytes took %v", taken.Bytes, took)
	return taken
}

// restore creates a sandbox from a snapshot.
func (s *sandboxServer) restore(taken snapshot.Snapshot, r sandbox.Request) sandbox.Sandbox {
	s.m.t.Helper()
	r.Snapshot = taken.ID
	return s.create(r)
}

// folderOf returns the folder of a snapshot of acme.
func (m *machine) folderOf(taken snapshot.Snapshot) string {
	return filepath.Join(m.home, ".local/share/aibox/snapshots/acme", taken.ID)
}

func TestTwoSandboxesContinueFromASnapshotOnTheirOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	original, counter := s.counting(sandbox.Request{Env: map[string]string{"GREETING": "hello"}})
	before := s.counts(original.ID)
	taken := s.snapshot(original.ID)
	if taken.Name != "a name" || taken.Sandbox != original.ID || len(taken.Processes) != 1 || taken.Bytes == 0 {
		t.Errorf("%+v", taken)
	}
	if s.counts(original.ID) <= before {
		t.Error("the sandbox did not run on")
	}
	closed := s.restore(taken, sandbox.Request{})
	open := s.restore(taken, sandbox.Request{Settings: sandboxSettings(t, "allow=a.example"), Env: map[string]string{"GREETING": "bye"}})
	if closed.Network.Policy != "none" || open.Network.Policy != "allowlist" || closed.User != "user" || closed.Snapshot != taken.ID || closed.ID == open.ID {
		t.Errorf("%+v\n%+v", closed, open)
	}
	for _, fork := range []sandbox.Sandbox{closed, open} {
		if n := s.counts(fork.ID); n < before {
			t.Errorf("%s: the counter starts again, at %d after %d", fork.ID, n, before)
		}
		var all []process.Info
		s.must(sandboxCall{Do: "processes", Tenant: "acme", ID: fork.ID}, &all)
		if len(all) == 0 || all[0].ID != counter.ID || all[0].PID != counter.PID || !all[0].Ended.IsZero() {
			t.Errorf("%s: the processes are %+v", fork.ID, all)
		}
		out := s.sh(fork.ID, "cat /etc/of-root; cat /tmp/reached; cat /workspace/n /home/user/n >/dev/null && echo both; echo $GREETING,$HTTP_PROXY")
		want := map[session.ID]string{closed.ID: "hello,", open.ID: "bye,http://10.200.200.1:3128"}[fork.ID]
		if !strings.HasPrefix(out.Text, "kept\n") || !strings.Contains(out.Text, "both\n"+want+"\n") {
			t.Errorf("%s: %q", fork.ID, out.Text)
		}
		if got := s.sh(fork.ID, "cat /tmp/reached 2>/dev/null").Text; got != "" {
			t.Errorf("%s: a process reached the supervisor, and got %q", fork.ID, got)
		}
		log := m.aibox(0, "audit", string(fork.ID)).stdout
		for _, event := range []string{"probes.ran", "sandbox.restored", "network.guarded"} {
			if !strings.Contains(log, event) {
				t.Errorf("%s: the log has no %s:\n%s", fork.ID, event, log)
			}
		}
		if out := s.sh(fork.ID, "curl -sS -m 5 http://1.1.1.1/ 2>&1; curl -sS -m 5 --noproxy '*' http://1.1.1.1/ >/dev/null && echo reached"); strings.Contains(out.Text, "reached") {
			t.Errorf("%s: %s", fork.ID, out.Text)
		}
	}
	s.sh(closed.ID, "echo of-one >/home/user/mine")
	for _, other := range []session.ID{original.ID, open.ID} {
		if out := s.sh(other, "cat /home/user/mine"); out.Exit.Code == 0 {
			t.Errorf("%s shares files with another: %q", other, out.Text)
		}
	}
	if log := m.aibox(0, "audit", string(original.ID)).stdout; !strings.Contains(log, "sandbox.snapshot") {
		t.Errorf("the log of the original has no snapshot:\n%s", log)
	}
	// A sandbox that was restored can be stored, and its snapshot needs no other.
	second := s.snapshot(open.ID)
	s.must(sandboxCall{Do: "delete-snapshot", Tenant: "acme", Name: taken.ID}, nil)
	again := s.restore(second, sandbox.Request{})
	if n := s.counts(again.ID); n < before || again.Network.Policy != "allowlist" {
		t.Errorf("the second one counts %d, and has the policy %s", n, again.Network.Policy)
	}
	if files := m.holding("GREETING=hello"); len(files) > 0 && strings.Contains(strings.Join(files, " "), "manifest") {
		t.Errorf("the value of a variable is in %q", files)
	}
}

func TestASnapshotThatWasChangedIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	taken := s.snapshot(made.ID)
	changes := map[string]func(folder string){
		"a byte of a file": func(folder string) {
			path := filepath.Join(folder, "state", taken.Files[0].Name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a further file": func(folder string) {
			if err := os.WriteFile(filepath.Join(folder, "state", "more"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a link in place of a file": func(folder string) {
			path := filepath.Join(folder, "state", taken.Files[1].Name)
			if err := os.Rename(path, folder+"/aside"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(folder+"/aside", path); err != nil {
				t.Fatal(err)
			}
		},
		"no manifest": func(folder string) {
			if err := os.WriteFile(filepath.Join(folder, "manifest.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, change := range changes {
		one := s.snapshot(made.ID)
		taken = one
		change(m.folderOf(one))
		r := s.call(sandboxCall{Do: "create", Request: sandbox.Request{Tenant: "acme", Snapshot: one.ID}}, nil)
		if r.Kind != "refused" || !strings.Contains(r.Error, "damaged") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := len(m.containers()); n != 1 {
		t.Errorf("%d containers run", n)
	}
}

func TestSnapshotsAreInvisibleToOtherTenants(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	taken := s.snapshot(made.ID)
	for _, call := range []sandboxCall{
		{Do: "create", Request: sandbox.Request{Tenant: "evil", Snapshot: taken.ID}},
		{Do: "create", Request: sandbox.Request{Tenant: "evil", Snapshot: "../acme/" + taken.ID}},
		{Do: "delete-snapshot", Tenant: "evil", Name: taken.ID},
		{Do: "delete-snapshot", Tenant: "acme", Name: "../acme/" + taken.ID},
		{Do: "snapshot", Tenant: "evil", ID: made.ID},
	} {
		if r := s.call(call, nil); r.Kind != "not-found" {
			t.Errorf("%+v: %+v", call, r)
		}
	}
	var all []snapshot.Snapshot
	if s.must(sandboxCall{Do: "snapshots", Tenant: "evil"}, &all); len(all) != 0 {
		t.Errorf("another tenant lists %+v", all)
	}
	if s.must(sandboxCall{Do: "snapshots", Tenant: "acme"}, &all); len(all) != 1 || all[0].ID != taken.ID {
		t.Errorf("its own tenant lists %+v", all)
	}
	if info, err := os.Stat(m.folderOf(taken)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestWhatASnapshotCannotHoldIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	taken := s.snapshot(made.ID)
	for name, r := range map[string]sandbox.Request{
		"another template":          {Template: "browser"},
		"root":                      {Permissions: session.Permissions{Root: true}},
		"a restriction of files":    {Permissions: session.Permissions{Files: session.FilePermissions{Write: []string{"/x"}}}},
		"a limit of processes":      {Settings: sandboxSettings(t, "pids=77")},
		"a volume":                  {Volumes: []session.VolumeMount{{Volume: "v", Path: "/v"}}},
		"less memory than possible": {Settings: sandboxSettings(t, "memory=1")},
	} {
		r.Tenant, r.Snapshot = "acme", taken.ID
		if got := s.call(sandboxCall{Do: "create", Request: r}, nil); got.Kind != "refused" && got.Kind != "usage" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s.must(sandboxCall{Do: "launch", Tenant: "acme", ID: made.ID, Name: "tty", Argv: []string{"sh"}}, nil)
	if r := s.call(sandboxCall{Do: "snapshot", Tenant: "acme", ID: made.ID}, nil); r.Kind != "refused" || !strings.Contains(r.Error, "terminal") {
		t.Errorf("with a terminal: %+v", r)
	}
	if out := s.sh(made.ID, "echo here"); out.Text != "here\n" {
		t.Errorf("after it was refused: %+v", out)
	}
	s.must(sandboxCall{Do: "pause", Tenant: "acme", ID: made.ID}, nil)
	if r := s.call(sandboxCall{Do: "snapshot", Tenant: "acme", ID: made.ID}, nil); r.Kind != "conflict" {
		t.Errorf("of a paused one: %+v", r)
	}
}

// drafts returns the folders of snapshots that are not whole.
func (m *machine) drafts() []string {
	found, err := filepath.Glob(filepath.Join(m.home, ".local/share/aibox/snapshots/*/.new-*"))
	if err != nil {
		m.t.Fatal(err)
	}
	return found
}

// killCheckpoint kills the process that writes the state of a sandbox, as soon as there is one.
func (m *machine) killCheckpoint(stop <-chan struct{}) (killed bool) {
	for {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			m.t.Error(err)
			return false
		}
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err != nil {
				continue
			}
			line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
			if err == nil && bytes.Contains(line, []byte("\x00checkpoint\x00")) && bytes.Contains(line, []byte(m.home)) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		select {
		case <-stop:
			return false
		default:
		}
	}
}

func TestASnapshotThatIsKilledLeavesTheSandboxRunningAndNothingElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made, _ := s.counting(sandbox.Request{})
	s.must(sandboxCall{Do: "launch", Tenant: "acme", ID: made.ID, Argv: []string{"python3", "-c", "import os, time; x = [os.urandom(1 << 20) for i in range(200)]; open('/tmp/full', 'w'); time.sleep(1e6)"}}, nil)
	eventually(t, hung, "the memory is in use", func() bool { return s.sh(made.ID, "test -e /tmp/full").Exit.Code == 0 })

	stop, killed := make(chan struct{}), make(chan bool)
	go func() { killed <- m.killCheckpoint(stop) }()
	r := s.call(sandboxCall{Do: "snapshot", Tenant: "acme", ID: made.ID}, nil)
	close(stop)
	if !<-killed {
		t.Fatalf("nothing was killed: %+v", r)
	}
	if r.Kind != "environment" {
		t.Errorf("the killed one: %+v", r)
	}
	s.counts(made.ID)
	var all []snapshot.Snapshot
	if s.must(sandboxCall{Do: "snapshots", Tenant: "acme"}, &all); len(all) != 0 || len(m.drafts()) != 0 {
		t.Errorf("left are %+v and %q", all, m.drafts())
	}
	taken := s.snapshot(made.ID) // the next one works
	s.restore(taken, sandbox.Request{})

	// The supervisor of a sandbox dies while it stores the state: the sandbox ends with it, as
	// always, and the next command removes the rest.
	supervisor := m.record(string(made.ID)).State.Supervisor.PID
	done := make(chan struct{})
	go func() {
		defer close(done)
		eventually(t, hung, "a snapshot is being taken", func() bool {
			// Before it is locked, the next command takes it for one that another process begins.
			locked, err := filepath.Glob(filepath.Join(m.home, ".local/share/aibox/snapshots/*/.new-*/lock"))
			return err == nil && len(locked) > 0
		})
		if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	if r := s.call(sandboxCall{Do: "snapshot", Tenant: "acme", ID: made.ID}, nil); r.Kind == "" {
		t.Error("the snapshot of a dead supervisor was taken")
	}
	<-done
	eventually(t, hung, "the sandbox has ended", func() bool {
		m.aibox(0, "ls")
		m.aibox(0, "gc", "--dry-run")
		return s.get(made.ID).State == sandbox.Ended && len(m.drafts()) == 0
	})
	if s.must(sandboxCall{Do: "snapshots", Tenant: "acme"}, &all); len(all) != 1 {
		t.Errorf("the list is %+v", all)
	}
}

func TestTheCommandLineTakesSnapshotsAndForks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	one := func(args ...string) string {
		return strings.TrimSpace(m.aibox(0, append([]string{"sandbox"}, args...)...).stdout)
	}
	made := one("create", "--name", "first", "--allow", "a.example", "--memory", "512")
	t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" {
				m.exec(aibox, "stop", r.ID)
			}
		}
	})
	one("exec", made, "--", "sh", "-c", "echo kept >/tmp/file")
	taken := one("snapshot", made, "--name", "mine")
	if list := one("snapshots"); !strings.Contains(list, taken) || !strings.Contains(list, "mine") || !strings.Contains(list, made) {
		t.Errorf("the list is\n%s", list)
	}
	restored := one("create", "--snapshot", strings.TrimPrefix(taken, "snap-")[:6], "--network", "none")
	fork := one("fork", made)
	for id, want := range map[string]string{restored: `"NETWORK_MODE_NONE"`, fork: `"NETWORK_MODE_ALLOWLIST"`} {
		if out := one("exec", id, "--", "cat", "/tmp/file"); out != "kept" || id == made {
			t.Errorf("%s has %q", id, out)
		}
		if got := one("get", id, "--json"); !strings.Contains(got, want) || !strings.Contains(got, `"memoryMib": "512"`) || !strings.Contains(got, `"snapshotId": "snap-`) {
			t.Errorf("%s is %s", id, got)
		}
	}
	if o := m.exec(aibox, "sandbox", "create", "--snapshot", taken, "--template", "browser"); o.code != 2 {
		t.Errorf("another template: %s", o)
	}
	if out := one("snapshots", "rm", taken); out != taken {
		t.Errorf("rm prints %q", out)
	}
	if o := m.exec(aibox, "sandbox", "create", "--snapshot", taken); o.code == 0 || !strings.Contains(o.stderr, "there is no snapshot") {
		t.Errorf("after rm: %s", o)
	}
	if list := one("snapshots"); strings.Contains(list, "snap-") {
		t.Errorf("the fork has left\n%s", list)
	}
}
