package main

import (
	"errors"
	"fmt"
	"os"

	"aibox/internal/lifeline"
)

// startAgent writes the files and starts the agent. It also returns the agent's environment.
// A startError has the exit code.
func startAgent(r *reaper, s lifeline.Start) (*program, []string, error) {
	env, err := trustAuthority("/", environment(os.Environ(), s.Env), s.Authority)
	if err != nil {
		return nil, nil, startError{125, fmt.Errorf("adding the session's certificate authority: %w", err)}
	}
	if err := writeFiles(lookup(env, "HOME"), s.Files); err != nil {
		return nil, nil, startError{125, err}
	}
	if err := serveSSHAgent(s.SSHAgent); err != nil {
		return nil, nil, startError{125, err}
	}
	c := command{
		argv: s.Argv, env: env, dir: workdir(s.Dir),
		tty: s.TTY, rows: s.Rows, cols: s.Cols, stdin: s.Stdin, nproc: s.Nproc, nofile: s.NoFile,
	}
	if len(s.Argv) == 0 {
		return nil, nil, startError{125, errors.New("no command to run")}
	}
	if c.path, err = findProgram(c.argv[0], c.dir, lookup(env, "PATH")); err != nil {
		return nil, nil, err
	}
	p, err := startProgram(r, nil, c)
	return p, env, err
}

// workdir returns dir, else /workspace if the sandbox has one, else the root.
func workdir(dir string) string {
	if dir != "" {
		return dir
	}
	if info, err := os.Stat("/workspace"); err == nil && info.IsDir() {
		return "/workspace"
	}
	return "/"
}
