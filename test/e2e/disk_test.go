package e2e

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// disk is a real file system, mounted at a folder of this machine, that can be full or
// read-only. FUSE lets ordinary users mount one.
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

// unmount waits for processes that still use the disk, such as one that creates a
// namespace, and for fuse2fs, which writes the last blocks after the mount has ended.
func (d *disk) unmount() {
	d.m.t.Helper()
	eventually(d.m.t, hung, "nobody uses the disk", func() bool {
		return d.m.exec("fusermount3", "-u", d.folder).code == 0
	})
	eventually(d.m.t, 4*hung, "fuse2fs has written the disk", func() bool {
		return !slices.ContainsFunc(glob(d.m.t, "/proc/[0-9]*/cmdline"), func(file string) bool {
			line, _ := os.ReadFile(file)
			return bytes.HasPrefix(line, []byte("fuse2fs\x00"+d.image+"\x00"))
		})
	})
}

// fill uses all free space. The pieces get smaller step by step, because a session that notices the
// nearly full disk ends before it is full.
func (d *disk) fill() {
	d.m.t.Helper()
	for _, piece := range []string{"1M", "64K", "4K", "512"} {
		d.m.exec("dd", "if=/dev/zero", "of="+d.filler()+piece, "bs="+piece, "count=64K")
	}
}

// leave uses the free space except for this many bytes.
func (d *disk) leave(left int64) {
	d.m.t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(d.folder, &fs); err != nil {
		d.m.t.Fatal(err)
	}
	d.m.write(d.filler(), strings.Repeat("x", int(int64(fs.Bavail)*fs.Bsize-left)))
}

// fails runs aibox while the disk is full. fuse2fs 1.47 can make a full disk read-only, then
// it is repaired, filled and tried again.
func (d *disk) fails(args ...string) outcome {
	d.m.t.Helper()
	for {
		d.fill()
		o := d.m.exec(aibox, args...)
		if o.code == 0 || !strings.Contains(o.stderr, syscall.EROFS.Error()) {
			return o
		}
		d.room()
	}
}

// room frees that space.
func (d *disk) room() {
	d.m.t.Helper()
	for _, file := range glob(d.m.t, d.filler()+"*") {
		err := os.Remove(file)
		if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EROFS) { // fuse2fs 1.47 wants the disk to be checked
			d.unmount()
			_ = d.m.exec("/sbin/e2fsck", "-fy", d.image)
			d.mount("rw")
			err = os.Remove(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.m.t.Fatal(err)
		}
	}
}

func (d *disk) filler() string { return filepath.Join(d.folder, "filler") }

func (d *disk) must(name string, args ...string) {
	d.m.t.Helper()
	if o := d.m.exec(name, args...); o.code != 0 {
		d.m.t.Fatalf("%s %q:\n%s", name, args, o)
	}
}

// Docker's own mount namespace does not see a disk that is mounted later, so the
// small one is that of the baselines.
func TestADiskThatIsTooSmallForTheWorkIsReportedAndLeftClean(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	noise := make([]byte, 12<<20)
	_, _ = rand.Read(noise)
	m.write(filepath.Join(repo, "big"), string(noise))
	m.disk(filepath.Join(m.home, ".local/share/aibox"), 8)
	o := m.aibox(3, "run", "shell", "--network", "none", "--repo", repo, "--", "true")
	if !strings.Contains(o.stderr, "disk") || !strings.Contains(o.stderr, "full") || !strings.Contains(o.stderr, "→") {
		t.Errorf("the output is\n%s", o)
	}
	if left := glob(t, filepath.Join(m.home, "agent_workspace/p*")); len(left) > 0 || len(m.stored()) > 0 {
		t.Errorf("%q and %d sessions are left", left, len(m.stored()))
	}
}

// The disk fills while a session is queued, and ends the one for which it waits.
func TestAQueuedSessionDoesNotStartOnANearlyFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.disk(filepath.Join(m.home, ".local/state/aibox"), 256) // what the first one gives back at its end is less than a fiftieth
	repo := m.repo("p", nil)
	args := []string{"shell", "--max-parallel", "1", "--network", "none", "--repo", repo, "--", "sh", "-c", waiting}
	first, second := m.detached(args...), m.detached(args...)
	m.queuedAt(second, 1)
	d.leave(800 << 10)
	for _, id := range []string{first, second} {
		eventually(t, hung, id+" has ended", func() bool { return m.record(id).State.Phase == "ended" })
	}
	log := m.read(m.sessions(), second, "audit.jsonl")
	if o := m.aibox(0, "ls"); strings.Contains(log, `"agent.started"`) || !strings.Contains(log, "is nearly full") {
		t.Errorf("the queued session:\n%s\n%s", log, o)
	}
	d.room()
	m.tidied()
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
		t.Errorf("the output is\n%.2000s", o.stderr)
	}
	m.tidied()
	id := m.stored()[0].ID
	// Free space as a user would.
	if err := os.Remove(filepath.Join(m.sessions(), id, "output.raw")); err != nil {
		t.Fatal(err)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	m.aibox(0, "accept", id)
}

func TestACloneEndsBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	data := filepath.Join(m.home, ".local/share/aibox")
	d := m.disk(data, 16)
	server, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	b := m.start("run", "shell", "--network", "none", "--repo", "git://"+server.Addr().String()+"/p.git", "--", "true")
	client, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	d.fill()
	b.ends(3)
	if errs := b.stderr.String(); !strings.Contains(errs, "too little free space") || !strings.Contains(errs, "→") {
		t.Errorf("the output is\n%s", errs)
	}
	if left := glob(t, filepath.Join(data, "repos/*clone-*/*")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func TestAWorkspaceThatDockerDoesNotSeeIsReportedInOneSentence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.disk(filepath.Join(m.home, "agent_workspace"), 8)
	o := m.aibox(3, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "true")
	if !strings.Contains(o.stderr, "Docker does not see") || !strings.Contains(o.stderr, "→") {
		t.Errorf("the output is\n%s", o)
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
		t.Errorf("accept prints\n%s", o)
	}
	d.unmount()
	d.mount("rw")
	m.aibox(0, "accept", r.ID)
}

// workWithout runs an agent that changes the repository, on a disk that is full or read-only when
// the agent ends.
func (m *machine) workWithout(spoil func(), work string, code int, args ...string) (id string, b *background) {
	m.t.Helper()
	repo := m.repo("p", map[string]string{"a.txt": "a\n"})
	b = m.start(slices.Concat([]string{"run", "shell", "--network", "none", "--repo", repo}, args,
		[]string{"--", "sh", "-c", work + " > work.tmp; mv work.tmp work.txt; until test -e go; do sleep 0.05; done; rm go"})...)
	var r record
	eventually(m.t, limit, "the agent has worked", func() bool {
		all := m.stored()
		if len(all) == 0 {
			return false
		}
		r = all[0]
		_, err := os.Stat(filepath.Join(r.State.Workspace.Path, "work.txt"))
		return r.State.Phase == "running" && err == nil
	})
	spoil()
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	if got := b.wait(); got != code {
		m.t.Fatalf("the run must exit with %d, not with %d:\n%s\n%s", code, got, b.stdout.String(), b.stderr.String())
	}
	m.tidied()
	return r.ID, b
}

// Changes that cannot be computed because the disk is full are reported as unknown, and
// nothing is delivered, discarded or lost. The first command that has enough space computes
// them.
func TestChangesOnAFullDiskAreUnknownUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"plain": nil, "accepted": {"--accept", "branch"}, "required": {"--require-changes"}, "json": {"--json"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			d := m.disk(filepath.Join(m.home, ".local/share/aibox"), 24)
			id, b := m.workWithout(d.fill, "seq 1000", 3, flags...)
			printed := b.stdout.String() + b.stderr.String()
			if !strings.Contains(printed, "is full") || strings.Contains(printed, "nothing was changed") || strings.Contains(printed, "changed nothing") {
				t.Errorf("the output is\n%s", printed)
			}
			switch name {
			case "json":
				if r := m.ended(outcome{code: 3, stdout: b.stdout.String()}); r.result().Changes.Unknown == "" || !strings.Contains(b.stdout.String(), `"changed": null`) || !strings.Contains(b.stdout.String(), `"files": null`) {
					t.Errorf("the JSON is\n%s", b.stdout.String())
				}
			case "accepted":
				if !strings.Contains(printed, "nothing was accepted") {
					t.Errorf("the output is\n%s", printed)
				}
			}
			if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "unknown") {
				t.Errorf("the list is\n%s", o)
			}
			for _, args := range [][]string{{"diff", id}, {"accept", id}, {"describe", id}, {"discard", id}, {"rm", id}, {"rm", "--force", id}} {
				if o := m.exec(aibox, args...); o.code != 3 || !strings.Contains(o.stderr, "is full") || o.took > 4*hung {
					t.Errorf("aibox %q with a full disk:\n%s", args, o)
				}
			}
			m.aibox(0, "gc", "--older-than", "0s")
			d.room()
			// The full disk can end the session before the agent removes the file "go".
			if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "1 file +1000 -0") && !strings.Contains(o.stdout, "2 files +1000 -0") {
				t.Errorf("with room the list is\n%s", o)
			}
			if o := m.aibox(0, "accept", id); !strings.Contains(m.git(filepath.Join(m.home, "src/p"), "show", strings.TrimSpace(o.stdout)+":work.txt"), "\n1000\n") {
				t.Errorf("accepted is\n%s", o)
			}
		})
	}
}

// The record and the objects are often on the same disk.
func TestAFullDiskWithRecordsAndObjectsLosesNeither(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.disk(filepath.Join(m.home, ".local"), 32)
	id, b := m.workWithout(d.fill, "head -c 5000000 /dev/urandom", 3)
	if printed := b.stderr.String(); !strings.Contains(printed, "is full") || strings.Contains(printed, "nothing was changed") {
		t.Errorf("the output is\n%s", printed)
	}
	if r := m.record(id); r.State.Phase != "ended" || r.State.Result == nil || r.State.Result.Changes.Unknown == "" {
		t.Errorf("on record is %+v", r)
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, id) || !strings.Contains(o.stdout, "unknown") {
		t.Errorf("the list is\n%s", o)
	}
	if o := d.fails("accept", id); o.code != 3 || !strings.Contains(o.stderr, "is full") {
		t.Errorf("accept with a full disk:\n%s", o)
	}
	d.room()
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "work.txt") {
		t.Errorf("the work is lost:\n%s", o)
	}
	if o := d.fails("accept", id); o.code != 3 || !strings.Contains(o.stderr, "is full") || strings.Contains(m.git(filepath.Join(m.home, "src/p"), "branch", "--list"), "aibox/") {
		t.Errorf("accept with a full disk:\n%s", o)
	}
	d.room()
	m.aibox(0, "accept", id)
}

func TestChangesOnAReadOnlyDiskAreUnknownUntilItIsWritable(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.disk(filepath.Join(m.home, ".local/share/aibox"), 24)
	id, b := m.workWithout(func() { d.unmount(); d.mount("ro") }, "seq 1000", 3)
	if printed := b.stderr.String(); !strings.Contains(printed, "is read-only") || strings.Contains(printed, "nothing was changed") {
		t.Errorf("the output is\n%s", printed)
	}
	if o := m.aibox(3, "accept", id); !strings.Contains(o.stderr, "is read-only") {
		t.Errorf("accept on a read-only disk:\n%s", o)
	}
	d.unmount()
	d.mount("rw")
	if o := m.aibox(0, "ls", "--json"); !strings.Contains(o.stdout, `"files": 1`) {
		t.Errorf("the list is\n%s", o)
	}
	m.aibox(0, "accept", id)
}

// A full disk affects every program of the user, so a session ends before that.
func TestASessionEndsBeforeADiskOfTheHostIsFull(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := m.disk(filepath.Join(m.home, ".local/state/aibox"), 64)
	repo := m.repo("p", nil)
	b := m.start("run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "echo work > work.txt; echo ready; sleep 1000")
	b.stdout.await(t, "ready")
	d.leave(800 << 10) // less than a fiftieth
	if code := b.wait(); code != 3 || !strings.Contains(b.stderr.String(), "is nearly full") || !strings.Contains(b.stderr.String(), "df -h") {
		t.Fatalf("it ends with %d:\n%s", code, b.stderr.String())
	}
	m.tidied()
	id := m.stored()[0].ID
	if o := m.aibox(3, "run", "shell", "--network", "none", "--repo", repo, "--", "true"); !strings.Contains(o.stderr, "is nearly full") || len(m.stored()) > 1 {
		t.Errorf("a session starts on it:\n%s", o)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	d.room()
	m.aibox(0, "run", "--resume", id, "--", "true")
}
