package workspace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// many is a baseline of several parts.
func many() *Baseline {
	b := sample()
	b.Files = nil
	for i := range 2*partSize + 1 {
		id := fmt.Sprintf("%020d", i)
		b.Files = append(b.Files, File{Path: fmt.Sprintf("folder%03d/file%06d", i/100, i), Mode: git.File, Raw: id, Stored: id})
	}
	return b
}

func TestABaselineOfSeveralPartsRoundTrips(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline")
	for _, files := range []int{0, partSize, partSize + 1, 2*partSize + 1} {
		b := many()
		b.Files = b.Files[:files]
		if err := b.Save(file); err != nil {
			t.Fatal(err)
		}
		got, err := LoadBaseline(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.Files, got.Files, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d files: -saved +read:\n%s", files, diff)
		}
	}
}

// encoded is a baseline with this list of parts.
func encoded(t *testing.T, b *Baseline, parts ...part) string {
	t.Helper()
	text, err := json.Marshal(header{Baseline: b, Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	out := binary.AppendUvarint([]byte(magic), uint64(len(text)))
	out = binary.AppendUvarint(append(out, text...), uint64(len(b.Files)))
	last := ""
	for _, f := range b.Files {
		out = f.append(out, last)
		last = f.Path
	}
	return string(out)
}

func TestABaselineWithoutPartsIsRead(t *testing.T) {
	want := many()
	got, err := decodeBaseline(encoded(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Files, got.Files); diff != "" {
		t.Errorf("-saved +read:\n%s", diff)
	}
}

func TestWrongPartsAreRefused(t *testing.T) {
	b := many()
	all, most := len(b.Files), 1<<40
	for name, parts := range map[string][]part{
		"too few files":   {{all - 1, 1000}},
		"too many files":  {{all + 1, 1000}},
		"negative files":  {{-1, 0}, {all, 1000}},
		"too many bytes":  {{all, most}},
		"negative bytes":  {{all, -1}},
		"too few bytes":   {{all, minRecord}},
		"files are twice": {{1, 200}, {all - 1, 1000}, {1, 0}},
	} {
		if _, err := decodeBaseline(encoded(t, b, parts...)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

func TestPartsThatAreNotInOrderAreRefused(t *testing.T) {
	b := many()
	b.Files[partSize-1], b.Files[partSize] = b.Files[partSize], b.Files[partSize-1]
	file := filepath.Join(t.TempDir(), "baseline")
	if err := b.Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadBaseline(file); !errors.Is(err, errOrder) {
		t.Errorf("it is read: %v", err)
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

// FuzzBaseline reads anything. A baseline that can be read is the same after it is saved.
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
