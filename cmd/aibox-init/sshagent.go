package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

// maxSSHAgent is how many connections to the ssh-agent are relayed at a time.
const maxSSHAgent = 16

// serveSSHAgent listens on the socket of an ssh-agent, for all users of the sandbox, and
// passes each connection on. The host decides which requests are signed.
func serveSSHAgent(s *lifeline.SSHAgent) error {
	if s == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil { //nolint:gosec // all users of the sandbox
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", s.Path)
	if err != nil {
		return fmt.Errorf("listening for the ssh-agent: %w", err)
	}
	if err := os.Chmod(s.Path, 0o666); err != nil { //nolint:gosec // all users of the sandbox
		listener.Close()
		return err
	}
	go acceptSSHAgent(listener, s)
	return nil
}

func acceptSSHAgent(listener net.Listener, s *lifeline.SSHAgent) {
	slots := make(chan struct{}, maxSSHAgent)
	for {
		slots <- struct{}{}
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { <-slots }()
			outside, err := dialThrough(s.Proxy, s.Target)
			if err != nil {
				conn.Close()
				return
			}
			relay.Join(conn.(relay.Conn), outside)
		}()
	}
}
