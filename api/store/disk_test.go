package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
)

// TestOnAFullDiskHelper is the body of a process that has a small disk at the folder in the variable,
// and does nothing without it.
func TestOnAFullDiskHelper(t *testing.T) {
	dir := os.Getenv("AIBOX_TEST_SMALL_DISK")
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "api", "x.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "fill")
	fill(t, filler)
	check := func(what string, err error) {
		if !diskerr.Is(err) || fault.KindOf(err) != fault.Environment || !strings.HasPrefix(err.Error(), "the d") || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, %q", what, err, fault.Hints(err))
		}
	}
	_, _, err = s.CreateToken(t.Context(), "a", "", auth.Rights(), time.Time{})
	check("a token", err)
	// A statement can have room in what the log has already.
	for n := 0; err == nil || n == 0; n++ {
		_, err = s.AddCreation(t.Context(), "a", strings.Repeat("x", n), "o", "s")
	}
	check("a creation", err)
	if err := errors.Join(os.Remove(filler), s.Close()); err != nil {
		t.Fatal(err)
	}
	fill(t, filler)
	_, err = Open(t.Context(), path)
	check("opening", err)
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 1<<12))
	}
	if _ = file.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestAFullDiskIsReportedAsOne(t *testing.T) {
	dir := t.TempDir()
	script := `mount -t tmpfs -o size=512k tmpfs "$AIBOX_TEST_SMALL_DISK" && exec "$0" -test.run='^TestOnAFullDiskHelper$' -test.v`
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), "AIBOX_TEST_SMALL_DISK="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestOnAFullDiskHelper") {
		t.Errorf("%v\n%s", err, out)
	}
}
