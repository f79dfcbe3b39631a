package control

import (
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/peer/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }

// Other users are kept out not only by the mode of the socket.
func TestAnotherUserGetsNoAnswerFromTheControlSocket(t *testing.T) {
	dir := t.TempDir()
	f, c := serveFake(t, dir)
	if got := peertest.DialUnix(t, filepath.Join(dir, SocketFile)); got != "" && !strings.Contains(got, "reset") {
		t.Errorf("another user received %q", got)
	}
	if err := c.Stop(t.Context(), "this user", 0); err != nil || <-f.reasons != "this user" {
		t.Errorf("this user: %v", err)
	}
}
