package output

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// failingIndex stores one byte of the write with the number fails, counted from 1, and
// refuses the rest, as a full disk does.
type failingIndex struct {
	indexFile
	fails int
}

var errNoRoom = errors.New("no room")

func (f *failingIndex) Write(p []byte) (int, error) {
	if f.fails--; f.fails == 0 {
		n, err := f.indexFile.Write(p[:1])
		return n, errors.Join(err, errNoRoom)
	}
	return f.indexFile.Write(p)
}

func TestAShortWriteOfAnIndexEntryIsDropped(t *testing.T) {
	r, dir := newTestRecorder(t)
	r.index.file = &failingIndex{indexFile: r.index.file, fails: 2}
	record(t, r, Stderr, "one ")
	if err := r.Append(Stderr, []byte("lost ")); !errors.Is(err, errNoRoom) {
		t.Fatalf("appending without room for the index gives %v", err)
	}
	record(t, r, Stderr, "two ")
	record(t, r, Notice, "three")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	chunks, end := collect(t, dir, 0)
	want := []Chunk{{Stream: Stderr, Data: []byte("one ")}, {Stream: Stderr, Data: []byte("two ")}, {Stream: Notice, Data: []byte("three")}}
	if len(chunks) != len(want) || end != 13 {
		t.Fatalf("read %d chunks up to %d: %v", len(chunks), end, chunks)
	}
	for i, c := range chunks {
		if c.Stream != want[i].Stream || !bytes.Equal(c.Data, want[i].Data) {
			t.Errorf("chunk %d is %q of stream %d", i, c.Data, c.Stream)
		}
	}
}

func TestAFollowerReturnsWhenTheIndexIsTruncated(t *testing.T) {
	for name, ctx := range map[string]func() context.Context{
		"its context has ended": func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
		"its context goes on": t.Context,
	} {
		r, dir := newTestRecorder(t)
		record(t, r, Stderr, "one")
		if err := r.idx.Truncate(0); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.Follow(ctx(), dir, 0, func(Chunk) error { return nil }) }()
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the follower never returns", name)
		}
	}
}
