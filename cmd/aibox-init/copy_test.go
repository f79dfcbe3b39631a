package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The sender of an archive can die without an end of its stream. The copy is then ended by
// a signal.
func TestACopyThatIsEndedLeavesNoPartOfAFile(t *testing.T) {
	dir := t.TempDir()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	_ = w.WriteHeader(&tar.Header{Name: "whole", Mode: 0o644, Size: 5})
	_, _ = w.Write([]byte("whole"))
	_ = w.WriteHeader(&tar.Header{Name: "part", Mode: 0o644, Size: 1 << 20})
	_ = w.Flush()
	archive.WriteString("only the beginning")
	if _, err := out.Write(archive.Bytes()); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- unpack([]string{dir, ""}, in, &errs) }()
	names := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, entry := range entries {
			all = append(all, entry.Name())
		}
		return strings.Join(all, " ")
	}
	for begin := time.Now(); !strings.Contains(names(), ".aibox-"); {
		if time.Since(begin) > time.Minute {
			t.Fatalf("no file is being written: %s", names())
		}
	}
	if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 1 || !strings.Contains(errs.String(), errSignal.Error()) {
		t.Errorf("it ends with %d: %s", code, errs.String())
	}
	if got := names(); got != "whole" {
		t.Errorf("left are %s", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "whole")); err != nil || string(data) != "whole" {
		t.Errorf("the whole file has %q, %v", data, err)
	}
}
