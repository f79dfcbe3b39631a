package scan_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// computed is the result of a separate process with other disks.
type computed struct {
	Kind, Message string // of its error
	Changes       int
	Tree          string
	Left          []string // crash reports of git
}

// TestComputeHelper is the body of that process and does nothing without it.
func TestComputeHelper(t *testing.T) {
	text := os.Getenv("AIBOX_TEST_COMPUTE")
	if text == "" {
		return
	}
	var ws workspace.Workspace
	reviewtest.Must(t, json.Unmarshal([]byte(text), &ws))
	var result computed
	set, err := scan.Workspace(t.Context(), &ws, scan.Options{})
	if err != nil {
		result.Kind, result.Message = fault.KindOf(err).String(), err.Error()
	} else {
		result.Changes, result.Tree = len(set.Changes), set.Tree
	}
	result.Left, _ = filepath.Glob(filepath.Join(ws.GitDir, "fast_import_crash_*"))
	data, err := json.Marshal(result)
	reviewtest.Must(t, err)
	reviewtest.Must(t, os.WriteFile(os.Getenv("AIBOX_TEST_TOLD"), data, 0o600))
}

// computes runs the computation in a process started with these words of a command line.
func computes(b *reviewtest.Fixture, words ...string) computed {
	b.T.Helper()
	text, err := json.Marshal(b.Workspace)
	reviewtest.Must(b.T, err)
	file := filepath.Join(b.T.TempDir(), "outcome")
	words = append(words, os.Args[0], "-test.run=^TestComputeHelper$")
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Minute) // a full disk must not make it wait
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "AIBOX_TEST_COMPUTE="+string(text), "AIBOX_TEST_TOLD="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.T.Fatalf("%v (%v)\n%s", err, ctx.Err(), out)
	}
	data, err := os.ReadFile(file)
	reviewtest.Must(b.T, err)
	var result computed
	reviewtest.Must(b.T, json.Unmarshal(data, &result))
	return result
}

// The objects of the changes need room in aibox's repository. With any amount of free
// space, the changes are correct or the computation fails. It never returns no changes, and
// never hangs.
func TestAFullObjectDiskIsNotReportedAsNoChange(t *testing.T) {
	const full = `mkdir "$2/copy"; cp -a "$3/." "$2/copy"; mount -t tmpfs -o size=4m tmpfs "$3"; cp -a "$2/copy/." "$3"
		head -c "$4" /dev/zero > "$3/room"; cat /dev/zero > "$3/filler" 2>/dev/null || true; rm "$3/room"`
	noise := make([]byte, 90<<10)
	_, _ = rand.Read(noise)
	small, large := "agent\n", base64.StdEncoding.EncodeToString(noise)
	for name, content := range map[string]string{"a small change": small, "a larger one": large} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.DiskBench(t)
			b.Write("a.txt", content)
			b.Write("new", content)
			reviewtest.Must(t, os.Remove(b.Path("d/c.txt")))
			failed := 0
			for _, room := range []int{0, 4, 8, 12, 16, 20, 32, 64, 96, 128, 512} {
				got := computes(b, reviewtest.Mounted(full, t.TempDir(), b.Workspace.GitDir, fmt.Sprint(room<<10))...)
				switch {
				case got.Message != "":
					failed++
					if got.Kind != "environment" || !strings.Contains(got.Message, "the disk of "+b.Workspace.GitDir+" is full: ") {
						t.Errorf("with %d KiB it says %q: %s", room, got.Kind, got.Message)
					}
				case got.Changes != 3:
					t.Errorf("with %d KiB there are %d changes", room, got.Changes)
				}
				if len(got.Left) > 0 {
					t.Errorf("with %d KiB git has left %q", room, got.Left)
				}
			}
			if failed == 0 {
				t.Error("there was always room")
			}
			if got := computes(b, "env"); got.Message != "" || got.Changes != 3 {
				t.Errorf("with room there are %d changes: %s", got.Changes, got.Message)
			}
		})
	}
}

func TestAReadOnlyObjectDiskIsNamed(t *testing.T) {
	b := reviewtest.DiskBench(t)
	b.Write("a.txt", "agent\n")
	got := computes(b, reviewtest.Mounted(`mount --bind "$2" "$2"; mount -o remount,ro,bind "$2"`, b.Workspace.GitDir)...)
	if got.Kind != "environment" || !strings.Contains(got.Message, "the disk of "+b.Workspace.GitDir+" is read-only") {
		t.Errorf("it says %q: %s", got.Kind, got.Message)
	}
}
