package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
)

// chatter is what `seq 1 N` prints.
func chatter(n int) (sum string, size int64) {
	hash := sha256.New()
	var buf []byte
	for i := 1; i <= n; i++ {
		buf = fmt.Appendln(buf, i)
		if len(buf) > 1<<20 || i == n {
			size += int64(len(buf))
			_, _ = hash.Write(buf)
			buf = buf[:0]
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), size
}

// A client that stops reading for a while does not slow down others and loses nothing.
func TestFiftyMegabytesArriveCompleteAtASlowReader(t *testing.T) {
	t.Parallel()
	const lines = 6_800_000
	want, size := chatter(lines)
	if size < 50<<20 {
		t.Fatalf("only %d bytes", size)
	}
	m := newMachine(t)
	cmd := m.cmd(aibox, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "seq", "1", fmt.Sprint(lines))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	diagnosis := newWatched()
	cmd.Stderr = diagnosis
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	first, err := io.CopyN(hash, out, 4096)
	if err != nil {
		t.Fatalf("%v\n%s", err, diagnosis.String())
	}
	// The session ends while its client shows the first page.
	eventually(t, limit, "the session ends", func() bool {
		all := m.stored()
		return len(all) == 1 && all[0].State.Phase == "ended"
	})
	rest, err := io.Copy(hash, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("run: %v\n%s", err, diagnosis.String())
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want || first+rest != size {
		t.Errorf("%d bytes with sum %s arrived, not %d with %s", first+rest, got, size, want)
	}
	raw := m.exec("sh", "-c", aibox+" logs --raw "+m.stored()[0].ID+" | sha256sum")
	if !strings.HasPrefix(raw.stdout, want) {
		t.Errorf("the record is another one: %s", raw)
	}
}
