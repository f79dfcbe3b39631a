package control

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// stuckFiles are files of a sandbox that does not read.
type stuckFiles struct{ began, ended chan struct{} }

func (f stuckFiles) Serve(ctx context.Context, connect func() (net.Conn, io.Reader, error)) error {
	defer close(f.ended)
	conn, _, err := connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	close(f.began)
	<-ctx.Done()
	return nil
}

// Otherwise it would take a place of the sandbox's requests until the end of the session.
func TestARequestForFilesEndsWithItsClientIfTheSandboxDoesNotReadIt(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := stuckFiles{make(chan struct{}), make(chan struct{})}
	server := serve(listener, fakeControls{files: files}, time.Millisecond)
	t.Cleanup(func() { _ = server.Close() })
	conn, err := Dial(dir, time.Minute).Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("more than is read")); err != nil {
		t.Fatal(err)
	}
	<-files.began
	_ = conn.Close()
	select {
	case <-files.ended:
	case <-time.After(time.Minute):
		t.Fatal("it waits for the sandbox")
	}
}
