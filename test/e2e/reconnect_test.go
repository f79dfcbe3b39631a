package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"aibox/session/control"
	"aibox/session/output"
)

var (
	reconnects         = flag.Int("reconnects", 10, "how often a client of a session's output loses its connection")
	reconnectMegabytes = flag.Int("reconnects.megabytes", 8, "MB that the agent prints meanwhile")
)

// A client that loses its connection again and again continues at the byte where it was.
// With -reconnects 50 -reconnects.megabytes 100 it is the long version.
func TestOutputArrivesWholeAtAClientThatLosesItsConnection(t *testing.T) {
	t.Parallel()
	lines := *reconnectMegabytes * 130_000
	want, size := chatter(lines)
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--max-output", "1024", "--repo", m.repo("p", nil), "--", "sh", "-c",
		fmt.Sprintf("seq 1 %d; until test -e go; do sleep 0.05; done", lines))
	client := control.Dial(filepath.Join(m.sessions(), id), control.AnswerTimeout)
	hash, got, lost := sha256.New(), int64(0), 0
	for got < size {
		ctx, cancel := context.WithCancel(t.Context())
		stop := size * int64(lost+1) / int64(*reconnects+1)
		from := got
		_, err := client.Output(ctx, from, func(c output.Chunk) error {
			if c.Offset != got {
				t.Errorf("after byte %d comes %d", got, c.Offset)
			}
			_, _ = hash.Write(c.Data)
			if got += int64(len(c.Data)); got >= stop || got >= size {
				cancel() // as a network or a laptop's lid does
				return context.Canceled
			}
			return nil
		})
		cancel()
		if err == nil || got == from {
			t.Fatalf("the output ends after %d of %d bytes: %v", got, size, err)
		}
		lost++
	}
	t.Logf("%d bytes, %d connections", got, lost)
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != want || got != size || lost < *reconnects {
		t.Errorf("%d bytes with sum %s arrived over %d connections, not %d with %s", got, sum, lost, size, want)
	}
	m.write(filepath.Join(m.record(id).State.Workspace.Path, "go"), "")
	m.aibox(0, "attach", id)
}
