package output

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A piece of output that a full disk stores only in part does not become part of the
// record: otherwise later output would have wrong offsets.
func TestAShortWriteOfOutputKeepsTheRecordIntact(t *testing.T) {
	dir := t.TempDir()
	r, err := NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Append(Stdout, []byte("first\n")); err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 40, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	failed := r.Append(Stdout, make([]byte, 100))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if failed == nil {
		t.Error("it is recorded where there is no room")
	}
	if err := r.Append(Notice, []byte("the disk is full\n")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var said []string
	_, err = Read(dir, 0, true, func(c Chunk) error {
		if c.Stream == Notice || len(said) == 0 {
			said = append(said, string(c.Data))
		}
		return nil
	})
	if err != nil || len(said) != 2 || said[0] != "first\n" || said[1] != "the disk is full\n" {
		data, _ := os.ReadFile(filepath.Join(dir, rawName))
		t.Errorf("recorded is %q, %v: %q", said, err, data)
	}
}
