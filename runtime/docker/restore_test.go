package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/runtime"
)

// A container has its processes before it starts. Docker forgets a container that does not
// start. It used to leave the sandbox's processes behind, and Docker 26 also the containerd
// process that watched them.
func TestNoProcessOfARestoreThatFailsStays(t *testing.T) {
	p := prepare(t)
	ctx := context.Background()
	session := fmt.Sprintf("%s-%d-restore", prefix, os.Getpid())
	network, err := p.pool.Acquire(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.pool.Release(ctx, network) })
	made, err := p.backend.Create(ctx, runtime.Spec{Session: session, Image: p.image, Network: network, Init: p.init, Checkpoint: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Start(ctx); err == nil {
		t.Error("it was started")
	}
	if err := made.Destroy(ctx); err != nil {
		t.Error(err)
	}
	id := made.(*sandbox).id
	deadline := time.Now().Add(time.Minute)
	left := processesOf(id)
	for ; len(left) > 0 && time.Now().Before(deadline); left = processesOf(id) {
		time.Sleep(20 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("these processes are left: %q", left)
	}
}

// processesOf returns the programs of the processes with the id of a container in their
// command line.
func processesOf(id string) (programs []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), id) {
			program, _, _ := strings.Cut(string(line), "\x00")
			programs = append(programs, program)
		}
	}
	return programs
}
