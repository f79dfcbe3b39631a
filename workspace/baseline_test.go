package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/git"
)

// sample is a baseline with every kind of file.
func sample() *Baseline {
	id := func(b byte) string { return string(make([]byte, 19)) + string(rune(b)) }
	return &Baseline{
		Taken: time.Unix(1_700_000_000, 5).UTC(), Racy: 2 * time.Second, Format: git.SHA1, Device: 7,
		Ignore: []IgnoreFile{{Dir: []byte("sub"), Data: []byte("*.log\n")}}, Modules: [][]byte{[]byte("lib")},
		Files: []File{
			{Path: "a", Mode: git.File, Raw: id(1), Stored: id(1), Stat: Stat{Size: 1, Inode: 1 << 63, Mtime: -1, Ctime: 1 << 62, Perm: 0o100644}},
			{Path: "ab/c", Mode: git.Symlink, Raw: id(4), Stored: id(4)},
			{Path: "a\xff\n", Mode: git.Executable, Raw: id(2), Stored: id(3), EOL: true},
		},
	}
}

func TestABaselineRoundTrips(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline")
	if err := sample().Save(file); err != nil {
		t.Fatal(err)
	}
	got, err := LoadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("-saved +read:\n%s", diff)
	}
}

func TestATruncatedBaselineIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline")
	if err := sample().Save(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		if _, err := decodeBaseline(string(data[:cut])); err == nil {
			t.Errorf("%d of %d bytes are read without an error", cut, len(data))
		}
	}
}

func TestAnUnsortedBaselineIsRefused(t *testing.T) {
	b := sample()
	b.Files[0], b.Files[2] = b.Files[2], b.Files[0]
	file := filepath.Join(t.TempDir(), "baseline")
	if err := b.Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadBaseline(file); err == nil {
		t.Error("it is read, and names are searched for in it")
	}
}

// FuzzBaseline reads anything. What is read comes back the same when it is saved.
func FuzzBaseline(f *testing.F) {
	file := filepath.Join(f.TempDir(), "baseline")
	if err := sample().Save(file); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(magic)
	f.Fuzz(func(t *testing.T, data string) {
		b, err := decodeBaseline(data)
		if err != nil {
			return
		}
		file := filepath.Join(t.TempDir(), "again")
		if err := b.Save(file); err != nil {
			return // a time that JSON does not hold
		}
		again, err := LoadBaseline(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.Files, again.Files); diff != "" {
			t.Errorf("-read +read again:\n%s", diff)
		}
	})
}
