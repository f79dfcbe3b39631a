package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// outputs reads pieces of these sizes in a row, and returns how long it paused.
func outputs(b *outputBuffer, sizes ...int) time.Duration {
	begin := time.Now()
	for _, size := range sizes {
		b.read(min(size, len(b.next())))
		time.Sleep(b.pause())
	}
	return time.Since(begin)
}

func repeated(size, count int) []int {
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes
}

func TestOnlyMuchOutputInSmallPiecesIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if paused := outputs(&outputBuffer{}, 1, 200, 8<<10, 100, 100); paused != 0 {
			t.Errorf("little output was delayed by %v", paused)
		}
		if paused := outputs(&outputBuffer{}, repeated(largeOutput, 100)...); paused != 0 {
			t.Errorf("large pieces were delayed by %v", paused)
		}
		many := &outputBuffer{}
		if paused := outputs(many, repeated(8<<10, 20)...); paused == 0 {
			t.Error("many small pieces were not gathered")
		}
		if paused := awaited(many, gatherWindow+1, 100); paused != 0 {
			t.Errorf("the first output after a while was delayed by %v", paused)
		}
	})
}

// awaited reads pieces of these sizes, waiting for each, and returns how long it paused.
func awaited(b *outputBuffer, wait time.Duration, sizes ...int) (paused time.Duration) {
	for _, size := range sizes {
		into := b.next()
		time.Sleep(wait)
		b.read(min(size, len(into)))
		pause := b.pause()
		time.Sleep(pause)
		paused += pause
	}
	return paused
}

// At the start of a new window, output must not be read in small pieces again until that
// window has had much output, too.
func TestMuchOutputIsGatheredAsLongAsItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &outputBuffer{}
		awaited(b, gatherTime/4, repeated(8<<10, 40)...)
		if paused := awaited(b, gatherTime/4, repeated(32<<10, 100)...); paused < 90*gatherTime {
			t.Errorf("100 pieces of much output were gathered for %v", paused)
		}
		awaited(b, gatherWindow/3, repeated(100, 10)...)
		if paused := awaited(b, gatherWindow/3, repeated(100, 10)...); paused != 0 {
			t.Errorf("little output after much was delayed by %v", paused)
		}
	})
}

func TestTheBufferOfLittleOutputIsSmall(t *testing.T) {
	b := &outputBuffer{}
	outputs(b, 10, 20)
	if len(b.bytes) != smallOutput {
		t.Errorf("a buffer of %d bytes", len(b.bytes))
	}
	outputs(b, smallOutput)
	if got := len(b.next()); got != largeOutput {
		t.Errorf("a buffer of %d bytes for much output", got)
	}
}
