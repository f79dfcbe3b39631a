package runtime

import (
	"os"
	"os/exec"
	"testing"
)

// sleeper is a child whose name looks like fields of /proc/PID/stat.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	program := t.TempDir() + "/a) S 1 (b"
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestOnlyTheProcessThatWasMeantIsKilled(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Alive() || p.StartTime == 0 || p.NetNSInode == 0 {
		t.Errorf("found %+v", p)
	}
	reused := p
	reused.StartTime--
	if reused.Alive() {
		t.Error("a process of another start time looks alive")
	}
	if err := KillProcess(reused); err != nil || !p.Alive() {
		t.Fatalf("the wrong process was killed (%v)", err)
	}
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if p.Alive() {
		t.Error("it lives on")
	}
	if err := KillProcess(p); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestAZombieIsNotAlive(t *testing.T) {
	cmd := sleeper(t)
	p, err := FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := KillProcess(p); err != nil {
		t.Fatal(err)
	}
	for p.Alive() { // until the kernel has made it a zombie; nobody has waited for it
	}
	if _, err := FindProcess(p.PID); err == nil {
		t.Error("a zombie was found")
	}
}

func TestNoProcessMeansNoKill(t *testing.T) {
	for _, pid := range []int{-1, 0, 1} {
		if err := KillProcess(Process{PID: pid}); err == nil {
			t.Errorf("pid %d was accepted", pid)
		}
	}
}
