package pipe

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func TestABufferedPipePassesOnAllBytes(t *testing.T) {
	sent := make([]byte, 5*chunkSize+12_345)
	_, _ = rand.Read(sent)
	for name, write := range map[string]func(*Buffered) error{
		"one write": func(b *Buffered) error { _, err := b.Write(sent); return err },
		"small writes": func(b *Buffered) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{b}, struct{ io.Reader }{bytes.NewReader(sent)}, make([]byte, 777))
			return err
		},
		"a reader":           func(b *Buffered) error { _, err := b.ReadFrom(bytes.NewReader(sent)); return err },
		"a reader of halves": func(b *Buffered) error { _, err := b.ReadFrom(iotest.HalfReader(bytes.NewReader(sent))); return err },
	} {
		b := NewBuffered()
		go func() { b.CloseWrite(write(b)) }()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestABufferedPipeHoldsThreeChunks(t *testing.T) {
	for name, write := range map[string]func(*Buffered){
		"writes":   func(b *Buffered) { _, _ = b.Write(make([]byte, 10*chunkSize)) },
		"a reader": func(b *Buffered) { _, _ = b.ReadFrom(bytes.NewReader(make([]byte, 10*chunkSize))) },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBuffered()
			done := make(chan bool)
			go func() { write(b); close(done) }()
			synctest.Wait()
			held := 0
			for _, chunk := range b.chunks {
				held += len(chunk)
			}
			if held != maxChunks*chunkSize {
				t.Errorf("%s: it holds %d bytes", name, held)
			}
			b.CloseRead(nil)
			<-done
		})
	}
}

func TestTheEndsOfABufferedPipeFail(t *testing.T) {
	reason := errors.New("reason")
	b := NewBuffered()
	_, _ = b.Write([]byte("text"))
	b.CloseWrite(reason)
	b.CloseWrite(nil)
	if got, err := io.ReadAll(b); string(got) != "text" || !errors.Is(err, reason) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after the end: %v", err)
	}
	b = NewBuffered()
	_, _ = b.Write([]byte("text"))
	b.CloseRead(reason)
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a read after the end: %v", err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, reason) {
		t.Errorf("a write without a reader: %v", err)
	}
	if _, err := b.ReadFrom(bytes.NewReader([]byte("x"))); !errors.Is(err, reason) {
		t.Errorf("a copy without a reader: %v", err)
	}
}
