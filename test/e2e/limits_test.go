package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// sizeOf is the size of one of a session's files in bytes.
func (m *machine) sizeOf(id, file string) int64 {
	m.t.Helper()
	info, err := os.Stat(filepath.Join(m.sessions(), id, file))
	if err != nil {
		m.t.Fatal(err)
	}
	return info.Size()
}

// An agent that prints byte by byte once made an index of 24 bytes for each of them,
// which no limit counted.
func TestOutputInTinyPiecesMakesASmallIndex(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--",
		"perl", "-e", `for (1..20000) { syswrite STDOUT, "x"; syswrite STDERR, "y" if $_ % 50 == 0 }`))
	raw, index := m.sizeOf(r.ID, "output.raw"), m.sizeOf(r.ID, "output.idx")
	if raw != 20_400 || index > raw/4 {
		t.Errorf("the record has %d bytes, its index %d", raw, index)
	}
}
