package peer

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestConnectionsOfAnotherUserToASocketAreClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		conn, err := acceptFrom(listener, os.Getuid()+1)
		if conn != nil {
			_ = conn.Close()
			err = errors.New("the connection was accepted")
		}
		ended <- err
	}()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(conn) // it was closed
	_ = conn.Close()
	_ = listener.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
