package output

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestScrollbackIsLimitedAndItsLastLineSaysSo(t *testing.T) {
	dir := t.TempDir()
	writer := ScrollbackWriter{dir: dir, size: maxScrollback - 10}
	for range 5 {
		writer.Append([]byte("seven.\n"))
	}
	writer.Close()
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
	writer := ScrollbackWriter{dir: filepath.Join(t.TempDir(), "gone")}
	writer.Append([]byte("x\n"))
	writer.Append([]byte("x\n"))
	writer.Close()
	if !writer.full || writer.file != nil {
		t.Errorf("it is tried again and again: %+v", writer)
	}
}
