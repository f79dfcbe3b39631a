package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// sizeOfFiles returns how much space the files in a folder take, in bytes.
func sizeOfFiles(folder string) (total int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a file that has just been removed takes nothing
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512 // gVisor's file is sparse
		}
		return nil
	})
	return total
}

// The root of a sandbox is a file of gVisor's on the host's disk.
func TestAFilledRootFailsItsWritesAndTheSessionContinues(t *testing.T) {
	t.Parallel()
	const limit = 64 // MiB
	m := newMachine(t)
	d := newDaemonWith(m, []string{"--ignore-cgroups", fmt.Sprintf("--overlay2=root:self,size=%dm", limit)})
	image := d.image()
	before := sizeOfFiles(d.dir)
	b := m.start("run", "shell", "--network", "none", "--image", image, "--repo", m.repo("p", nil), "--", "/worker", "fill")
	b.stdout.await(t, "no space left on device")
	if grown := (sizeOfFiles(d.dir) - before) >> 20; grown > limit+limit/4 {
		t.Errorf("the root takes %d MiB of the host's disk", grown)
	}
	b.stderr.await(t, "a write beyond that fails, and the session continues")
	m.write(filepath.Join(m.stored()[0].State.Workspace.Path, "go"), "")
	if code := b.wait(); code != 0 || !strings.Contains(b.stdout.String(), "room again\n") {
		t.Errorf("it ends with %d:\n%s%s", code, b.stdout.String(), b.stderr.String())
	}
	if o := m.aibox(0, "diff", m.stored()[0].ID); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
}
