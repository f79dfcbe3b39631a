package output

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestScrollbackIsLimitedAndItsLastLineSaysSo(t *testing.T) {
	dir := t.TempDir()
	keeper := ScrollbackWriter{dir: dir, size: maxScrollback - 10}
	for range 5 {
		keeper.Append([]byte("seven.\n"))
	}
	keeper.Close()
	p, err := OpenScrollback(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = p.Output(0, func(c Chunk) error { text.Write(c.Data); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != "seven.\n"+scrollbackFull {
		t.Errorf("%q", got)
	}
}

func TestAScrollbackWriteErrorIsNotFatal(t *testing.T) {
	keeper := ScrollbackWriter{dir: filepath.Join(t.TempDir(), "gone")}
	keeper.Append([]byte("x\n"))
	keeper.Append([]byte("x\n"))
	keeper.Close()
	if !keeper.full || keeper.file != nil {
		t.Errorf("it is tried again and again: %+v", keeper)
	}
}
