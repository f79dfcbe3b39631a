package main

import (
	"cmp"
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
)

// largePipe is the size in bytes of the pipes for a program's input and output.
const largePipe = 512 << 10

// command describes a program to start.
type command struct {
	argv       []string
	path       string   // path of the program; see findProgram
	env        []string // the whole environment
	dir        string
	user       *identity // nil: init's own
	tty        bool
	rows, cols uint16 // of the PTY; 0 means 24 by 80
	stdin      bool   // it gets input
	nproc      uint64 // limit of processes; 0 means no limit
	nofile     uint64 // limit of descriptors; 0 means defaultNoFile
	noChildren bool   // it cannot start other processes
	// dirAsUser makes the user's own rights decide whether the program can start in dir. Otherwise a
	// program could start below a hidden folder, and read its files.
	dirAsUser bool
}

// program is a started program and our ends of its streams.
type program struct {
	pid    int
	status <-chan unix.WaitStatus
	input  *os.File // nil if it gets no input from init
	stdout *output  // the PTY's, too
	stderr *output  // nil with a TTY
	pty    *os.File // nil without a TTY
}

// startProgram opens the streams and starts a program in its own session, in a launcher
// that is ready, if any; ls may be nil. A startError has the exit code.
func startProgram(r *reaper, ls *launchers, c command) (*program, error) {
	p := &program{}
	child, sys, err := p.open(c)
	if err != nil {
		return nil, startError{125, err}
	}
	defer closeAll(child)
	if l := ls.take(); l != nil {
		ready := launching{Args: c.launchArgs()[2:], Env: c.env, Terminal: c.tty}
		if l.execute(ready, child) == nil {
			p.pid, p.status = l.pid, l.status
			return p, nil
		}
	}
	p.pid, p.status, err = r.start(self(), c.launchArgs(), &syscall.ProcAttr{
		Dir: "/", Env: c.env, Sys: sys,
		Files: []uintptr{child[0].Fd(), child[1].Fd(), child[2].Fd()},
	})
	if err != nil {
		p.close()
		return nil, startError{126, fmt.Errorf("starting %q in %q: %w", c.argv[0], c.dir, err)}
	}
	return p, nil
}

// launchArgs returns the command line of init that executes the program.
func (c command) launchArgs() []string {
	nofile := c.nofile
	if nofile == 0 {
		nofile = defaultNoFile
	}
	return append([]string{
		"aibox-init", launchCommand,
		strconv.FormatUint(c.nproc, 10), strconv.FormatUint(nofile, 10), strconv.FormatBool(c.tty), strconv.FormatBool(c.noChildren), c.user.String(), cmp.Or(c.dir, "/"), strconv.FormatBool(c.dirAsUser), c.path,
	}, c.argv...)
}

// open creates the streams: a PTY, or pipes with input from the lifeline or none. It
// returns the child's ends.
func (p *program) open(c command) (child [3]*os.File, sys *syscall.SysProcAttr, err error) {
	sys = &syscall.SysProcAttr{Setsid: true}
	if c.tty {
		master, slave, err := openTerminal()
		if err != nil {
			return child, nil, fmt.Errorf("opening a terminal: %w", err)
		}
		p.pty, p.input = master, master
		p.stdout = &output{file: master}
		p.resize(c.rows, c.cols)
		if c.user != nil {
			_ = slave.Chown(int(c.user.uid), -1) // everything but reopening works without it
		}
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
	pipe := func(ours int) (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = openPipe(ours); err == nil {
			opened = append(opened, r, w)
		}
		return r, w
	}
	stdout, childOut := pipe(readEnd)
	stderr, childErr := pipe(readEnd)
	p.stdout, p.stderr = &output{pipe: true, file: stdout}, &output{pipe: true, file: stderr}
	if err == nil {
		// Each wait of a reader or writer costs much under gVisor. A smaller pipe works, too.
		_, _ = unix.FcntlInt(childOut.Fd(), unix.F_SETPIPE_SZ, largePipe)
	}
	var childIn *os.File
	if c.stdin {
		if childIn, p.input = pipe(writeEnd); err == nil {
			_, _ = unix.FcntlInt(childIn.Fd(), unix.F_SETPIPE_SZ, largePipe)
		}
	} else if err == nil {
		childIn, err = openNull()
	}
	return [3]*os.File{childIn, childOut, childErr}, sys, err
}

// The ends of a pipe.
const (
	readEnd  = 0
	writeEnd = 1
)

// openPipe opens a pipe of which only our end is in non-blocking mode, for Go's poller. With
// os.Pipe the poller would get both, by several more system calls.
func openPipe(ours int) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fds[ours]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "read end"), os.NewFile(uintptr(fds[1]), "write end"), nil
}

// openNull opens an empty input. Package os would also try to poll it.
func openNull() (*os.File, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), os.DevNull), nil
}

// openTerminal opens a PTY. Reading its master can have a deadline: package pty leaves it
// blocking.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		slave.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), blocking.Name()), slave, nil
}

// resize sets the PTY's size; zero means 24 by 80. Without a PTY it does nothing.
func (p *program) resize(rows, cols uint16) {
	if p.pty == nil {
		return
	}
	if rows == 0 || cols == 0 {
		rows, cols = 24, 80
	}
	if raw, err := p.pty.SyscallConn(); err == nil { // Fd would make it blocking
		_ = raw.Control(func(fd uintptr) {
			_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
		})
	}
	p.notifySize()
}

// notifySize notifies the programs on the terminal that its size has changed. Linux
// notifies the foreground process group. gVisor notifies none, and does not report which
// group is in the foreground; an extra signal does no harm.
func (p *program) notifySize() {
	if p.pid == 0 {
		return
	}
	signalSession(p.pid, unix.SIGWINCH)
}

// signalSession sends a signal to every process of a session.
func signalSession(session int, sig unix.Signal) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if of, err := unix.Getsid(pid); err == nil && of == session {
			_ = unix.Kill(pid, sig)
		}
	}
}

// end ends the processes that the program has left: its process group, and on a terminal
// its session, since a shell runs each job in a separate group.
func (p *program) end() {
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	if p.pty != nil {
		signalSession(p.pid, unix.SIGKILL)
	}
}

// close closes our ends.
func (p *program) close() {
	for _, out := range []*output{p.stdout, p.stderr} {
		if out != nil {
			_ = out.Close()
		}
	}
	if p.input != nil {
		p.input.Close()
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
