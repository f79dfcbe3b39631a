package peer

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
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
	_, _ = io.ReadAll(conn) // the listener has closed it
	_ = conn.Close()
	_ = listener.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// connections is a listener that has these connections, and then ends.
type connections struct {
	net.Listener
	left []net.Conn
}

func (c *connections) Accept() (net.Conn, error) {
	if len(c.left) == 0 {
		return nil, net.ErrClosed
	}
	conn := c.left[0]
	c.left = c.left[1:]
	return conn, nil
}

// onFile is a connection on a descriptor that is not a socket.
type onFile struct {
	net.Conn
	file *os.File
}

func (c onFile) SyscallConn() (syscall.RawConn, error) { return c.file.SyscallConn() }

// A connection whose other end the kernel does not report belongs to no one.
func TestConnectionsOfAnUnknownUserAreClosed(t *testing.T) {
	noDescriptor, far := net.Pipe()
	noSocket, _ := net.Pipe()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	conn, err := acceptFrom(&connections{left: []net.Conn{noDescriptor, onFile{noSocket, file}}}, os.Getuid())
	if conn != nil || !errors.Is(err, net.ErrClosed) {
		t.Fatalf("%v, %v", conn, err)
	}
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
}
