// Package clients tests the clients of the API in clients/ against the real server on
// sandboxes that are folders of this machine. The same programs run against real sandboxes
// in test/e2e.
package clients

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/api/server"
	"aibox/internal/fault"
	"aibox/session"

	aiboxv1 "aibox/api/aibox/v1"
)

// The tokens of the tests: one with all rights, one that can only read.
const (
	token     = "aibox_test"
	readToken = "aibox_read"
)

type tokens struct{}

func (tokens) Authenticate(_ context.Context, given string) (auth.Caller, error) {
	switch given {
	case token:
		return auth.Caller{Tenant: "tests", Rights: auth.Rights(), Token: "t1"}, nil
	case readToken:
		return auth.Caller{Tenant: "tests", Rights: []aiboxv1.Right{aiboxv1.Right_RIGHT_READ}, Token: "t2"}, nil
	}
	return auth.Caller{}, fault.New(fault.NotFound, "no such token")
}

// startServer starts a server on a Unix socket and a port, and returns the environment that
// the clients' tests need.
func startServer(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	m := &machines{dir: dir}
	s, err := server.New(server.Options{
		Services: server.Services{
			Sandboxes: m, Processes: m, Code: m,
			Files: func(_ context.Context, id session.ID, _ string) server.Files {
				return folder{filepath.Join(dir, string(id))}
			},
		},
		Tokens: tokens{},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "run", "aibox.sock")
	local, unlock, err := server.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Serve(ctx, listener, nil, time.Second) }()
	go func() { ended <- s.Serve(ctx, local, nil, time.Second) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		unlock()
	})
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8",
		"AIBOX_URL=http://" + listener.Addr().String(), "AIBOX_TOKEN=" + token, "AIBOX_TEST_READ_TOKEN=" + readToken,
		"AIBOX_TEST_SOCKET=" + socket,
		"AIBOX_TEST_CUT_URL=" + cutStreams(t, listener.Addr().String()), "AIBOX_TEST_CUT_ASYNC_URL=" + cutStreams(t, listener.Addr().String()),
	}
}

func run(t *testing.T, env []string, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env, command.WaitDelay = dir, env, time.Second
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	t.Logf("%s", out)
}

func TestPythonClientDoesWhatItsTestsSay(t *testing.T) {
	env := append(startServer(t), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	run(t, env, "../../clients/python", "python3", "-m", "unittest", "discover", "-v", "-s", "tests")
}
