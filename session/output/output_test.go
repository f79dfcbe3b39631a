package output

import (
	"bytes"
	"context"
	"testing"
)

func newTestRecorder(t *testing.T) (*Recorder, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, dir
}

func collect(t *testing.T, dir string, from int64) (chunks []Chunk, end int64) {
	t.Helper()
	end, err := Read(dir, from, true, func(c Chunk) error {
		c.Data = bytes.Clone(c.Data)
		chunks = append(chunks, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return chunks, end
}

func record(t *testing.T, r *Recorder, stream Stream, text string) {
	t.Helper()
	if err := r.Append(stream, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestOutputIsReadAgainByStreamFromAnyOffset(t *testing.T) {
	r, dir := newTestRecorder(t)
	record(t, r, Stdout, "hello ")
	record(t, r, Stderr, "oops")
	record(t, r, Stdout, "world")
	chunks, end := collect(t, dir, 3)
	want := []Chunk{{Offset: 3, Stream: Stdout, Data: []byte("lo ")}, {Offset: 6, Stream: Stderr, Data: []byte("oops")}, {Offset: 10, Stream: Stdout, Data: []byte("world")}}
	if len(chunks) != len(want) || end != 15 {
		t.Fatalf("got %d chunks up to %d", len(chunks), end)
	}
	for i, c := range chunks {
		if c.Offset != want[i].Offset || c.Stream != want[i].Stream || !bytes.Equal(c.Data, want[i].Data) {
			t.Errorf("chunk %d is %+v, want %+v", i, c, want[i])
		}
	}
}

func TestAFollowerReadsEveryByteOnce(t *testing.T) {
	r, dir := newTestRecorder(t)
	record(t, r, Stdout, "before ")
	got := make(chan string)
	seen := make(chan struct{}, 1)
	go func() {
		var text []byte
		err := r.Follow(context.Background(), dir, 0, func(c Chunk) error {
			text = append(text, c.Data...)
			select {
			case seen <- struct{}{}:
			default:
			}
			return nil
		})
		if err != nil {
			text = append(text, err.Error()...)
		}
		got <- string(text)
	}()
	<-seen
	record(t, r, Stderr, "during ")
	record(t, r, Stdout, "after")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "before during after" {
		t.Fatalf("followed %q", text)
	}
}

func TestUnindexedBytesAfterACrashAreKept(t *testing.T) {
	r, dir := newTestRecorder(t)
	record(t, r, Stderr, "indexed ")
	if _, err := r.raw.WriteString("torn"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.idx.WriteString("\x80\x80"); err != nil {
		t.Fatal(err)
	}
	chunks, _ := collect(t, dir, 0)
	if len(chunks) != 2 || string(chunks[1].Data) != "torn" || chunks[1].Stream != Stdout {
		t.Fatalf("got %+v", chunks)
	}
}

func TestOutputBeyondTheLimitIsCountedAndDropped(t *testing.T) {
	r, dir := newTestRecorder(t)
	r.limit = 10 + indexRoom
	record(t, r, Stdout, "12345678")
	record(t, r, Stdout, "90abc")
	record(t, r, Stdout, "def")
	_, end := collect(t, dir, 0)
	if end != 10 || r.Dropped() != 6 {
		t.Fatalf("kept %d, dropped %d", end, r.Dropped())
	}
}
