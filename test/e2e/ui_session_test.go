package e2e

import (
	"path/filepath"
	"testing"
	"time"
)

func TestCommandsRunAndFilesAreCopiedFromTheScreenOfASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("shop", nil), "--", "sh", "-c", "echo from the sandbox > /tmp/out; echo ready; sleep 1000")
	s := m.onTerminal()
	s.awaitShown(`● running +` + id)
	s.typed("\r")
	s.awaitShown(`(?s)ready.*other pane`)
	s.typed("x")
	s.awaitShown(`Run which command in the sandbox`)
	s.typed(`pwd && printf 'what%s is it? ' ever && read x && echo "it is $x"` + "\r")
	s.awaitShown(`(?s)/workspace.*whatever is it\?`)
	s.typed("good\r")
	s.awaitShown(`(?s)it is good.*enter goes back`)
	s.typed("\r")
	s.awaitShown(`(?s)ready.*other pane`)
	s.typed("x")
	s.awaitShown(`Run which command in the sandbox`)
	s.typed("exit 7\r")
	s.awaitShown(`(?s)exit code 7.*enter goes back`)
	s.typed("\r")
	s.awaitShown(`(?s)ready.*other pane`)
	s.typed("c")
	s.awaitShown(`Copy what out of the sandbox`)
	copied := filepath.Join(m.home, "copied")
	s.typed("/tmp/out\t\x7f" + copied + "\r")
	s.awaitShown(`(?s)copied 1 file.*enter goes back`)
	if text := m.read(copied); text != "from the sandbox\n" {
		t.Errorf("the copy holds %q", text)
	}
	s.typed("\r")
	s.awaitShown(`(?s)ready.*other pane`)
	s.typed("c")
	s.awaitShown(`Copy what out of the sandbox`)
	s.typed("\x14") // ctrl-t
	s.awaitShown(`Copy what into the sandbox`)
	s.typed("/tmp/in\t\x7f" + copied + "\r")
	eventually(t, 30*time.Second, "the file is in the sandbox", func() bool {
		return m.exec(aibox, "exec", id, "--", "cat", "/tmp/in").stdout == "from the sandbox\n"
	})
	s.awaitShown(`(?s)copied 1 file.*enter goes back`)
	s.typed("\r")
	s.awaitShown(`(?s)ready.*other pane`)
	s.typed("\x03")
	s.ends(0)
	s.givenBack()
	m.aibox(0, "stop", id)
}
