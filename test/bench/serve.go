package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
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

// startServer starts serveModel at the address of the daemon's own bridge, which
// every plain container reaches.
func (b *bench) startServer(ctx context.Context) (*child, error) {
	enter, err := enterBridges()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := b.command(ctx, "nsenter", append(enter, "--", exe, serveCommand, "docker0")...)
	return startChild(cmd, "the model server")
}

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
