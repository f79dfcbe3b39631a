package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"aibox/internal/scripted"
	"aibox/internal/secret"
	"aibox/netguard/gateway"
	"aibox/netguard/gateway/modelserver"
)

// serveCommand makes this program the model server of plain containers. It is
// started in the network namespace of the daemon's bridges.
const (
	serveCommand = "serve-model"
	serverKey    = "sk-bench"
)

// serveModel answers as a session's gateway does, on a free port of the address of
// the interface bridge, until its standard input ends.
func serveModel(ctx context.Context, bridge string) error {
	address, err := addressOf(bridge)
	if err != nil {
		return err
	}
	script, err := scripted.Open("")
	if err != nil {
		return err
	}
	upstream, err := modelserver.Parse("scripted", os.LookupEnv)
	if err != nil {
		return err
	}
	upstream.Handler = scripted.New(script)
	handler, err := gateway.New(gateway.Config{Upstream: upstream, Placeholder: secret.New(serverKey)})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	ctx, cancel := context.WithCancel(ctx)
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	return gateway.Serve(ctx, listener, handler)
}

func addressOf(name string) (string, error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return "", err
	}
	addresses, err := link.Addrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.String(), nil
		}
	}
	return "", fmt.Errorf("interface %q has no IPv4 address", name)
}

// server is a running serveModel.
type server struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startServer starts serveModel at the address of the daemon's own bridge, which
// every plain container reaches.
func (b *bench) startServer(ctx context.Context) (*server, error) {
	enter, err := enterBridges()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := b.command(ctx, "nsenter", append(enter, "--", exe, serveCommand, "docker0")...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the model server did not start: %w", err), stdin.Close(), cmd.Wait())
	}
	return &server{url: strings.TrimSpace(url), cmd: cmd, stdin: stdin}, nil
}

func (s *server) stop() error { return errors.Join(s.stdin.Close(), s.cmd.Wait()) }

// enterBridges are nsenter's arguments for the namespaces of the rootless
// daemon's bridges.
func enterBridges() ([]string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	pid, err := os.ReadFile(filepath.Join(dir, "docker.pid"))
	if err != nil {
		return nil, err
	}
	args := []string{"-t", strings.TrimSpace(string(pid)), "-U", "--preserve-credentials"}
	if detached := filepath.Join(dir, "dockerd-rootless", "netns"); exists(detached) {
		return append(args, "--net="+detached), nil
	}
	return append(args, "-n"), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
