package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// child is a server in a process of its own, which prints its address and ends with its
// standard input.
type child struct {
	address string
	cmd     *exec.Cmd
	stdin   io.Closer
}

// startChild starts a server. what names it in errors.
func startChild(cmd *exec.Cmd, what string) (*child, error) {
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
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", what, err), stdin.Close(), cmd.Wait())
	}
	return &child{strings.TrimSpace(address), cmd, stdin}, nil
}

func (c *child) stop() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }
