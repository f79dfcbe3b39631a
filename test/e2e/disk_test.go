package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// disk is a real file system of its own at a folder of this machine, so that it
// can be full or read-only. FUSE lets an ordinary user mount one.
type disk struct {
	m             *machine
	image, folder string
}

func (m *machine) disk(folder string, megabytes int64) *disk {
	m.t.Helper()
	d := &disk{m, folder + ".img", folder}
	m.write(d.image, "")
	if err := os.Truncate(d.image, megabytes<<20); err != nil {
		m.t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		m.t.Fatal(err)
	}
	owner := fmt.Sprintf("root_owner=%d:%d", os.Getuid(), os.Getgid())
	d.must("/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", owner, d.image)
	d.mount("rw")
	m.t.Cleanup(func() { m.exec("fusermount3", "-q", "-u", "-z", folder) })
	return d
}

func (d *disk) mount(mode string) {
	d.m.t.Helper()
	d.must("fuse2fs", d.image, d.folder, "-o", mode+",fakeroot")
}

// unmount waits for whoever still looks at the disk, such as a namespace that is
// just being made.
func (d *disk) unmount() {
	d.m.t.Helper()
	eventually(d.m.t, hung, "nobody uses the disk", func() bool {
		return d.m.exec("fusermount3", "-u", d.folder).code == 0
	})
}

func (d *disk) must(name string, args ...string) {
	d.m.t.Helper()
	if o := d.m.exec(name, args...); o.code != 0 {
		d.m.t.Fatalf("%s %q:\n%s", name, args, o)
	}
}

// Docker's own mount namespace does not see a disk that is mounted later, so the
// small one is that of the baselines.
func TestADiskThatIsTooSmallForTheWorkIsSaidAndLeftClean(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	noise := make([]byte, 12<<20)
	_, _ = rand.Read(noise)
	m.write(filepath.Join(repo, "big"), string(noise))
	m.disk(filepath.Join(m.home, ".local/share/aibox"), 8)
	o := m.aibox(3, "run", "shell", "--network", "none", "--repo", repo, "--", "true")
	if !strings.Contains(o.stderr, "disk") || !strings.Contains(o.stderr, "full") || !strings.Contains(o.stderr, "→") {
		t.Errorf("it says\n%s", o)
	}
	if left := glob(t, filepath.Join(m.home, "agent_workspace/p*")); len(left) > 0 || len(m.stored()) > 0 {
		t.Errorf("%q and %d sessions are left", left, len(m.stored()))
	}
}

// The record of a session that fills the disk ends the session; what the agent
// did to the repository is not lost.
func TestADiskThatFillsUpUnderTheRecordEndsTheSessionAndKeepsTheWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.disk(filepath.Join(m.home, ".local/state/aibox"), 6)
	o := m.aibox(3, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c",
		"echo work > work.txt; while :; do head -c 65536 /dev/zero | tr '\\0' x; done")
	if !strings.Contains(o.stderr, "full") {
		t.Errorf("it says\n%.2000s", o.stderr)
	}
	m.tidied()
	id := m.stored()[0].ID
	// Room is made as a person would make it.
	if err := os.Remove(filepath.Join(m.sessions(), id, "output.raw")); err != nil {
		t.Fatal(err)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	m.aibox(0, "accept", id)
}

func TestAWorkspaceThatDockerDoesNotSeeIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.disk(filepath.Join(m.home, "agent_workspace"), 8)
	o := m.aibox(3, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "true")
	if !strings.Contains(o.stderr, "Docker does not see") || !strings.Contains(o.stderr, "→") {
		t.Errorf("it says\n%s", o)
	}
	if left := glob(t, filepath.Join(m.home, "agent_workspace/p*")); len(left) > 0 || len(m.stored()) > 0 {
		t.Errorf("%q and %d sessions are left", left, len(m.stored()))
	}
}

func TestARepositoryOnAReadOnlyDiskCanBeWorkedOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.disk(filepath.Join(m.home, "src/media"), 8)
	repo := m.repo("media/p", map[string]string{"file.txt": "first\n"})
	d.unmount()
	d.mount("ro")
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo agent >> file.txt"))
	if o := m.aibox(0, "diff", r.ID); !strings.Contains(o.stdout, "+agent") {
		t.Errorf("the diff is\n%s", o)
	}
	o := m.aibox(3, "accept", r.ID)
	if !strings.Contains(o.stderr, "Read-only") || strings.Contains(o.stderr, "goroutine") {
		t.Errorf("accept says\n%s", o)
	}
	d.unmount()
	d.mount("rw")
	m.aibox(0, "accept", r.ID)
}
