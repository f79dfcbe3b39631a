package worktree_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
	"aibox/workspace"
)

// elsewhere is a delivery in a separate process with other rights or disks.
type elsewhere struct {
	Workspace     *workspace.Workspace
	Before, After string
}

// outcome is the report of that process.
type outcome struct {
	Kind, Message string
	Touched       string // how the files differ from before
	Left          []string
}

// TestDeliveryHelper is the body of that process and does nothing without it.
func TestDeliveryHelper(t *testing.T) {
	text := os.Getenv("AIBOX_TEST_ELSEWHERE")
	if text == "" {
		return
	}
	var job elsewhere
	reviewtest.Must(t, json.Unmarshal([]byte(text), &job))
	readable := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"a.txt", "d/c.txt", "new", "d/new"} {
			data, err := os.ReadFile(filepath.Join(job.Workspace.Repo, name))
			all[name] = fmt.Sprintf("%q %v", data, err)
		}
		return all
	}
	before := readable()
	_, err := worktree.ApplyToWorktree(t.Context(), job.Workspace, job.Before, job.After, nil)
	if err == nil {
		t.Fatal("it goes through")
	}
	result := outcome{Kind: fault.KindOf(err).String(), Message: err.Error(), Touched: cmp.Diff(before, readable())}
	result.Left, _ = filepath.Glob(filepath.Join(job.Workspace.Repo, ".aibox-*"))
	data, err := json.Marshal(result)
	reviewtest.Must(t, err)
	reviewtest.Must(t, os.WriteFile(os.Getenv("AIBOX_TEST_TOLD"), data, 0o600))
}

// deliver runs the delivery in a process started with these words of a command line.
func deliver(b *reviewtest.Fixture, words ...string) outcome {
	b.T.Helper()
	cs := b.Compute()
	text, err := json.Marshal(elsewhere{b.Workspace, cs.BaseTree, cs.Tree})
	reviewtest.Must(b.T, err)
	file := filepath.Join(b.T.TempDir(), "outcome")
	words = append(words, os.Args[0], "-test.run=^TestDeliveryHelper$")
	cmd := exec.CommandContext(b.T.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "AIBOX_TEST_ELSEWHERE="+string(text), "AIBOX_TEST_TOLD="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.T.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	reviewtest.Must(b.T, err)
	var result outcome
	reviewtest.Must(b.T, json.Unmarshal(data, &result))
	if result.Touched != "" || len(result.Left) > 0 {
		b.T.Errorf("it touched %s and left %q", result.Touched, result.Left)
	}
	return result
}

// powerless are the words that run a program without the right to override file modes, even
// as root.
func powerless() []string {
	if os.Getuid() != 0 {
		return []string{"env"}
	}
	return []string{"setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"}
}

func TestUnreadableAndReadOnlyFilesAreNamed(t *testing.T) {
	for _, c := range []struct {
		name       string
		mode       os.FileMode
		path       string
		kind, want string
	}{
		{"a folder", 0o555, "d", "conflict", "d/new: its folder may not be written"},
		{"a folder that cannot be entered", 0, "d", "conflict", "d/c.txt: you may not read it"},
		{"a file", 0, "d/c.txt", "conflict", "d/c.txt: you may not read it"},
		{"the top", 0o555, ".", "environment", "your working tree cannot be written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reviewtest.DiskBench(t)
			b.Write("d/c.txt", "agent\n")
			b.Write("d/new", "agent\n")
			reviewtest.Must(t, os.Chmod(b.InRepo(c.path), c.mode))
			defer func() { reviewtest.Must(t, os.Chmod(b.InRepo(c.path), 0o755)) }()
			if got := deliver(b, powerless()...); got.Kind != c.kind || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
		})
	}
}

// TestAnEmptyFolderThatCannotBeRemovedIsNamed has an empty folder where the agent puts a file.
func TestAnEmptyFolderThatCannotBeRemovedIsNamed(t *testing.T) {
	for want, mode := range map[string]os.FileMode{"new: its folder may not be written": 0o555, "new: you may not read it": 0} {
		b := reviewtest.DiskBench(t)
		b.Write("new", "agent\n")
		reviewtest.Must(t, os.MkdirAll(b.InRepo("new/deep"), 0o755))
		reviewtest.Must(t, os.Chmod(b.InRepo("new"), mode))
		if got := deliver(b, powerless()...); got.Kind != "conflict" || !strings.Contains(got.Message, want) {
			t.Errorf("%v: it says %q: %s", mode, got.Kind, got.Message)
		}
		reviewtest.Must(t, os.Chmod(b.InRepo("new"), 0o755))
	}
}

func TestAUsedUpQuotaIsNotCalledAFullDisk(t *testing.T) {
	b := reviewtest.DiskBench(t)
	b.Write("new", "new\n")
	cs := b.Compute()
	before := b.State()
	_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
		if strings.HasPrefix(point, "staged") {
			return unix.EDQUOT
		}
		return nil
	})
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "your quota on the disk of your working tree is used up, so nothing was changed") ||
		!strings.Contains(strings.Join(fault.Hints(err), ""), "quota -s") {
		t.Errorf("%v, hints %q", err, fault.Hints(err))
	}
	if after := b.State(); after != before {
		t.Errorf("something was changed:\n%s\nwas\n%s", after, before)
	}
}

func TestAFullDiskChangesNothing(t *testing.T) {
	// A copy of the folder on a disk of 4 MiB with this number of free bytes.
	const full = `mkdir "$2/copy"; cp -a "$3/." "$2/copy"; mount -t tmpfs -o size=4m tmpfs "$3"; cp -a "$2/copy/." "$3"
		head -c "$4" /dev/zero > "$3/room"; cat /dev/zero > "$3/filler" 2>/dev/null || true; rm "$3/room"`
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	for _, c := range []struct {
		name   string
		folder func(b *reviewtest.Fixture) string
		room   string
		want   string
	}{
		{"of the working tree", func(b *reviewtest.Fixture) string { return b.Repo }, "32768", "the disk of your working tree is full"},
		{"of aibox's state", func(b *reviewtest.Fixture) string { return b.Workspace.GitDir }, "0", "does not take it, so nothing was changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reviewtest.DiskBench(t)
			b.Write("a.txt", reviewtest.Ten+"agent\n")
			b.Write("new", string(noise))
			reviewtest.Must(t, os.Remove(b.Path("d/c.txt")))
			got := deliver(b, reviewtest.Mounted(full, t.TempDir(), c.folder(b), c.room)...)
			if got.Kind != "environment" || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
			mustPlace(b)
		})
	}
}

func TestMountPointsAndReadOnlyFileSystemsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"read-only": {`mount --bind "$2" "$2"; mount -o remount,ro,bind "$2"`, "a.txt: it lies on a disk that is read-only"},
		"another":   {`mount --bind "$2/d" "$2/d"`, "d/c.txt: it lies on another file system"},
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.DiskBench(t)
			b.Write("a.txt", "agent\n")
			b.Write("d/c.txt", "agent\n")
			if got := deliver(b, reviewtest.Mounted(c.script, b.Repo)...); got.Kind != "conflict" || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
		})
	}
}

// TestFilesInUseAreReplaced has a target that is open and executed: that does not prevent a
// rename, and the old file stays usable for programs that have it open.
func TestFilesInUseAreReplaced(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten}).Prepare()
	reader, err := os.Open(b.InRepo("a.txt"))
	reviewtest.Must(t, err)
	defer reader.Close()
	b.Write("a.txt", reviewtest.Ten+"agent\n")
	mustPlace(b)
	b.Holds("a.txt", reviewtest.Ten+"agent\n")
	old := make([]byte, 100)
	if n, err := reader.Read(old); err != nil || string(old[:n]) != reviewtest.Ten {
		t.Errorf("the reader gets %q, %v", old[:n], err)
	}
}
