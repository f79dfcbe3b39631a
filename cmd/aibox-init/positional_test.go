package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// asWriter makes the test binary run writeAtPositions as the agent.
const asWriter = "aibox-test-writer"

// writeAtPositions tries positional writes to its standard output, which must be a file,
// and to another descriptor of that file. It reports the results on its standard error.
func writeAtPositions() {
	other, err := unix.Dup(1)
	if err != nil {
		panic(err)
	}
	buf := [][]byte{[]byte("x")}
	_, at := unix.Pwrite(1, buf[0], 0)
	_, vector := unix.Pwritev(1, buf, 0)
	_, second := unix.Pwritev2(1, buf, 0, 0)
	_, plain := unix.Pwritev2(1, buf, -1, 0)
	_, elsewhere := unix.Pwrite(other, buf[0], 0)
	fmt.Fprintln(os.Stderr, at, vector, second, plain, elsewhere)
	os.Exit(0)
}

func TestStandardOutputOnATerminalIsNotSeekable(t *testing.T) {
	errorsOf := func(tty bool) string {
		p := newPeer(t)
		p.start(lifeline.Start{
			Argv: []string{"sh", "-c", `exec "$0" ` + asWriter + ` > "$HOME/file"`, os.Args[0]}, TTY: tty,
		})
		o := p.finish(nil)
		return strings.TrimSpace(o.stdout.String() + o.stderr.String())
	}
	const refused = "illegal seek illegal seek illegal seek <nil> <nil>"
	if got := errorsOf(true); got != refused {
		t.Errorf("on a terminal the errors are %q, not %q", got, refused)
	}
	if got := errorsOf(false); got != "<nil> <nil> <nil> <nil> <nil>" {
		t.Errorf("without a terminal the errors are %q", got)
	}
}
