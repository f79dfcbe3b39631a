package docker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/runtime/runtimetest"
)

// daemon is a rootless daemon of the test's own, to be killed.
type daemon struct {
	t   *testing.T
	dir string
	kit *exec.Cmd
}

// newDaemon starts a daemon with its own runtime folder, data and socket.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "rtd") // a short path, since that of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	info, err := open(t).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runsc, _ := info.Find("runsc")
	config := filepath.Join(dir, "daemon.json")
	text := `{"runtimes":{"runsc":{"path":"` + runsc.Path + `","runtimeArgs":["--ignore-cgroups","--overlay2=root:self,size=1g"]}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d := &daemon{t: t, dir: dir, kit: exec.Command(runtimetest.RootlessScript(t), "--config-file", config, "--data-root", filepath.Join(dir, "data"))}
	d.kit.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir, "DOCKER_HOST=")
	d.kit.Stdout, d.kit.Stderr = log, log
	d.kit.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.kit.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.end)
	return d
}

// open waits for the daemon to answer.
func (d *daemon) open() *Backend {
	d.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		o := options(d.t)
		o.Host = "unix://" + filepath.Join(d.dir, "docker.sock")
		b, err := Open(context.Background(), o)
		if err == nil {
			d.t.Cleanup(func() { _ = b.Close() })
			return b
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			d.t.Fatalf("the test's own daemon does not start: %v\n%s", err, log)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// end kills every process with the test's folder in its command line or environment, and
// removes the folder once nothing writes there.
func (d *daemon) end() {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var left []int
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() || !ownedBy(pid, os.Getuid()) {
				continue
			}
			line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
			if bytes.Contains(line, []byte(d.dir)) || bytes.Contains(env, []byte(d.dir)) {
				left = append(left, pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			d.t.Errorf("processes of the test's own daemon do not end: %v", left)
			break
		}
	}
	_ = d.kit.Wait()
	runtimetest.RemoveRootless(d.t, d.dir)
}

func (d *daemon) prepare() programs {
	d.t.Helper()
	b := d.open()
	sandbox := build(d.t, "./testdata/workload")
	id, err := b.Image(context.Background(), importInto(d.t, b, sandbox))
	if err != nil {
		d.t.Fatal(err)
	}
	return programs{b, b.Networks(), build(d.t, "aibox/cmd/aibox-init"), id}
}

// victims returns the processes that may die while a sandbox runs.
func (d *daemon) victims(site runtime.Site) map[string]int {
	child, err := os.ReadFile(filepath.Join(d.dir, "dockerd-rootless", "child_pid"))
	kit := d.kit.Process.Pid // RootlessKit 1 replaces the script's process
	if err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(child))); err == nil {
			kit = pid
		}
	}
	return map[string]int{"dockerd": site.PID, "RootlessKit": kit}
}

func TestSandboxCanBeKilledAfterItsDaemonDied(t *testing.T) {
	for _, victim := range []string{"dockerd", "RootlessKit"} {
		t.Run(victim, func(t *testing.T) {
			d := newDaemon(t)
			p := d.prepare()
			info, err := p.backend.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, guarded := p.boot(t, nil), p.boot(t, nil)
			for _, each := range []*rig{r, guarded} {
				if err := each.Start(lifeline.Start{Argv: []string{"/workload", "wait"}}); err != nil {
					t.Fatal(err)
				}
			}
			waited := make(chan error, 1)
			go func() {
				_, err := r.sandbox.Wait(context.Background())
				waited <- err
			}()
			if err := syscall.Kill(d.victims(info.Site)[victim], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; !errors.Is(err, runtime.ErrDaemonLost) {
				t.Errorf("the wait ended with %v", err)
			}
			t.Logf("without the daemon the sandbox is alive: %t", r.state.Process.Alive())
			if err := r.sandbox.Destroy(t.Context()); !errors.Is(err, runtime.ErrDaemonLost) {
				t.Errorf("Destroy says %v", err)
			}
			_ = guarded.Close() // the other sandbox's supervisor dies
			r.ends(t)
			guarded.ends(t)
		})
	}
}
