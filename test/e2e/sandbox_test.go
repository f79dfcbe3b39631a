package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/app/sandbox"
	"aibox/config"
	"aibox/internal/files"
	"aibox/session"
	"aibox/session/process"
)

// cpuTicks is the time that a process of the host has used, in clock ticks.
func cpuTicks(t testing.TB, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 13 {
		t.Fatalf("%q: %v", data, err)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	if userErr != nil || systemErr != nil {
		t.Fatal(userErr, systemErr)
	}
	return user + system
}

// sandboxServer is a process that creates sandboxes, as a server does; see command sandboxes.
type sandboxServer struct {
	m   *machine
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex

	volumes []string // of acme, that the end of the test deletes
}

// sandboxCall and sandboxResult are what command sandboxes reads and writes.
type sandboxCall struct {
	Do      string
	Request sandbox.Request
	Tenant  session.Tenant
	ID      session.ID
	Name    string
	Argv    []string
	Dir     string
	User    string
	By      time.Duration
	Change  session.SandboxChange
	Lists   session.NetworkLists
	Kind    string
}

type sandboxResult struct {
	Value json.RawMessage
	Kind  string
	Error string
	Took  time.Duration
}

// sandboxesProgram builds the command once.
var sandboxesProgram = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(aibox)
	program := filepath.Join(dir, "sandboxes")
	return program, goBuild("-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./sandboxes")
})

// sandboxes starts a server. Its sandboxes are destroyed at the end of the test.
func (m *machine) sandboxes() *sandboxServer {
	m.t.Helper()
	program, err := sandboxesProgram()
	if err != nil {
		m.t.Fatal(err)
	}
	s := &sandboxServer{m: m, cmd: m.cmd(program)}
	in, inErr := s.cmd.StdinPipe()
	out, outErr := s.cmd.StdoutPipe()
	s.in, s.out = in, bufio.NewReader(out)
	if inErr != nil || outErr != nil {
		m.t.Fatal(inErr, outErr)
	}
	s.cmd.Stderr = testWriter{m.t}
	if err := s.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		for _, r := range m.stored() {
			if r.State.Phase != "ended" && r.State.Phase != "warm" {
				m.exec(aibox, "stop", r.ID)
			}
		}
		for _, name := range s.volumes {
			s.call(sandboxCall{Do: "delete-volume", Tenant: "acme", Name: name}, nil)
		}
		_ = s.in.Close()
		_ = s.cmd.Wait()
	})
	return s
}

// testWriter writes to the log of a test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("sandboxes: %s", strings.TrimSpace(string(p)))
	return len(p), nil
}

// call makes one call and stores its value, unless value is nil. It returns the kind of the
// error, "" for none.
func (s *sandboxServer) call(c sandboxCall, value any) sandboxResult {
	s.m.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(s.in).Encode(c); err != nil {
		s.m.t.Fatal(err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.m.t.Fatal(err)
	}
	var result sandboxResult
	if err := json.Unmarshal(line, &result); err != nil {
		s.m.t.Fatal(err)
	}
	if value != nil && result.Kind == "" {
		if err := json.Unmarshal(result.Value, value); err != nil {
			s.m.t.Fatal(err)
		}
	}
	return result
}

// must is call for a call that succeeds.
func (s *sandboxServer) must(c sandboxCall, value any) time.Duration {
	s.m.t.Helper()
	result := s.call(c, value)
	if result.Kind != "" {
		s.m.t.Fatalf("%s: %s: %s", c.Do, result.Kind, result.Error)
	}
	return result.Took
}

// create creates a sandbox of tenant acme.
func (s *sandboxServer) create(r sandbox.Request) sandbox.Sandbox {
	s.m.t.Helper()
	if r.Tenant == "" {
		r.Tenant = "acme"
	}
	var made sandbox.Sandbox
	took := s.must(sandboxCall{Do: "create", Request: r}, &made)
	s.m.t.Logf("%s was created in %v", made.ID, took)
	return made
}

// printed is what a program in a sandbox printed, and its end.
type printed struct {
	Text string
	Exit process.Exit
}

// sh runs a script in a sandbox of acme.
func (s *sandboxServer) sh(id session.ID, script string) printed {
	s.m.t.Helper()
	var out printed
	s.must(sandboxCall{Do: "exec", Tenant: "acme", ID: id, Argv: []string{"sh", "-c", script}}, &out)
	return out
}

func (s *sandboxServer) get(id session.ID) sandbox.Sandbox {
	s.m.t.Helper()
	var found sandbox.Sandbox
	s.must(sandboxCall{Do: "get", Tenant: "acme", ID: id}, &found)
	return found
}

func sandboxSettings(t testing.TB, pairs ...string) config.RunOverrides {
	t.Helper()
	var o config.RunOverrides
	for _, pair := range pairs {
		key, text, _ := strings.Cut(pair, "=")
		if err := o.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestASandboxHasAUserOfItsOwnAndNoWayOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{Env: map[string]string{"GREETING": "hello"}, Labels: session.Labels{Name: "mine", Metadata: map[string]string{"a": "b"}}})
	if made.State != sandbox.Running || made.Network.Policy != "none" || made.User != "user" || made.Name != "mine" || made.Metadata["a"] != "b" {
		t.Errorf("%+v", made)
	}
	out := s.sh(made.ID, `id -un; pwd; echo $HOME $GREETING; echo x > ~/x && cat ~/x; touch /etc/x 2>&1; cat /proc/version
for to in 1.1.1.1:443 10.200.200.1:3128 10.200.200.1:11434 169.254.169.254:80; do curl -sS -m 3 http://$to/ >/dev/null 2>&1 && echo reached $to; done; echo over`)
	for _, want := range []string{"user\n/home/user\n/home/user hello\nx\n", "Permission denied", "version 4.4.0", "over"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("%q is not in\n%s", want, out.Text)
		}
	}
	if strings.Contains(out.Text, "reached") {
		t.Error(out.Text)
	}
	if r := s.call(sandboxCall{Do: "exec", Tenant: "acme", ID: made.ID, Argv: []string{"id"}, User: "root"}, nil); r.Kind != "refused" {
		t.Errorf("a process as root: %+v", r)
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "template code") || !strings.Contains(o.stdout, "mine") {
		t.Errorf("it is not listed:\n%s", o)
	}
	record := m.record(string(made.ID))
	s.must(sandboxCall{Do: "destroy", Tenant: "acme", ID: made.ID}, nil)
	if ended := s.get(made.ID); ended.State != sandbox.Ended || ended.Failure != nil || ended.Name != "mine" {
		t.Errorf("%+v", ended)
	}
	if record.State.Sandbox.Alive() || len(m.containers()) > 0 {
		t.Error("the sandbox still runs")
	}
	if files := m.holding("hello"); len(files) > 0 {
		t.Errorf("the value of a variable is in %q", files)
	}
	for _, command := range [][]string{{"diff"}, {"accept"}, {"discard"}, {"review"}, {"run", "--resume"}, {"open"}} {
		o := m.exec(aibox, append(command, string(made.ID))...)
		if o.code == 0 || strings.Contains(o.stderr, "panic") {
			t.Errorf("%v: %s", command, o)
		}
	}
	if o := m.aibox(0, "audit", string(made.ID)); !strings.Contains(o.stdout, "process.started") {
		t.Errorf("the log is not kept:\n%s", o)
	}
	m.aibox(0, "rm", string(made.ID))
	if r := s.call(sandboxCall{Do: "get", Tenant: "acme", ID: made.ID}, nil); r.Kind != "not-found" {
		t.Errorf("after rm: %+v", r)
	}
}

func TestASandboxIsInvisibleToOtherTenants(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	for _, do := range []string{"get", "destroy", "extend", "update", "network", "pause", "resume", "metrics", "exec"} {
		call := sandboxCall{Do: do, Tenant: "evil", ID: made.ID, Argv: []string{"id"}, By: time.Hour}
		of := s.call(call, nil)
		call.ID = "zzzzz-sandbox"
		missing := s.call(call, nil)
		if of.Kind != "not-found" || strings.ReplaceAll(missing.Error, "zzzzz-sandbox", string(made.ID)) != of.Error {
			t.Errorf("%s answers %+v, and for a missing one %+v", do, of, missing)
		}
	}
	var page sandbox.Page
	if s.must(sandboxCall{Do: "list", Tenant: "evil"}, &page); len(page.Sandboxes) > 0 {
		t.Errorf("another tenant lists %+v", page)
	}
	if s.must(sandboxCall{Do: "list", Tenant: "acme"}, &page); len(page.Sandboxes) != 1 {
		t.Errorf("its own tenant lists %+v", page)
	}
	if s.get(made.ID).State != sandbox.Running {
		t.Error("another tenant has ended it")
	}
}

func TestTheLimitsOfASandboxAreEnforced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{Settings: sandboxSettings(t, "memory=256", "pids=40", "timeout=1h")})
	out := s.sh(made.ID, `i=0; while [ $i -lt 80 ]; do sleep 5 & i=$((i+1)); done 2>&1 | head -3; echo over`)
	if !strings.Contains(strings.ToLower(out.Text), "fork") {
		t.Errorf("80 processes could be started under a limit of 40:\n%s", out.Text)
	}
	// It ends in the middle of this, so the call fails or reports a signal.
	s.call(sandboxCall{Do: "exec", Tenant: "acme", ID: made.ID, Argv: []string{"python3", "-c", "x = bytearray(2 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('all of it')"}}, nil)
	eventually(t, hung, "the sandbox is ended", func() bool { return s.get(made.ID).State == sandbox.Ended })
	if ended := s.get(made.ID); ended.Failure == nil || ended.Failure.Kind != "limit" {
		t.Errorf("it ended with %+v", ended.Failure)
	}
}

func TestTheTimeOfASandboxEndsItUnlessItIsExtended(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	begin := time.Now()
	short := s.create(sandbox.Request{Settings: sandboxSettings(t, "timeout=15s")})
	idle := s.create(sandbox.Request{Settings: sandboxSettings(t, "idle-timeout=15s")})
	paused := s.create(sandbox.Request{Settings: sandboxSettings(t, "timeout=15s"), OnTimeout: session.Pause})
	hour, soon := time.Hour, 15*time.Second
	var extended sandbox.Sandbox
	long := s.create(sandbox.Request{Settings: sandboxSettings(t, "timeout=15s")})
	s.must(sandboxCall{Do: "update", Tenant: "acme", ID: long.ID, Change: session.SandboxChange{Timeout: &hour}}, &extended)
	s.must(sandboxCall{Do: "extend", Tenant: "acme", ID: long.ID, By: hour}, &extended)
	if left := time.Until(extended.Expires); left < hour || left > 3*hour {
		t.Errorf("the extended sandbox expires in %v", left)
	}
	later := s.create(sandbox.Request{Settings: sandboxSettings(t, "idle-timeout=1h")})
	s.must(sandboxCall{Do: "update", Tenant: "acme", ID: later.ID, Change: session.SandboxChange{IdleTimeout: &soon}}, &later)
	kept := s.create(sandbox.Request{Settings: sandboxSettings(t, "idle-timeout=15s")})
	s.must(sandboxCall{Do: "update", Tenant: "acme", ID: kept.ID, Change: session.SandboxChange{IdleTimeout: &hour}}, &kept)
	if later.IdleTimeout != soon || kept.IdleTimeout != hour {
		t.Errorf("the idle timeouts are %v and %v", later.IdleTimeout, kept.IdleTimeout)
	}
	busy := s.create(sandbox.Request{Settings: sandboxSettings(t, "idle-timeout=8s")})
	if out := s.sh(busy.ID, "sleep 20; echo done"); out.Text != "done\n" {
		t.Errorf("a call without output in a sandbox with a shorter idle timeout: %+v", out)
	}
	for what, id := range map[string]session.ID{"timeout": short.ID, "idle timeout": idle.ID, "new idle timeout": later.ID, "idle timeout after a call": busy.ID} {
		eventually(t, hung, "the "+what+" ends the sandbox", func() bool { return s.get(id).State == sandbox.Ended })
		if ended := s.get(id); ended.Failure == nil || ended.Failure.Kind != "limit" {
			t.Errorf("%s: %+v", what, ended.Failure)
		}
	}
	if time.Since(begin) < 15*time.Second {
		t.Error("the time was too short")
	}
	eventually(t, hung, "the sandbox is paused", func() bool { return s.get(paused.ID).State == sandbox.Paused })
	if s.get(long.ID).State != sandbox.Running || s.get(kept.ID).State != sandbox.Running {
		t.Error("an extended sandbox has ended")
	}
	s.must(sandboxCall{Do: "resume", Tenant: "acme", ID: paused.ID}, nil)
	if out := s.sh(paused.ID, "echo here"); out.Text != "here\n" {
		t.Errorf("after the pause: %+v", out)
	}
}

func TestAPausedSandboxRunsNothingAndContinues(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	s.sh(made.ID, "setsid sh -c 'while :; do :; done' >/dev/null 2>&1 </dev/null & sleep 0.1") // keeps a processor busy
	var p sandbox.Sandbox
	if s.must(sandboxCall{Do: "pause", Tenant: "acme", ID: made.ID}, &p); p.State != sandbox.Paused {
		t.Errorf("%+v", p)
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "paused") {
		t.Errorf("%s", o)
	}
	if r := s.call(sandboxCall{Do: "exec", Tenant: "acme", ID: made.ID, Argv: []string{"id"}}, nil); r.Kind != "conflict" {
		t.Errorf("a process in a paused sandbox: %+v", r)
	}
	sandboxProcess := m.record(string(made.ID)).State.Sandbox
	ticks := cpuTicks(t, sandboxProcess.PID)
	eventually(t, hung, "12 s have passed", func() bool { return time.Since(p.Created) > 14*time.Second }) // longer than PID 1 may be silent
	if used := cpuTicks(t, sandboxProcess.PID) - ticks; used > 100 {
		t.Errorf("the paused sandbox has used %d ticks", used)
	}
	if s.must(sandboxCall{Do: "resume", Tenant: "acme", ID: made.ID}, &p); p.State != sandbox.Running {
		t.Errorf("%+v", p)
	}
	if out := s.sh(made.ID, "echo here"); out.Text != "here\n" {
		t.Errorf("%+v", out)
	}
	s.must(sandboxCall{Do: "pause", Tenant: "acme", ID: made.ID}, nil)
	s.must(sandboxCall{Do: "destroy", Tenant: "acme", ID: made.ID}, nil)
}

func TestTheNetworkOfARunningSandboxIsReplaced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	first, second := newOutside(t, nil), newOutside(t, nil)
	made := s.create(sandbox.Request{Settings: sandboxSettings(t, "allow=")})
	reached := func(o *outside) bool {
		return strings.Contains(s.sh(made.ID, "curl -sS -m 30 http://"+o.Name+"/hello").Text, "hello from")
	}
	if made.Network.Policy != "allowlist" || len(made.Network.Allow) > 0 || reached(first) {
		t.Errorf("an empty list allows %+v", made.Network)
	}
	set := func(hosts ...string) {
		hosts = append([]string{}, hosts...)
		s.must(sandboxCall{Do: "network", Tenant: "acme", ID: made.ID, Lists: session.NetworkLists{Allow: &hosts}}, nil)
	}
	set(first.Name)
	if !reached(first) || reached(second) {
		t.Error("the first list allows something else")
	}
	set(second.Name)
	if reached(first) || !reached(second) {
		t.Error("the second list allows something else")
	}
	set()
	if reached(first) || reached(second) {
		t.Error("the empty list allows something")
	}
	closed := s.create(sandbox.Request{})
	if r := s.call(sandboxCall{Do: "network", Tenant: "acme", ID: closed.ID, Lists: session.NetworkLists{Allow: &[]string{first.Name}}}, nil); r.Kind != "usage" {
		t.Errorf("a sandbox without a way out gets one: %+v", r)
	}
}

func TestThePermissionsOfASandboxAreEnforced(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	s.must(sandboxCall{Do: "volume", Tenant: "acme", Name: "data"}, nil)
	s.volumes = []string{"data"}
	confined := s.create(sandbox.Request{
		Permissions: session.Permissions{Files: session.FilePermissions{Write: []string{"/home/user/own"}, Hidden: []string{"/usr/lib/os-release", "/opt/*", "/usr/lib/apt"}}},
		Volumes:     []session.VolumeMount{{Volume: "data", Path: "/data"}},
	})
	out := s.sh(confined.ID, `for f in ~/x /var/tmp/x /dev/shm/x /run/x /run/lock/x /workspace/x /home/x /x; do touch $f 2>/dev/null && echo wrote $f; done
cat /etc/os-release 2>&1; ls /opt/*/ 2>&1; chmod 777 ~ 2>&1; touch ~/own/x /tmp/x /data/x && echo allowed
find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /data -o -path /home/user/own -o -path /dev \) -prune -o -writable -not -type l -print 2>/dev/null`)
	for _, bad := range []string{"wrote", "PRETTY_NAME"} {
		if strings.Contains(out.Text, bad) {
			t.Errorf("%q is in\n%s", bad, out.Text)
		}
	}
	if !strings.Contains(out.Text, "allowed") || strings.Contains(out.Text, "\n/home") || strings.Contains(out.Text, "\n/var") {
		t.Errorf("it can write elsewhere:\n%s", out.Text)
	}
	var inside printed
	s.must(sandboxCall{Do: "exec", Tenant: "acme", ID: confined.ID, Argv: []string{"ls"}, Dir: "/usr/lib/apt/methods"}, &inside)
	if inside.Exit.Code != 125 || strings.Contains(inside.Text, "http") {
		t.Errorf("a program starts in a folder that is hidden: %+v", inside)
	}
	for _, as := range []string{"root", "0", "user:0"} {
		c := m.files(string(confined.ID), as)
		if _, _, err := c.Read(t.Context(), "/usr/lib/os-release", files.Range{}); !hasCode(err, files.Permission) {
			t.Errorf("a hidden file is read as %s: %v", as, err)
		}
		if _, err := c.Write(t.Context(), "/etc/passwd", strings.NewReader("root::0:0::/:/bin/sh\n"), files.WriteOptions{}); !hasCode(err, files.Permission) {
			t.Errorf("a file of the system is written as %s: %v", as, err)
		}
		watching, stop := context.WithCancel(t.Context())
		if err := c.Watch(watching, "/usr/lib/apt", true, stop, func(files.Event) error { return nil }); !hasCode(err, files.Permission) {
			t.Errorf("a hidden folder is watched as %s: %v", as, err)
		}
		stop()
	}
	if _, err := m.files(string(confined.ID), "user").Write(t.Context(), "/home/user/own/y", strings.NewReader("y"), files.WriteOptions{}); err != nil {
		t.Errorf("the user writes no file of its own: %v", err)
	}
	if _, _, err := m.files(string(confined.ID), "").Read(t.Context(), "/usr/lib/os-release", files.Range{}); !hasCode(err, files.Permission) {
		t.Errorf("a hidden file is read: %v", err)
	}
	reader := s.create(sandbox.Request{ // /data/x belongs to its user
		Permissions: session.Permissions{Files: session.FilePermissions{Write: []string{"/home/user/own"}}},
		Volumes:     []session.VolumeMount{{Volume: "data", Path: "/data", ReadOnly: true}},
	})
	if out := s.sh(reader.ID, "touch ~/own/x && cat /data/x && echo read; touch /data/x ~/x || echo nothing else"); !strings.HasPrefix(out.Text, "read\n") || !strings.HasSuffix(out.Text, "nothing else\n") {
		t.Errorf("with a read-only volume:\n%s", out.Text)
	}
	full := s.create(sandbox.Request{Settings: sandboxSettings(t, "disk=16"), Volumes: []session.VolumeMount{{Volume: "data", Path: "/data"}}})
	s.call(sandboxCall{Do: "exec", Tenant: "acme", ID: full.ID, Argv: []string{"sh", "-c", "head -c 64m /dev/zero > /data/big; sleep 30"}}, nil)
	eventually(t, hung, "the full volume ends the sandbox", func() bool { return s.get(full.ID).State == sandbox.Ended })
	if ended := s.get(full.ID); ended.Failure == nil || ended.Failure.Kind != "limit" {
		t.Errorf("a volume grew by 64 MiB under a limit of 16: %+v", ended.Failure)
	}
	alone := s.create(sandbox.Request{
		Permissions: session.Permissions{Processes: session.ProcessPermissions{NoChildren: true}, Inbound: []int{8080}},
		Volumes:     []session.VolumeMount{{Volume: "data", Path: "/data", ReadOnly: true}},
	})
	var forked printed
	s.must(sandboxCall{Do: "exec", Tenant: "acme", ID: alone.ID, Argv: []string{"python3", "-c", `
import os, threading, subprocess
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()
for name, start in {"fork": os.fork, "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}), "run": lambda: subprocess.run(["/bin/true"])}.items():
    try:
        start()
        print("started by", name)
    except OSError as e:
        print(name, "refused")
print("x" in os.listdir("/data"))
try:
    open("/data/y", "w")
    print("wrote to a read-only volume")
except OSError:
    pass
`}}, &forked)
	few := s.create(sandbox.Request{Permissions: session.Permissions{Processes: session.ProcessPermissions{Max: 20}}})
	var started printed
	s.must(sandboxCall{Do: "exec", Tenant: "acme", ID: few.ID, Argv: []string{"python3", "-c", `
import os, signal
children = []
try:
    while len(children) < 100:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
    print("no limit")
except OSError:
    print("refused", 10 < len(children) <= 20) # runsc permits one more than Linux
for child in children:
    os.kill(child, signal.SIGKILL)
`}}, &started)
	if started.Text != "refused True\n" {
		t.Errorf("with at most 20 processes it prints\n%s", started.Text)
	}
	if want := "thread\nfork refused\nspawn refused\nrun refused\nTrue\n"; forked.Text != want {
		t.Errorf("got\n%s", forked.Text)
	}
}

func TestAVolumeOutlivesItsSandboxes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	s.must(sandboxCall{Do: "volume", Tenant: "acme", Name: "data"}, nil)
	s.must(sandboxCall{Do: "volume", Tenant: "evil", Name: "data"}, nil)
	mounts := []session.VolumeMount{{Volume: "data", Path: "/data"}}
	one := s.create(sandbox.Request{Volumes: mounts})
	s.sh(one.ID, "echo kept > /data/file; ln -s /etc/passwd /data/link; mkdir -m 0 /data/closed")
	s.must(sandboxCall{Do: "destroy", Tenant: "acme", ID: one.ID}, nil)
	two := s.create(sandbox.Request{Volumes: mounts})
	if out := s.sh(two.ID, "cat /data/file; head -1 /data/link"); !strings.HasPrefix(out.Text, "kept\n") || !strings.Contains(out.Text, "user:x:1000") && !strings.Contains(out.Text, "root:x:0") {
		t.Errorf("%s", out.Text)
	}
	var of sandbox.Sandbox
	s.must(sandboxCall{Do: "create", Request: sandbox.Request{Tenant: "evil", Volumes: mounts}}, &of)
	var out printed
	if s.must(sandboxCall{Do: "exec", Tenant: "evil", ID: of.ID, Argv: []string{"ls", "-A", "/data"}}, &out); out.Text != "" {
		t.Errorf("another tenant's volume of the same name has %q", out.Text)
	}
	if r := s.call(sandboxCall{Do: "delete-volume", Tenant: "acme", Name: "data"}, nil); r.Kind != "conflict" {
		t.Errorf("a volume that is in use: %+v", r)
	}
	s.must(sandboxCall{Do: "destroy", Tenant: "acme", ID: two.ID}, nil)
	s.must(sandboxCall{Do: "destroy", Tenant: "evil", ID: of.ID}, nil)
	for _, tenant := range []session.Tenant{"acme", "evil"} {
		s.must(sandboxCall{Do: "delete-volume", Tenant: tenant, Name: "data"}, nil)
	}
}

// The user of a sandbox owns the folders with write access, so a link in place of one of them, left
// in a volume by an earlier sandbox, must not give it a folder of the system.
func TestALinkInAVolumeGivesNoFolderOfTheSystemToTheUser(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	s.must(sandboxCall{Do: "volume", Tenant: "acme", Name: "data"}, nil)
	s.volumes = []string{"data"}
	mounts := []session.VolumeMount{{Volume: "data", Path: "/data"}}
	one := s.create(sandbox.Request{Volumes: mounts})
	s.sh(one.ID, "ln -s /etc /data/folder && mkdir /data/plain")
	s.must(sandboxCall{Do: "destroy", Tenant: "acme", ID: one.ID}, nil)
	for folder, starts := range map[string]bool{"/data/folder": false, "/data/plain": true} {
		request := sandbox.Request{Tenant: "acme", Volumes: mounts, Permissions: session.Permissions{Files: session.FilePermissions{Write: []string{folder}}}}
		var made sandbox.Sandbox
		failed := s.call(sandboxCall{Do: "create", Request: request}, &made)
		if (failed.Kind == "") != starts || !starts && !strings.Contains(failed.Error, "symlink") {
			t.Errorf("%s: %+v, %+v", folder, failed, made.ID)
		}
	}
}

func TestAKilledSupervisorLeavesNothingOfASandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	made := s.create(sandbox.Request{})
	s.sh(made.ID, "echo x > ~/x")
	r := m.record(string(made.ID))
	kill(t, r.State.Supervisor)
	r.sandboxEnds(t)
	m.aibox(0, "ls")
	if left := m.containers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if ended := s.get(made.ID); ended.State != sandbox.Ended || ended.Failure == nil || ended.Failure.Kind != "internal" {
		t.Errorf("%+v", ended)
	}
	eventually(t, hung, "the bridge is back in the pool", func() bool { return m.lease(r.State.Network.Bridge) })
}

func TestAWarmSandboxServesItsOwnPolicyOnceAndEndsWithItsPool(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.sandboxes()
	s.must(sandboxCall{Do: "pool", Kind: "code=3"}, nil)
	warm := func() (ids []session.ID) {
		s.must(sandboxCall{Do: "warm"}, &ids)
		return ids
	}
	eventually(t, limit, "three sandboxes are warm", func() bool { return len(warm()) == 3 })
	before := warm()
	var page sandbox.Page
	if s.must(sandboxCall{Do: "list", Tenant: "acme"}, &page); len(page.Sandboxes) > 0 {
		t.Errorf("a tenant sees warm sandboxes: %+v", page)
	}
	if r := s.call(sandboxCall{Do: "exec", Tenant: "", ID: before[0], Argv: []string{"id"}}, nil); r.Kind != "not-found" {
		t.Errorf("a tenant without a name reaches a warm sandbox: %+v", r)
	}
	// Another policy, other limits, other permissions: a cold start.
	for _, other := range []sandbox.Request{
		{Settings: sandboxSettings(t, "allow=a.example")}, {Settings: sandboxSettings(t, "memory=300")}, {Permissions: session.Permissions{Root: true}},
	} {
		if made := s.create(other); slices.Contains(before, made.ID) || made.Warm {
			t.Errorf("%+v got a warm sandbox", other)
		}
	}
	// A claim that names a warm sandbox of another policy is refused, and ends it.
	if r := s.call(sandboxCall{Do: "claim", ID: before[2], Request: sandbox.Request{Tenant: "acme", Settings: sandboxSettings(t, "network=public")}}, nil); r.Kind != "refused" {
		t.Errorf("a direct claim of another policy: %+v", r)
	}
	eventually(t, hung, "the refused sandbox is gone", func() bool {
		return !slices.ContainsFunc(m.stored(), func(r record) bool { return r.ID == string(before[2]) })
	})
	got := map[session.ID]bool{}
	for i := range 2 {
		made := s.create(sandbox.Request{Env: map[string]string{"N": fmt.Sprint(i)}, Settings: sandboxSettings(t, "timeout=20m"), Labels: session.Labels{Name: "claimed"}})
		if !slices.Contains(before, made.ID) || got[made.ID] || !made.Warm || made.Tenant != "acme" || made.Name != "claimed" {
			t.Errorf("%+v is not a warm sandbox of %v", made, before)
		}
		got[made.ID] = true
		if left := time.Until(made.Expires); left > 20*time.Minute || left < 19*time.Minute {
			t.Errorf("it expires in %v", left)
		}
		if out := s.sh(made.ID, "id -un; echo $N"); out.Text != fmt.Sprintf("user\n%d\n", i) {
			t.Errorf("%+v", out)
		}
		if r := s.call(sandboxCall{Do: "claim", ID: made.ID, Request: sandbox.Request{Tenant: "evil"}}, nil); r.Kind != "conflict" {
			t.Errorf("a second claim: %+v", r)
		}
		if log := m.aibox(0, "audit", string(made.ID)).stdout; strings.Count(log, "probes.ran") != 2 || !strings.Contains(log, "sandbox.claimed") {
			t.Errorf("the probes did not run again:\n%s", log)
		}
	}
	eventually(t, limit, "the pool is full again", func() bool { return len(warm()) == 3 })
	// After a change of the settings, the pool has sandboxes with the new ones.
	old := warm()
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "memory = 700\n")
	eventually(t, limit, "all warm sandboxes are new", func() bool {
		ids := warm()
		return len(ids) == 3 && !slices.ContainsFunc(ids, func(id session.ID) bool { return slices.Contains(old, id) })
	})
	if made := s.create(sandbox.Request{}); !made.Warm || made.Limits.Memory != 700<<20 {
		t.Errorf("with the new settings it is %+v", made)
	}
	eventually(t, hung, "the sandboxes with the old settings have ended", func() bool {
		return !slices.ContainsFunc(m.stored(), func(r record) bool { return slices.Contains(old, session.ID(r.ID)) })
	})
	left := warm()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, hung, "the warm sandboxes end with their pool", func() bool {
		return !slices.ContainsFunc(m.stored(), func(r record) bool { return slices.Contains(left, session.ID(r.ID)) })
	})
	for id := range got {
		if r := m.record(string(id)); !r.State.Sandbox.Alive() {
			t.Errorf("the claimed sandbox %s has ended with the pool", id)
		}
	}
}
