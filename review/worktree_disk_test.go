package review_test

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

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

// elsewhere is a delivery in a process of its own, whose rights or disks are others.
type elsewhere struct {
	Workspace     *workspace.Workspace
	Before, After string
}

// told is what it tells.
type told struct {
	Kind, Message string
	Touched       string // how the files differ from before
	Left          []string
}

// TestADeliveryElsewhere is the body of that process and does nothing without it.
func TestADeliveryElsewhere(t *testing.T) {
	text := os.Getenv("AIBOX_TEST_ELSEWHERE")
	if text == "" {
		return
	}
	var job elsewhere
	must(t, json.Unmarshal([]byte(text), &job))
	readable := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"a.txt", "d/c.txt", "new", "d/new"} {
			data, err := os.ReadFile(filepath.Join(job.Workspace.Repo, name))
			all[name] = fmt.Sprintf("%q %v", data, err)
		}
		return all
	}
	before := readable()
	_, err := review.ApplyToWorktree(t.Context(), job.Workspace, job.Before, job.After, nil)
	if err == nil {
		t.Fatal("it goes through")
	}
	result := told{Kind: fault.KindOf(err).String(), Message: err.Error(), Touched: cmp.Diff(before, readable())}
	result.Left, _ = filepath.Glob(filepath.Join(job.Workspace.Repo, ".aibox-*"))
	data, err := json.Marshal(result)
	must(t, err)
	must(t, os.WriteFile(os.Getenv("AIBOX_TEST_TOLD"), data, 0o600))
}

// deliver runs the delivery behind the words of a command line.
func deliver(b *bench, words ...string) told {
	b.t.Helper()
	cs := b.compute()
	text, err := json.Marshal(elsewhere{b.ws, cs.BaseTree, cs.Tree})
	must(b.t, err)
	file := filepath.Join(b.t.TempDir(), "told")
	words = append(words, os.Args[0], "-test.run=^TestADeliveryElsewhere$")
	cmd := exec.CommandContext(b.t.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "AIBOX_TEST_ELSEWHERE="+string(text), "AIBOX_TEST_TOLD="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	must(b.t, err)
	var result told
	must(b.t, json.Unmarshal(data, &result))
	if result.Touched != "" || len(result.Left) > 0 {
		b.t.Errorf("it touched %s and left %q", result.Touched, result.Left)
	}
	return result
}

// powerless are the words that run a program whom file modes bind, root's, too.
func powerless() []string {
	if os.Getuid() != 0 {
		return []string{"env"}
	}
	return []string{"setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"}
}

func TestWhatMayNotBeReadOrWrittenIsNamed(t *testing.T) {
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
			b := diskBench(t)
			b.write("d/c.txt", "agent\n")
			b.write("d/new", "agent\n")
			must(t, os.Chmod(b.inRepo(c.path), c.mode))
			defer func() { must(t, os.Chmod(b.inRepo(c.path), 0o755)) }()
			if got := deliver(b, powerless()...); got.Kind != c.kind || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
		})
	}
}

// TestAnEmptyFolderThatMayNotBeRemovedIsNamed has it stand where the agent puts a file.
func TestAnEmptyFolderThatMayNotBeRemovedIsNamed(t *testing.T) {
	for want, mode := range map[string]os.FileMode{"new: its folder may not be written": 0o555, "new: you may not read it": 0} {
		b := diskBench(t)
		b.write("new", "agent\n")
		must(t, os.MkdirAll(b.inRepo("new/deep"), 0o755))
		must(t, os.Chmod(b.inRepo("new"), mode))
		if got := deliver(b, powerless()...); got.Kind != "conflict" || !strings.Contains(got.Message, want) {
			t.Errorf("%v: it says %q: %s", mode, got.Kind, got.Message)
		}
		must(t, os.Chmod(b.inRepo("new"), 0o755))
	}
}

func TestAFullDiskChangesNothing(t *testing.T) {
	// A copy of the folder on a disk of 4 MiB that is full but for so many bytes.
	const full = `mkdir "$2/copy"; cp -a "$3/." "$2/copy"; mount -t tmpfs -o size=4m tmpfs "$3"; cp -a "$2/copy/." "$3"
		head -c "$4" /dev/zero > "$3/room"; cat /dev/zero > "$3/filler" 2>/dev/null || true; rm "$3/room"`
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	for _, c := range []struct {
		name   string
		folder func(b *bench) string
		room   string
		want   string
	}{
		{"of the working tree", func(b *bench) string { return b.repo }, "32768", "the disk of your working tree is full"},
		{"of aibox's state", func(b *bench) string { return b.ws.GitDir }, "0", "does not take it, so nothing was changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := diskBench(t)
			b.write("a.txt", ten+"agent\n")
			b.write("new", string(noise))
			must(t, os.Remove(b.path("d/c.txt")))
			got := deliver(b, mounted(full, t.TempDir(), c.folder(b), c.room)...)
			if got.Kind != "environment" || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
			mustPlace(b)
		})
	}
}

func TestAnotherDiskOrAReadOnlyOneIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"read-only": {`mount --bind "$2" "$2"; mount -o remount,ro,bind "$2"`, "a.txt: it lies on a disk that is read-only"},
		"another":   {`mount --bind "$2/d" "$2/d"`, "d/c.txt: it lies on another file system"},
	} {
		t.Run(name, func(t *testing.T) {
			b := diskBench(t)
			b.write("a.txt", "agent\n")
			b.write("d/c.txt", "agent\n")
			if got := deliver(b, mounted(c.script, b.repo)...); got.Kind != "conflict" || !strings.Contains(got.Message, c.want) {
				t.Errorf("it says %q: %s", got.Kind, got.Message)
			}
		})
	}
}

// TestFilesInUseAreReplaced has a target open, mapped by nobody and executed: none of
// that keeps a rename away, and the old file lives on for those who have it.
func TestFilesInUseAreReplaced(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten}).prepare()
	reader, err := os.Open(b.inRepo("a.txt"))
	must(t, err)
	defer reader.Close()
	b.write("a.txt", ten+"agent\n")
	mustPlace(b)
	b.holds("a.txt", ten+"agent\n")
	old := make([]byte, 100)
	if n, err := reader.Read(old); err != nil || string(old[:n]) != ten {
		t.Errorf("the reader gets %q, %v", old[:n], err)
	}
}
