package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// agent is the main process of the sandbox and our ends of its streams.
type agent struct {
	pid    int
	status <-chan unix.WaitStatus
	input  *os.File // nil: the agent gets no input from us
	output []stream
	pty    *os.File // nil without a TTY
}

// stream is one of the agent's outputs and the type of its frames.
type stream struct {
	file *os.File
	kind lifeline.Type
}

// startAgent writes the files, opens the streams and starts the agent in its own session.
// A startError has the exit code.
func startAgent(r *reaper, s lifeline.Start) (*agent, error) {
	env, err := trustAuthority("/", environment(os.Environ(), s.Env), s.Authority)
	if err != nil {
		return nil, startError{125, fmt.Errorf("adding the session's certificate authority: %w", err)}
	}
	if err := writeFiles(lookup(env, "HOME"), s.Files); err != nil {
		return nil, startError{125, err}
	}
	if len(s.Argv) == 0 {
		return nil, startError{125, errors.New("no command to run")}
	}
	dir := workdir(s.Dir)
	path, err := findProgram(s.Argv[0], dir, lookup(env, "PATH"))
	if err != nil {
		return nil, err
	}
	a := &agent{}
	child, sys, err := a.open(s)
	if err != nil {
		return nil, startError{125, err}
	}
	defer closeAll(child)
	a.pid, a.status, err = r.start(self(), launchArgs(s, path), &syscall.ProcAttr{
		Dir: dir, Env: env, Sys: sys,
		Files: []uintptr{child[0].Fd(), child[1].Fd(), child[2].Fd()},
	})
	if err != nil {
		a.close()
		return nil, startError{126, fmt.Errorf("starting %q in %q: %w", s.Argv[0], dir, err)}
	}
	return a, nil
}

// launchArgs returns the command line of init that executes the agent.
func launchArgs(s lifeline.Start, path string) []string {
	nofile := s.NoFile
	if nofile == 0 {
		nofile = defaultNoFile
	}
	return append([]string{
		"aibox-init", launchCommand,
		strconv.FormatUint(s.Nproc, 10), strconv.FormatUint(nofile, 10), strconv.FormatBool(s.TTY), path,
	}, s.Argv...)
}

// open creates the streams: a PTY, or pipes with input from the lifeline or none. It
// returns the child's ends.
func (a *agent) open(s lifeline.Start) (child [3]*os.File, sys *syscall.SysProcAttr, err error) {
	sys = &syscall.SysProcAttr{Setsid: true}
	if s.TTY {
		master, slave, err := pty.Open()
		if err != nil {
			return child, nil, fmt.Errorf("opening a terminal: %w", err)
		}
		a.pty, a.input = master, master
		a.output = []stream{{master, lifeline.TypeStdout}}
		a.resize(lifeline.Resize{Rows: s.Rows, Cols: s.Cols})
		sys.Setctty = true
		return [3]*os.File{slave, slave, slave}, sys, nil
	}
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return r, w
	}
	stdout, childOut := pipe()
	stderr, childErr := pipe()
	a.output = []stream{{stdout, lifeline.TypeStdout}, {stderr, lifeline.TypeStderr}}
	var childIn *os.File
	if s.Stdin {
		childIn, a.input = pipe()
	} else if err == nil {
		childIn, err = os.Open(os.DevNull)
	}
	return [3]*os.File{childIn, childOut, childErr}, sys, err
}

// resize sets the PTY's size; zero means 24 by 80. Without a PTY it does nothing.
func (a *agent) resize(size lifeline.Resize) {
	if a.pty == nil {
		return
	}
	if size.Rows == 0 || size.Cols == 0 {
		size = lifeline.Resize{Rows: 24, Cols: 80}
	}
	_ = pty.Setsize(a.pty, &pty.Winsize{Rows: size.Rows, Cols: size.Cols})
	a.notifySize()
}

// notifySize notifies the programs on the terminal that its size has changed. Linux
// notifies the foreground process group. gVisor notifies none, and does not report which
// group is in the foreground; an extra signal does no harm.
func (a *agent) notifySize() {
	if a.pid == 0 {
		return
	}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if session, err := unix.Getsid(pid); err == nil && session == a.pid {
			_ = unix.Kill(pid, unix.SIGWINCH)
		}
	}
}

// close closes our ends.
func (a *agent) close() {
	for _, s := range a.output {
		s.file.Close()
	}
	if a.input != nil {
		a.input.Close()
	}
}

func closeAll(files [3]*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// startError carries the exit code of a failed start.
type startError struct {
	code int
	err  error
}

func (e startError) Error() string { return e.err.Error() }
func (e startError) Unwrap() error { return e.err }

// self returns the path of init's own program, which os.Executable has read at the
// start, while nothing else was running in the sandbox.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
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

// findProgram looks up name like execvp(3), in the agent's own PATH.
func findProgram(name, dir, path string) (string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, folder := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(folder, name))
		}
	}
	found := error(fs.ErrNotExist)
	for _, candidate := range candidates {
		full := candidate
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		info, err := os.Stat(full)
		switch {
		case err == nil && !info.IsDir() && info.Mode()&0o111 != 0:
			return full, nil
		case err == nil || errors.Is(err, fs.ErrPermission):
			found = fs.ErrPermission
		}
	}
	if errors.Is(found, fs.ErrPermission) {
		return "", startError{126, fmt.Errorf("%q exists but cannot be run", name)}
	}
	return "", startError{127, fmt.Errorf("there is no %q in the sandbox", name)}
}
