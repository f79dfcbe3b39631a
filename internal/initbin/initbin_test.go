package initbin

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestInstallingTwiceReturnsTheSameFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "init")
	want := []byte("program")
	first, err := installData(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	second, err := installData(dir, want)
	if err != nil || first != second {
		t.Fatalf("got %q, then %q (%v)", first, second, err)
	}
	got, err := os.ReadFile(first)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("content is %q (%v)", got, err)
	}
	if info, _ := os.Stat(first); info.Mode() != 0o555 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestTruncatedFileIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "init")
	path, err := installData(dir, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := installData(dir, []byte("program")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "program" {
		t.Errorf("content is %q", got)
	}
}

func TestDifferentProgramGetsADifferentName(t *testing.T) {
	dir := t.TempDir()
	a, _ := installData(dir, []byte("a"))
	b, _ := installData(dir, []byte("b"))
	if a == b {
		t.Error("two programs share a file")
	}
}

func installData(dir string, data []byte) (string, error) {
	return programOf(data).install(dir, func() ([]byte, error) { return data, nil })
}
