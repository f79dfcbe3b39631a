// Package command runs external programs: with an argument slice and no shell, an
// environment built from scratch, and a context that ends them.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stderrLimit is the maximum length of a failed program's stderr in an error.
const stderrLimit = 4 << 10

// Cmd describes one run of a program. Values that come from a user belong after
// a "--" in Args.
type Cmd struct {
	Name   string     // looked up in the PATH of Env, or of aibox when Env has none
	Args   []string   // without the program's name
	Dir    string     // working directory; empty means aibox's own
	Env    []string   // NAME=VALUE; nil means Base()
	Stdin  io.Reader  // a pipe is closed with ErrEnded if the program ends before its input
	Stdout io.Writer  // nil: discarded by Run, returned by Output
	Stderr io.Writer  // receives all of stderr; can be nil
	Files  []*os.File // passed to the program as descriptors 3, 4, …
	Group  bool       // when the context ends, also end the program's child processes

	// Grace is how long a Group can clean up after a SIGTERM to all its processes, when the
	// context ends, before it is killed; 0 means not at all.
	Grace time.Duration
}

// Base returns the default environment of external programs: PATH, HOME and XDG_RUNTIME_DIR
// from aibox's own, the C locale, and nothing else.
func Base() []string {
	env := []string{"LC_ALL=C.UTF-8"}
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Error describes how a program failed.
type Error struct {
	Name   string
	Code   int    // its exit code; -1 if it was killed or never ran
	Stderr string // the last 4 KiB of its stderr, raw: escape before printing
	Err    error
}

func (e *Error) Error() string {
	if text := strings.TrimSpace(e.Stderr); text != "" {
		return fmt.Sprintf("%s: %v: %s", e.Name, e.Err, text)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrEnded is the error of writing to a pipe whose program has ended.
var ErrEnded = errors.New("the program has ended")

// Run runs the program and waits for its end, but not for the end of its input. A failure is
// an *Error.
func (c Cmd) Run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.Name, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.ExtraFiles = c.Dir, c.Env, c.Stdout, c.Files
	if cmd.Env == nil {
		cmd.Env = Base()
	}
	// SIGTERM lets git remove its lock files, which would otherwise block all later writes. A
	// program that does not end is killed after WaitDelay.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	if c.Group {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		if c.Grace > 0 {
			cmd.WaitDelay = c.Grace
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
		}
	}
	stderr := &tail{limit: stderrLimit}
	cmd.Stderr = stderr
	if c.Stderr != nil {
		cmd.Stderr = io.MultiWriter(stderr, c.Stderr)
	}
	if err := c.run(ctx, cmd); err != nil {
		code := -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
		return &Error{Name: c.Name, Code: code, Stderr: string(stderr.kept), Err: err}
	}
	return nil
}

// run runs cmd, also if the reader of its output is slow.
func (c Cmd) run(ctx context.Context, cmd *exec.Cmd) error {
	wait := func(context.Context) error { return nil }
	if pipe, ok := c.Stdout.(*io.PipeWriter); ok {
		d, err := newDrain(pipe, cmd.WaitDelay)
		if err != nil {
			if in, ok := c.Stdin.(*io.PipeReader); ok {
				in.CloseWithError(ErrEnded)
			}
			return err
		}
		cmd.Stdout, wait = d.in, d.wait
	}
	err := c.feed(cmd)
	if err != nil && ctx.Err() != nil && c.Group && cmd.Process != nil { // package os/exec kills only the program itself
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if drainErr := wait(ctx); err == nil || isLeftOver(cmd, err) {
		return drainErr
	}
	return err
}

// feed runs cmd with c.Stdin. Package os/exec would wait until the pipe is closed, which
// never happens if its writer waits for the program that has ended.
func (c Cmd) feed(cmd *exec.Cmd) error {
	pipe, ok := c.Stdin.(*io.PipeReader)
	if !ok {
		cmd.Stdin = c.Stdin
		return cmd.Run()
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		pipe.CloseWithError(ErrEnded)
		return err
	}
	fed := make(chan error, 1)
	go func() {
		_, err := io.Copy(in, pipe)
		fed <- errors.Join(err, in.Close())
	}()
	err = cmd.Wait()
	pipe.CloseWithError(ErrEnded)
	if fedErr := <-fed; err == nil && !tookNoMore(fedErr) {
		return fedErr
	}
	return err
}

// isLeftOver reports whether err says no more than that the program has ended and left a process in
// the background that has its stderr.
func isLeftOver(cmd *exec.Cmd, err error) bool {
	_, isFile := cmd.Stdout.(*os.File)
	return errors.Is(err, exec.ErrWaitDelay) && (cmd.Stdout == nil || isFile)
}

// tookNoMore reports whether the program ended before its input, which is not an error.
func tookNoMore(err error) bool {
	return err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// Output runs the program and returns its stdout.
func (c Cmd) Output(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run(ctx)
	return out.Bytes(), err
}

// tail keeps the last limit bytes written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - t.limit; extra > 0 {
		t.kept = t.kept[extra:]
	}
	return len(p), nil
}
