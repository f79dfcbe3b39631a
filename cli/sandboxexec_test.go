package cli

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/fault"
)

// A server that hangs must not make the command ignore ctrl-c.
func TestACommandInASandboxCanBeInterruptedBeforeItHasStarted(t *testing.T) {
	a, _, _ := testApp(t)
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := client.Unix(listener.Addr().String())
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- (&sandboxExecOptions{cli: a}).follow(ctx, c, &aiboxv1.StartProcessRequest{SandboxId: "0dq4f", Argv: []string{"ls"}})
	}()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; fault.KindOf(err) != fault.Interrupted {
		t.Errorf("it ends with %v", err)
	}
}
