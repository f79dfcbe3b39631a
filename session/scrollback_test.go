package session

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatScrollsOffIsKeptUpToABoundAndTheLastLineSaysSo(t *testing.T) {
	dir := t.TempDir()
	keeper := pastKeeper{dir: dir, size: maxPast - 10}
	for range 5 {
		keeper.keep([]byte("seven.\n"))
	}
	keeper.close()
	p, err := openPast(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = p.Output(0, func(c Chunk) error { text.Write(c.Data); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != "seven.\n"+pastFull {
		t.Errorf("%q", got)
	}
}

func TestThatThePastCannotBeKeptIsNoEnd(t *testing.T) {
	keeper := pastKeeper{dir: filepath.Join(t.TempDir(), "gone")}
	keeper.keep([]byte("x\n"))
	keeper.keep([]byte("x\n"))
	keeper.close()
	if !keeper.full || keeper.file != nil {
		t.Errorf("it is tried again and again: %+v", keeper)
	}
}
