package newrun

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// keyNames are keys that do something here.
var keyNames = []string{
	"enter", "tab", "shift+tab", "esc", "up", "down", "pgup", "pgdown", "home", "end", "left", "right", "backspace", "delete", "space",
	"ctrl+s", "ctrl+t", "ctrl+l", "ctrl+y", "ctrl+u", "ctrl+c", "a", "b", "c", "d", "h", "i", "j", "k", "l", "q", "y", "n", "/", "~", "@", ".", "-", "é", "漢", "0", "9", "[",
}

// mashed plays random keys to a screen.
func mashed(t testing.TB, seed uint64, n int) {
	random := rand.New(rand.NewPCG(seed, seed))
	w := newWorld(t)
	if seed%2 == 0 {
		w.fail, w.noImage = errors.New("no"), true
	}
	w.delivers = seed%5 == 0
	p := open(t, w)
	if seed%3 > 0 {
		p.tell("mend it ")
	}
	p.ActRandomly(random, n, keyNames)
	if strings.Contains(p.m.View(), "\x1b[2J") {
		t.Error("something reached the terminal raw")
	}
	for _, line := range w.started {
		if !strings.Contains(line, "--prompt=") && !strings.Contains(line, "--interactive") {
			t.Errorf("started what cannot stand: %s", line)
		}
	}
}

func TestNoKeysBreakTheScreen(t *testing.T) {
	for seed := range uint64(10) {
		mashed(t, seed, 100)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { mashed(t, seed, 60) })
}
