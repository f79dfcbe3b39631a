package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aibox/runtime/runtimetest"
)

// daemon is a rootless Docker of this test, which the test may kill.
type daemon struct {
	m      *machine
	dir    string
	log    *watched
	cmd    *exec.Cmd
	args   []string // of runsc; nil are those of the user's daemon
	exited chan struct{}
}

// newDaemon starts a daemon with the user's runtimes, and points m to it.
func newDaemon(m *machine) *daemon {
	m.t.Helper()
	return newDaemonWith(m, nil)
}

// newDaemonWith is newDaemon with other arguments of runsc.
func newDaemonWith(m *machine, args []string) *daemon {
	m.t.Helper()
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		m.t.Fatal(err)
	}
	d := &daemon{m: m, dir: dir, args: args}
	m.env = append(m.env, "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "DOCKER_HOST=unix://"+filepath.Join(dir, "run/docker.sock"))
	m.write(filepath.Join(dir, "run/.keep"), "")
	m.t.Cleanup(d.remove)
	d.start()
	return d
}

// start starts the daemon and waits until it answers. What a killed one has left is ended
// first, and one that ends before it answers is started again, as systemd does (KillMode,
// Restart): on a busy machine RootlessKit sometimes fails to set up its network.
func (d *daemon) start() {
	d.m.t.Helper()
	var log string
	for range 3 {
		if d.starts() {
			return
		}
		log = d.log.String()
	}
	d.m.t.Fatalf("the test's own daemon does not start:\n%s", log)
}

// starts starts the daemon. It returns false if it ends before it answers.
func (d *daemon) starts() (answers bool) {
	d.m.t.Helper()
	d.sweep()
	d.cmd = d.m.cmd(runtimetest.RootlessScript(d.m.t), "--data-root", filepath.Join(d.dir, "data"), "--config-file", d.config(), "--iptables=true")
	d.log, d.exited = newWatched(), make(chan struct{})
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	// RootlessKit, which is killed, leaves a folder among the temporary files.
	d.cmd.Env = append(d.cmd.Env, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "TMPDIR="+d.dir)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.cmd.Start(); err != nil {
		d.m.t.Fatal(err)
	}
	exited := d.exited
	go func() { defer close(exited); _ = d.cmd.Wait() }()
	eventually(d.m.t, 5*time.Minute, "the test's own daemon answers or ends", func() bool {
		answers = d.m.exec("docker", "version").code == 0
		select {
		case <-exited:
			return true
		default:
			return answers
		}
	})
	return answers
}

// config is the user's own daemon.json without what can be there once only.
func (d *daemon) config() string {
	d.m.t.Helper()
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".config")
	}
	var all map[string]json.RawMessage
	decode(d.m.t, d.m.read(dir, "docker/daemon.json"), &all)
	if d.args != nil {
		var runtimes map[string]map[string]any
		decode(d.m.t, string(all["runtimes"]), &runtimes)
		runtimes["runsc"]["runtimeArgs"] = d.args
		changed, err := json.Marshal(runtimes)
		if err != nil {
			d.m.t.Fatal(err)
		}
		all["runtimes"] = changed
	}
	only, err := json.Marshal(map[string]json.RawMessage{"runtimes": all["runtimes"]})
	if err != nil {
		d.m.t.Fatal(err)
	}
	file := filepath.Join(d.dir, "daemon.json")
	d.m.write(file, string(only))
	return file
}

// sweep ends the daemon's containerd and shims.
func (d *daemon) sweep() {
	for _, pid := range mentioning(d.dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	eventually(d.m.t, hung, "the daemon's remains are gone", func() bool { return len(mentioning(d.dir)) == 0 })
	// dockerd would wait for another process that has one of these pids now, or not start.
	_ = os.Remove(filepath.Join(d.dir, "run/docker/containerd/containerd.pid"))
	_ = os.Remove(filepath.Join(d.dir, "run/docker.pid"))
}

// kill kills dockerd with SIGKILL.
func (d *daemon) kill() {
	d.m.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(d.m.read(d.dir, "run/docker.pid")))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		d.m.t.Fatal(err)
	}
}

// remove ends the daemon and deletes its data, which belongs to subordinate ids.
func (d *daemon) remove() {
	if d.cmd == nil || d.cmd.Process == nil { // it never started
		_ = os.RemoveAll(d.dir)
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(hung):
		d.m.t.Errorf("the test's own daemon does not end:\n%s", d.log.String())
		_ = d.cmd.Process.Kill()
	}
	d.sweep()
	runtimetest.RemoveRootless(d.m.t, d.dir)
}

// mentioning are the pids whose command line contains text.
func mentioning(text string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// workerProgram builds the worker once.
var workerProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(aibox), "worker")
	return program, goBuild("-o", program, "./testdata/worker")
})

// image imports an image that holds the worker alone.
func (d *daemon) image() string {
	d.m.t.Helper()
	program, err := workerProgram()
	if err != nil {
		d.m.t.Fatal(err)
	}
	content := d.m.read(program)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err = w.WriteHeader(&tar.Header{Name: "worker", Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil { // for verifications
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/sh", Linkname: "/worker"})
	}
	if err := errors.Join(err, w.Close()); err != nil {
		d.m.t.Fatal(err)
	}
	cmd := d.m.cmd("docker", "import", "-c", "ENV HOME=/root", "-", "worker:1")
	cmd.Stdin = &archive
	if o := d.m.finish(cmd); o.code != 0 {
		d.m.t.Fatal(o)
	}
	return "worker:1"
}

func TestKillingDockerEndsTheSandboxAndKeepsTheWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := newDaemon(m)
	image, repo := d.image(), m.repo("p", nil)
	args := []string{"run", "shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker"}
	client := m.start(append(args, "forever")...)
	client.stdout.await(t, "ready")
	r := m.stored()[0]

	d.kill()
	r.sandboxEnds(t)
	if code := client.wait(); code != 3 || !strings.Contains(client.stderr.String(), "Docker stopped") || !strings.Contains(client.stderr.String(), "→") {
		t.Errorf("the client exits with %d and prints\n%s", code, client.stderr.String())
	}
	eventually(t, hung, "the sandbox's shim is gone", func() bool { return len(mentioning(r.State.Container)) == 0 })
	if o := m.aibox(0, "diff", r.ID); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	if o := m.aibox(3, args...); !strings.Contains(o.stderr, "no Docker daemon answers") {
		t.Errorf("without a daemon a run prints\n%s", o)
	}
	select {
	case <-d.exited:
	case <-time.After(hung):
		t.Fatal("RootlessKit lives on without its dockerd")
	}

	d.start()
	if o := m.aibox(0, "run", "shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker"); !strings.Contains(o.stderr, "17 of 17") {
		t.Errorf("after the restart a run prints\n%s", o)
	}
	if left := m.leftContainers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	m.aibox(0, "accept", r.ID)
}

// The daemon and the supervisor die at the same time, and the agent has stopped PID 1, so only the
// watchdog can end the sandbox.
func TestKillingDockerAndTheSupervisorEndsTheSandboxAndIsRepaired(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := newDaemon(m)
	image, repo := d.image(), m.repo("p", nil)
	id := m.detached("shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker", "stop-init")
	r := m.record(id)
	m.awaitStopped(r)
	// Stopped, it cannot end the sandbox when it loses the daemon.
	if err := syscall.Kill(r.State.Supervisor.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d.kill()
	kill(t, r.State.Supervisor)
	r.sandboxEnds(t)
	eventually(t, hung, "the sandbox's shim is gone", func() bool { return len(mentioning(r.State.Container)) == 0 })
	<-d.exited
	m.exec(aibox, "ls") // without Docker it may repair only a part, but must not lose anything
	d.start()
	m.aibox(0, "ls")
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	if left := m.containers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	m.aibox(0, "run", "shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker")
}

// A daemon that sandboxes cannot use is refused with a reason, before it is asked for
// anything but what it is.
func TestADaemonThatSandboxesCannotUseIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, api, info, want string
	}{
		{"without gVisor", "1.41", `{"ServerVersion":"20.10.24","SecurityOptions":["name=seccomp,profile=default","name=rootless"],"Runtimes":{"runc":{"path":"runc"}}}`, `no runtime "runsc"`},
		{"as root", "1.43", `{"ServerVersion":"24.0.7","SecurityOptions":["name=seccomp,profile=default"],"Runtimes":{"runsc":{"path":"/usr/bin/runsc"}}}`, "runs as root"},
		{"too old", "1.40", `{}`, "too old"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env = append(m.env, "DOCKER_HOST=unix://"+impostor(t, test.api, test.info))
			o := m.aibox(3, "run", "shell", "--network", "none", "--image", "x", "--repo", m.repo("p", nil), "--", "true")
			if !strings.Contains(o.stderr, test.want) || !strings.Contains(o.stderr, "→") {
				t.Errorf("the output is\n%s", o)
			}
			if left := m.stored(); len(left) > 0 {
				t.Errorf("sessions are left: %+v", left)
			}
		})
	}
}

// impostor answers on a socket as a daemon with this API and this information, and knows one image.
func impostor(t *testing.T, api, info string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "docker.sock")
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", api)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			fmt.Fprint(w, "OK")
		case strings.HasSuffix(r.URL.Path, "/info"):
			fmt.Fprint(w, info)
		case strings.Contains(r.URL.Path, "/images/"):
			fmt.Fprint(w, `{"Id":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}`)
		case strings.HasSuffix(r.URL.Path, "/networks"):
			fmt.Fprint(w, `[]`)
		default:
			t.Errorf("the impostor was asked for %s %s", r.Method, r.URL.Path)
			http.Error(w, `{"message":"no"}`, http.StatusInternalServerError)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}
