package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// The memory of input that was written is used again, while other input waits.
func TestMuchInputArrivesUnchanged(t *testing.T) {
	const piece = 50_000
	sent := make([]byte, 200*piece)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(sent)
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	room := make(chan int, len(sent))
	in := newInput(func(n int) error { room <- n; return nil })
	in.connect(writing, false)
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(reading)
		got <- all
	}()
	for at, waiting := 0, 0; at < len(sent); at += piece {
		for waiting > maxQueued/2 {
			waiting -= <-room
		}
		if err := in.add(sent[at : at+piece]); err != nil {
			t.Fatal(err)
		}
		waiting += piece
	}
	in.end()
	if all := <-got; !bytes.Equal(all, sent) {
		t.Errorf("%d bytes arrived of %d, or other ones", len(all), len(sent))
	}
}
