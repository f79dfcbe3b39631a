package cli

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestACommentFromAPipeCanBeInterrupted(t *testing.T) {
	a, _, _ := testApp(t)
	in, other, err := os.Pipe() // nothing closes the other end
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	defer in.Close()
	a.in = in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&commentOptions{cli: a}).text(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
