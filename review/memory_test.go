package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/review"
	"aibox/review/printer"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// memoryBound is the maximum peak memory (VmHWM, proc(5)) of a process that computes,
// judges, shows and chooses from any change set.
const memoryBound = 100 << 20

// memoryChild names the workspace's record to the process whose memory is measured.
const memoryChild = "AIBOX_TEST_MEMORY_OF"

// measuredChild does what a supervisor and the commands do with a change set, and prints
// the peak memory.
func measuredChild(record string) error {
	data, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	var ws workspace.Workspace
	if err := json.Unmarshal(data, &ws); err != nil {
		return err
	}
	ctx, peak := tContext(), []string{}
	begin := time.Now()
	mark := func(what string) {
		peak = append(peak, fmt.Sprintf("%s %d MB after %.1f s", what, peakMemory()>>20, time.Since(begin).Seconds()))
	}
	set, err := scan.Workspace(ctx, &ws, scan.Options{})
	if err != nil {
		return err
	}
	mark("compute")
	if err := review.Assess(ctx, &ws, set); err != nil {
		return err
	}
	mark("assess")
	if err := set.Encode(io.Discard); err != nil {
		return err
	}
	indented := json.NewEncoder(io.Discard) // as `aibox diff --json` prints it
	indented.SetIndent("", "  ")
	if err := indented.Encode(set); err != nil {
		return err
	}
	mark("JSON")
	for _, form := range []func() error{
		func() error { return printer.Diff(ctx, set, io.Discard, printer.DiffOptions{}) },
		func() error { return printer.Patch(ctx, set, io.Discard) },
		func() error { return printer.Stat(set, io.Discard, 80) },
		func() error { return printer.NamesZ(ctx, set, io.Discard) },
		func() error { return set.Files(ctx, func(review.FileDiff) error { return nil }) },
	} {
		if err := form(); err != nil {
			return err
		}
	}
	mark("diff")
	selection, err := set.Select(ctx, review.Choice{All: true})
	if err != nil {
		return err
	}
	if _, err := set.Outline(ctx, selection); err != nil {
		return err
	}
	mark("choose")
	if _, err := recovery.Save(ctx, &ws, set, recovery.Discarded); err != nil {
		return err
	}
	mark("save")
	fmt.Printf("%d\n%s\n%d changes\n", peakMemory(), strings.Join(peak, ", "), len(set.Changes))
	return nil
}

func tContext() context.Context { return context.Background() }

// peakMemory returns the peak memory of this process so far, in bytes.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return -1
}

// withinMemory fails if a process that works on the workspace's change set exceeds the
// bound.
func withinMemory(b *reviewtest.Fixture) {
	b.T.Helper()
	data, err := json.Marshal(b.Workspace)
	reviewtest.Must(b.T, err)
	record := filepath.Join(b.T.TempDir(), "workspace.json")
	reviewtest.Must(b.T, os.WriteFile(record, data, 0o600))
	cmd := exec.CommandContext(b.T.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), memoryChild+"="+record)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.T.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	first, rest, _ := strings.Cut(string(out), "\n")
	peak, err := strconv.ParseInt(first, 10, 64)
	reviewtest.Must(b.T, err)
	children := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	b.T.Logf("peak %d MB, of any process %d MB: %s", peak>>20, children>>10, rest)
	if peak > memoryBound {
		b.T.Errorf("a process needs %d MB, more than %d", peak>>20, memoryBound>>20)
	}
}

// longName is a name of 230 bytes.
func longName(i int) string { return fmt.Sprintf("%0226d.txt", i) }

// deepFolder makes a folder whose path below root takes about length bytes.
func deepFolder(t testing.TB, root string, i, length int) string {
	t.Helper()
	path := fmt.Sprintf("deep%03d", i)
	for len(path) < length-250 {
		path += "/" + strings.Repeat("d", 200)
	}
	reviewtest.Must(t, os.MkdirAll(filepath.Join(root, path), 0o755))
	return path
}

// fill makes files with long names, two thousand to a folder whose path is length bytes
// long.
func fill(b *reviewtest.Fixture, files, length int) {
	b.T.Helper()
	const each = 2000
	for at := 0; at < files; at += each {
		dir := filepath.Join(b.Workspace.Path, deepFolder(b.T, b.Workspace.Path, at/each, length))
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		reviewtest.Must(b.T, err)
		for i := at; i < min(files, at+each); i++ {
			file, err := unix.Openat(fd, longName(i), unix.O_CREAT|unix.O_WRONLY, 0o644)
			reviewtest.Must(b.T, err)
			_, err = unix.Write(file, fmt.Appendf(nil, "file %d\n", i))
			reviewtest.Must(b.T, errors.Join(err, unix.Close(file)))
		}
		reviewtest.Must(b.T, unix.Close(fd))
	}
}

func TestManyLongNamesNeedLittleMemory(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
	fill(b, 6_000, 3700)
	withinMemory(b)
}

func TestReviewingTheGoSourceTreeNeedsLittleMemory(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	reviewtest.Must(t, err)
	reviewtest.Must(t, os.CopyFS(b.Path("go"), os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src"))))
	withinMemory(b)
}

// The maximum number of changes that are listed one by one.
func TestALongListOfChangesNeedsLittleMemory(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
	for i := range 19_999 {
		b.Write(fmt.Sprintf("source/package%03d/internal/component/file_number_%05d.txt", i/100, i), fmt.Sprintf("line %d\n", i))
	}
	withinMemory(b)
}

// A file with the maximum number of kept lines.
func TestAFileOfManyLinesNeedsLittleMemory(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
	var text strings.Builder
	for i := range 499_000 {
		fmt.Fprintf(&text, "%027d\n", i)
	}
	b.Write("long.txt", text.String())
	withinMemory(b)
}
