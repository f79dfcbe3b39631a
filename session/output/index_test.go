package output

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// indexSize is the size of a record's index in bytes.
func indexSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// An agent that printed 200 KB byte by byte once made 4.8 MB of index, which no limit
// counted.
func TestManyTinyWritesMakeASmallIndex(t *testing.T) {
	r, dir := newTestRecorder(t)
	const bytes = 50_000
	for range bytes {
		record(t, r, Stdout, "x")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if size := indexSize(t, dir); size > bytes/2 {
		t.Errorf("the index of %d bytes has %d", bytes, size)
	}
}

// Alternating streams need an entry each.
func TestTheLimitCoversOutputAndIndex(t *testing.T) {
	r, dir := newTestRecorder(t)
	r.limit = 64 << 10
	streams := []Stream{Stdout, Stderr}
	const bytes = 100_000
	for i := range bytes {
		record(t, r, streams[i%2], "x")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	size := indexSize(t, dir)
	chunks, end := collect(t, dir, 0)
	if size+end > r.limit || end < r.limit/4 {
		t.Errorf("the record has %d bytes and its index %d, with a limit of %d", end, size, r.limit)
	}
	if r.Dropped() != bytes-end {
		t.Errorf("%d bytes are dropped, and %d of %d recorded", r.Dropped(), end, bytes)
	}
	for i, c := range chunks {
		if c.Stream != streams[i%2] || len(c.Data) != 1 {
			t.Fatalf("chunk %d is %+v", i, c)
		}
	}
}

// indexBuffer is an index in memory.
type indexBuffer struct{ bytes.Buffer }

func (b *indexBuffer) Truncate(size int64) error { b.Buffer.Truncate(int(size)); return nil }

func TestReplayHasTheTimeOfEachPiece(t *testing.T) {
	var file indexBuffer
	w := indexWriter{file: &file}
	begin := time.UnixMilli(1_700_000_000_000)
	var want []indexEntry
	for i := range 5000 {
		want = append(want, indexEntry{begin.Add(time.Duration(i*i) * time.Millisecond), Stream(i%3 + 1), int64(i%70 + 1)})
	}
	for _, entry := range want {
		if err := w.add(entry.at, entry.stream, entry.length); err != nil {
			t.Fatal(err)
		}
	}
	var got []indexEntry
	err := readIndex(temporary(t, file.Bytes()), 0, func(_ int64, entry indexEntry) error {
		got = append(got, entry)
		return nil
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for i := range got {
		if !got[i].at.Equal(want[i].at) || got[i].stream != want[i].stream || got[i].length != want[i].length {
			t.Fatalf("entry %d is %+v, not %+v", i, got[i], want[i])
		}
	}
}

func temporary(t interface {
	Helper()
	TempDir() string
	Fatal(...any)
}, data []byte,
) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Whatever was recorded, in pieces of any size, is read back from any offset.
func TestOutputIsReadFromAnyOffset(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, dir := newTestRecorder(t)
		var text []byte
		var streams []Stream
		for _, piece := range rapid.SliceOfN(rapid.IntRange(1, 9000), 1, 300).Draw(rt, "pieces") {
			stream := Stream(piece%3 + 1)
			data := bytes.Repeat([]byte{byte('a' + piece%26)}, piece)
			if err := r.Append(stream, data); err != nil {
				rt.Fatal(err)
			}
			text = append(text, data...)
			for range data {
				streams = append(streams, stream)
			}
		}
		if err := r.Close(); err != nil {
			rt.Fatal(err)
		}
		from := rapid.IntRange(0, len(text)).Draw(rt, "from")
		at := from
		chunks, end := collect(t, dir, int64(from))
		for _, c := range chunks {
			if c.Offset != int64(at) || !bytes.Equal(c.Data, text[at:at+len(c.Data)]) {
				rt.Fatalf("at %d: chunk %d of %d bytes", at, c.Offset, len(c.Data))
			}
			for i := range c.Data {
				if streams[at+i] != c.Stream {
					rt.Fatalf("byte %d is of stream %d, not %d", at+i, c.Stream, streams[at+i])
				}
			}
			at += len(c.Data)
		}
		if at != len(text) || end != int64(len(text)) {
			rt.Fatalf("read up to %d of %d", at, len(text))
		}
	})
}

// Sessions that were recorded by earlier versions stay readable.
func TestAnIndexWithoutBlocksIsStillRead(t *testing.T) {
	dir := t.TempDir()
	var index []byte
	for i, end := range []uint64{6, 10, 15} {
		index = binary.LittleEndian.AppendUint64(index, uint64(1_700_000_000_000_000+i))
		index = binary.LittleEndian.AppendUint64(index, end)
		index = binary.LittleEndian.AppendUint64(index, uint64(i%2+1))
	}
	for name, data := range map[string]string{rawName: "hello oopsworldtorn", indexName: string(index) + "half an"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chunks, end := collect(t, dir, 3)
	var got []string
	for _, c := range chunks {
		got = append(got, string(c.Data))
	}
	if strings.Join(got, "|") != "lo |oops|world|torn" || end != 19 || chunks[1].Stream != Stderr || chunks[0].Time.UnixMicro() != 1_700_000_000_000_000 {
		t.Errorf("read %q up to %d", got, end)
	}
}

// FuzzIndex reads anything as an index.
func FuzzIndex(f *testing.F) {
	var file indexBuffer
	w := indexWriter{file: &file}
	for i := range 3 {
		_ = w.add(time.UnixMilli(int64(i)), Stdout, int64(i+1))
	}
	f.Add(file.Bytes(), int64(2))
	f.Add(make([]byte, 2*fixedEntry), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, from int64) {
		file := temporary(t, data)
		defer file.Close()
		count := 0
		_ = readIndex(file, from, func(offset int64, entry indexEntry) error {
			if count++; count > len(data) {
				t.Fatal("there are more entries than bytes")
			}
			if offset < 0 || entry.length <= 0 || entry.length > MaxSize {
				t.Fatalf("entry %+v at %d", entry, offset)
			}
			return nil
		})
	})
}

// A crash of the machine can leave zeros in place of a part of the index, or a shorter record.
func TestAWholeRecordIsReadAlthoughItsIndexIsDamaged(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"zeros": func(dir string) error {
			index, err := os.OpenFile(filepath.Join(dir, indexName), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = index.WriteAt(make([]byte, indexBlock), 0)
			return errors.Join(err, index.Close())
		},
		"a shorter record": func(dir string) error { return os.Truncate(filepath.Join(dir, rawName), 150_000) },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newTestRecorder(t)
			for i := range 100_000 {
				record(t, r, []Stream{Stdout, Stderr}[i%2], "xy")
			}
			if err := errors.Join(r.Close(), damage(dir)); err != nil {
				t.Fatal(err)
			}
			want, err := Size(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := int64(0)
			end, err := Read(dir, 0, true, func(c Chunk) error { got += int64(len(c.Data)); return nil })
			if err != nil || end != want || got != want {
				t.Errorf("%d bytes up to %d of %d, and the error %v", got, end, want, err)
			}
			if _, err := Read(dir, 0, false, func(Chunk) error { return nil }); !errors.Is(err, errIndexDamaged) {
				t.Errorf("a follower gets the error %v", err)
			}
			full := errors.New("full")
			if _, err := Read(dir, 0, true, func(Chunk) error { return full }); !errors.Is(err, full) {
				t.Errorf("an error of the visitor becomes %v", err)
			}
		})
	}
}
