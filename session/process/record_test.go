package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// produce appends size bytes in pieces of random length, and ends the record. It returns the
// hash of the bytes.
func produce(t *testing.T, r *Record, size int) [32]byte {
	hash := sha256.New()
	random := rand.New(rand.NewPCG(1, 2))
	for size > 0 {
		p := make([]byte, min(size, 1+random.IntN(100_000)))
		for i := 0; i < len(p); i += 97 {
			p[i] = byte(random.Uint32())
		}
		if err := r.Append(t.Context(), Stdout, p); err != nil {
			t.Error(err)
			break
		}
		hash.Write(p)
		size -= len(p)
	}
	if err := r.End(Exit{Code: 3}); err != nil {
		t.Error(err)
	}
	return [32]byte(hash.Sum(nil))
}

// consume reads from the frame next on, and checks the numbers and offsets. It stops after
// count frames or at the end.
func consume(t *testing.T, r *Record, next *uint64, offset *int64, out io.Writer, count int) (ended bool) {
	t.Helper()
	reader, err := r.Reader(*next)
	if err != nil {
		t.Error(err)
		return true
	}
	defer reader.Close()
	for range count {
		f, err := reader.Next(t.Context())
		if err != nil {
			t.Error(err)
			return true
		}
		if f.Seq != *next {
			t.Errorf("frame %d in place of %d", f.Seq, *next)
			return true
		}
		*next++
		if f.Kind == Ended {
			if _, err := reader.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
			reader.Take(f.Seq)
			return true
		}
		if f.Kind != Stdout || f.Offset != *offset {
			t.Errorf("frame %d is %c at offset %d in place of %d", f.Seq, f.Kind, f.Offset, *offset)
			return true
		}
		*offset += int64(len(f.Data))
		_, _ = out.Write(f.Data)
		reader.Take(f.Seq)
	}
	return false
}

func TestTenReadersGetIdenticalBytes(t *testing.T) {
	r := NewRecord(t.TempDir(), 64<<20, Hold)
	defer r.Close()
	var group sync.WaitGroup
	sums := make([][32]byte, 10)
	for i := range sums {
		group.Go(func() {
			hash := sha256.New()
			next, offset := uint64(1), int64(0)
			consume(t, r, &next, &offset, hash, 1<<30)
			sums[i] = [32]byte(hash.Sum(nil))
		})
	}
	want := produce(t, r, 20<<20)
	group.Wait()
	for i, sum := range sums {
		if sum != want {
			t.Errorf("reader %d got other bytes", i)
		}
	}
}

// The record keeps only a small part of the output, and the reader leaves after every few
// frames.
func TestReaderThatReconnectsLosesNothing(t *testing.T) {
	r := NewRecord(t.TempDir(), minKeep, Hold)
	defer r.Close()
	done := make(chan [32]byte)
	go func() { done <- produce(t, r, 30<<20) }()
	hash := sha256.New()
	next, offset := uint64(1), int64(0)
	for n := 1; !consume(t, r, &next, &offset, hash, n%17); n++ {
	}
	if want := <-done; [32]byte(hash.Sum(nil)) != want {
		t.Error("other bytes")
	}
	if r.size > minKeep+blockSize {
		t.Errorf("the file has %d bytes", r.size)
	}
	if !r.Delivered() {
		t.Error("the end was taken, and is not delivered")
	}
}

func TestNothingIsReadAfterTheLastFrame(t *testing.T) {
	r := NewRecord(t.TempDir(), DefaultKeep, Hold)
	defer r.Close()
	produce(t, r, 100)
	last, _ := r.Sizes()
	if reader, err := r.Reader(last + 1); err == nil {
		reader.Close()
		t.Error("a reader waits for a frame after the last one")
	}
	reader, err := r.Reader(last)
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
}

func TestFullRecordBlocksTheProcessUntilFramesAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecord(t.TempDir(), minKeep, Hold)
		defer r.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		appended := 0
		for ctx.Err() == nil {
			if r.Append(ctx, Stdout, make([]byte, 10_000)) == nil {
				appended++
			}
		}
		if size := appended * 10_000; size > minKeep || size < minKeep*9/10 {
			t.Errorf("%d bytes were accepted", size)
		}
		slow, err := r.Reader(1)
		if err != nil {
			t.Fatal(err)
		}
		fast, err := r.Reader(1)
		if err != nil {
			t.Fatal(err)
		}
		fast.Take(uint64(appended))
		done := make(chan error, 1)
		go func() { done <- r.Append(t.Context(), Stdout, make([]byte, 10_000)) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("frames that the slow reader needs were dropped: %v", err)
		default:
		}
		slow.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		fast.Close()
	})
}

// A hostile sandbox could report an end again and again, and print on.
func TestOnlyALittleOutputOfAnEndingProcessIsKeptBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecord(t.TempDir(), minKeep, Hold)
		defer r.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		accepted := func(n int) bool {
			appended := make(chan bool, 1)
			go func() { appended <- r.Append(ctx, Stdout, make([]byte, n)) == nil }()
			synctest.Wait()
			select {
			case ok := <-appended:
				return ok
			default:
				r.Ending() // while it waits
				synctest.Wait()
			}
			select {
			case ok := <-appended:
				return ok
			default:
				return false
			}
		}
		for size := int64(0); size <= minKeep+MaxRest && accepted(64<<10); {
			_, size = r.Sizes()
		}
		if _, size := r.Sizes(); size < minKeep+MaxRest*9/10 || size > minKeep+MaxRest {
			t.Errorf("%d bytes were accepted", size)
		}
	})
}

func TestProcessContinuesWithoutReadersButWaitsForTheFirstAndForSlowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecord(t.TempDir(), minKeep, DropUnread)
		defer r.Close()
		waits := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for range 1000 {
				if r.Append(ctx, Stdout, make([]byte, 10_000)) != nil {
					return true
				}
			}
			return false
		}
		if !waits() {
			t.Error("output was dropped before the first reader came")
		}
		reader, err := r.Reader(1)
		if err != nil {
			t.Fatal(err)
		}
		if !waits() {
			t.Error("output was dropped that a slow reader needs")
		}
		reader.Close()
		if waits() {
			t.Error("the process waits, although nothing reads")
		}
		again, err := r.Reader(1)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if f, err := again.Next(t.Context()); err != nil || f.Kind != Lost {
			t.Errorf("the next reader gets %+v, %v", f, err)
		}
	})
}

// A reader's connection can be lost before it has reported what it took. Then the position
// at which the next reader starts reports it.
func TestReaderThatContinuesAtTheEndOfAFullRecordMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecord(t.TempDir(), minKeep, Hold)
		defer r.Close()
		go func() { _ = r.Append(t.Context(), Stdout, make([]byte, 2*minKeep)) }()
		synctest.Wait()
		frames, _ := r.Sizes()
		reader, err := r.Reader(frames + 1)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if f, err := reader.Next(ctx); err != nil || f.Seq != frames+1 {
			t.Errorf("after frame %d: %d, %v", frames, f.Seq, err)
		}
	})
}

// A connection can be lost with frames that its reader has taken. So the newest of these
// are kept.
func TestRecordKeepsTheNewestTakenFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecord(t.TempDir(), DefaultKeep, Hold)
		defer r.Close()
		go func() { produce(t, r, 4*DefaultKeep) }()
		reader, err := r.Reader(1)
		if err != nil {
			t.Fatal(err)
		}
		var last Frame
		for last.Offset < 2*DefaultKeep {
			if last, err = reader.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			reader.Take(last.Seq)
		}
		synctest.Wait() // for the process, which waits for its reader
		reader.Close()
		from := last.Seq - DefaultKeep/4/MaxData
		if reader, err = r.Reader(from); err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		f, err := reader.Next(t.Context())
		if err != nil || f.Kind == Lost {
			t.Errorf("frame %d, which was taken, is of kind %d, %v", from, f.Kind, err)
		}
		for ; err == nil; f, err = reader.Next(t.Context()) {
			reader.Take(f.Seq)
		}
	})
}

func TestDroppedFramesAreReportedToTheReader(t *testing.T) {
	r := NewRecord(t.TempDir(), minKeep, Drop)
	defer r.Close()
	reader, err := r.Reader(1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for i := range 1000 {
		if err := r.Append(t.Context(), Stdout, bytes.Repeat([]byte{byte(i)}, 5000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.End(Exit{}); err != nil {
		t.Fatal(err)
	}
	lost, err := reader.Next(t.Context())
	if err != nil || lost.Kind != Lost || lost.Seq != 1 {
		t.Fatalf("got %+v, %v", lost, err)
	}
	gap, err := lost.Gap()
	if err != nil || gap.Next < 100 {
		t.Fatalf("got %+v, %v", gap, err)
	}
	for seq := gap.Next; ; seq++ {
		f, err := reader.Next(t.Context())
		if err != nil || f.Seq != seq {
			t.Fatalf("got frame %d in place of %d, %v", f.Seq, seq, err)
		}
		if f.Kind == Ended {
			break
		}
		if want := int64(seq-1) * 5000; f.Offset != want || f.Data[0] != byte(seq-1) {
			t.Fatalf("frame %d has offset %d", seq, f.Offset)
		}
	}
}

func TestSmallOutputNeedsNoFile(t *testing.T) {
	r := NewRecord(filepath.Join(t.TempDir(), "missing"), DefaultKeep, Hold)
	defer r.Close()
	if err := errors.Join(r.Append(t.Context(), Stdout, make([]byte, 100_000)), r.End(Exit{})); err != nil {
		t.Error(err)
	}
	if err := r.Append(t.Context(), Stdout, make([]byte, 300_000)); err == nil {
		t.Error("output that could not be stored was accepted")
	}
}

func TestReadersOfAStreamSeeItsOwnOffsets(t *testing.T) {
	r := NewRecord(t.TempDir(), DefaultKeep, Hold)
	defer r.Close()
	for i := range 3 {
		_ = r.Append(t.Context(), Stdout, []byte("out"))
		_ = r.Append(t.Context(), Stderr, []byte(fmt.Sprintf("error %d", i)))
	}
	reader, err := r.Reader(5)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := reader.Next(t.Context())
	out.Data = bytes.Clone(out.Data)
	failed, _ := reader.Next(t.Context())
	if out.Offset != 6 || string(out.Data) != "out" || failed.Offset != 14 || failed.Kind != Stderr {
		t.Errorf("%+v, %+v", out, failed)
	}
	if _, err := r.Reader(8); err == nil {
		t.Error("a frame that does not exist can be read from")
	}
	if _, err := r.Reader(0); err == nil {
		t.Error("frame 0 can be read")
	}
}

// FuzzRead feeds hostile bytes: the parser must neither panic nor accept too much, and what
// it accepts must survive a round trip.
func FuzzRead(f *testing.F) {
	f.Add(Frame{Seq: 1, Kind: Stdout, Time: time.Unix(1, 2), Data: []byte("text")}.Append(nil))
	f.Add(Frame{Seq: 2, Kind: Ended, Data: []byte(`{"code":1}`)}.Append(nil))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		frame, err := Read(bytes.NewReader(encoded), nil)
		if err != nil {
			return
		}
		if len(frame.Data) > MaxData || len(frame.Data) > len(encoded) {
			t.Fatalf("accepted %d bytes", len(frame.Data))
		}
		again, rest, err := parse(frame.Append(nil))
		if err != nil || len(rest) > 0 || again.Seq != frame.Seq || again.Offset != frame.Offset || !again.Time.Equal(frame.Time) || !bytes.Equal(again.Data, frame.Data) {
			t.Fatalf("round trip: %+v, %v", again, err)
		}
		_, _ = frame.Exit()
		_, _ = frame.Gap()
	})
}

func TestEncodedFramesAreTheSameFrames(t *testing.T) {
	r := NewRecord(t.TempDir(), 8<<20, Hold)
	produce(t, r, 3<<20)
	one, err := r.Reader(3)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	var want []byte
	for {
		f, err := one.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		want = f.Append(want)
	}
	many, err := r.Reader(3)
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	var got []byte
	calls := 0
	for ; ; calls++ {
		frames, err := many.NextEncoded(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, frames...)
	}
	if !bytes.Equal(got, want) || calls > len(r.blocks) {
		t.Errorf("%d bytes in %d calls, and %d one by one", len(got), calls, len(want))
	}
}

func TestLostFramesAreReportedAmongEncodedOnes(t *testing.T) {
	r := NewRecord(t.TempDir(), minKeep, Drop)
	produce(t, r, 4*minKeep)
	reader, err := r.Reader(1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	frames, err := reader.NextEncoded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost, err := Read(bytes.NewReader(frames), nil)
	if err != nil || lost.Kind != Lost || lost.Seq != 1 {
		t.Fatalf("%+v, %v", lost, err)
	}
	gap, err := lost.Gap()
	if err != nil {
		t.Fatal(err)
	}
	if frames, err = reader.NextEncoded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next, err := Read(bytes.NewReader(frames), nil); err != nil || next.Seq != gap.Next {
		t.Errorf("frame %d after a gap up to %d, %v", next.Seq, gap.Next, err)
	}
}
