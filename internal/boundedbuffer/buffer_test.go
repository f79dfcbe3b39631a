package boundedbuffer

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestABufferKeepsNoMoreThanItsSize(t *testing.T) {
	excess := errors.New("too much")
	b := New(4, excess)
	if _, err := io.WriteString(b, "four"); err != nil || b.IsFull() {
		t.Error(err)
	}
	if _, err := io.Copy(b, io.LimitReader(strings.NewReader("!"), 1)); !errors.Is(err, excess) || !b.IsFull() || string(b.Bytes()) != "four" {
		t.Errorf("%v, %q", err, b.Bytes())
	}
}
