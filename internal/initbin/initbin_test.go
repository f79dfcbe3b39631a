package initbin

import (
	"bytes"
	"compress/gzip"
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

func TestDamagedProgramIsNotInstalled(t *testing.T) {
	whole := compress(bytes.Repeat([]byte("program"), 1000))
	changed := bytes.Clone(whole)
	changed[len(changed)-8] ^= 1 // the checksum
	for name, data := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)/2], "changed": changed, "no gzip": []byte("program")} {
		dir := t.TempDir()
		p, err := programOf(data)
		if err == nil {
			_, err = p.install(dir)
		}
		if err == nil {
			t.Errorf("%s: it was installed", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
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
	p, err := programOf(compress(data))
	if err != nil {
		return "", err
	}
	return p.install(dir)
}

func compress(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data) // writing to a buffer never fails
	_ = w.Close()
	return out.Bytes()
}
