package cli

import (
	"context"
	"net"
	"path/filepath"
	"strings"
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

func TestACommandInTheBackgroundOfASandbox(t *testing.T) {
	for flags, want := range map[string]string{
		"-d": "", "-dt": "", "-dit": "",
		"-di": "a command in the background has no input", "-t": "-t needs a terminal as input and output",
	} {
		a, out, _ := testApp(t)
		api := serveFakeAPI(t)
		err := a.execute(t.Context(), strings.Fields("sandbox exec "+flags+" 0dq4f -- cat"))
		if want != "" {
			if err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage || api.launched != nil {
				t.Errorf("%s: %v, want %q", flags, err, want)
			}
			continue
		}
		if err != nil || out.String() != "7\n" || (api.launched.GetTty() != nil) != strings.Contains(flags, "t") {
			t.Errorf("%s prints %q and starts %v: %v", flags, out, api.launched, err)
		}
	}
}
