package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// Limits of a program that runs beside the agent.
const (
	maxExecTime   = time.Hour
	maxExecOutput = 1 << 20 // bytes of each output
)

// execute runs a program and returns its end. Processes that it leaves in its process
// group end with it.
func execute(r *reaper, e lifeline.Exec) lifeline.ExecEnd {
	program, err := startExec(r, e)
	if err != nil {
		code := 125
		if failed, ok := errors.AsType[startError](err); ok {
			code = failed.code
		}
		return lifeline.ExecEnd{ID: e.ID, Code: code, Error: err.Error()}
	}
	end := lifeline.ExecEnd{ID: e.ID}
	limit := min(max(time.Duration(e.Timeout)*time.Millisecond, 0), maxExecTime)
	keep := int64(min(max(e.Output, 0), maxExecOutput))
	var reading sync.WaitGroup
	reading.Go(func() { end.Stdout = readExec(program.stdout, keep) })
	reading.Go(func() { end.Stderr = readExec(program.stderr, keep) })
	timer := time.AfterFunc(limit, func() { _ = unix.Kill(-program.pid, unix.SIGKILL) })
	began := time.Now()
	status := <-program.status
	end.Late = !timer.Stop() && time.Since(began) >= limit
	_ = unix.Kill(-program.pid, unix.SIGKILL)
	// A process that has left the group can keep the outputs open.
	for _, output := range []*os.File{program.stdout, program.stderr} {
		_ = output.SetReadDeadline(time.Now().Add(execDrain))
	}
	reading.Wait()
	end.Code = exitOf(status).Code
	return end
}

// execDrain is how long output is read after the program has ended.
const execDrain = 200 * time.Millisecond

// execution is a running program.
type execution struct {
	pid            int
	status         <-chan unix.WaitStatus
	stdout, stderr *os.File
}

// startExec starts the program of a request, in a process session of its own.
func startExec(r *reaper, e lifeline.Exec) (x *execution, err error) {
	if len(e.Argv) == 0 {
		return nil, startError{125, errors.New("no command to run")}
	}
	dir := e.Dir
	if dir == "" {
		dir = "/"
	}
	env := environment(os.Environ(), e.Env)
	path, err := findProgram(e.Argv[0], dir, lookup(env, "PATH"))
	if err != nil {
		return nil, err
	}
	// The descriptors close on exec, so no other child gets one.
	files := make([]*os.File, 0, 5)
	defer func() {
		for i, file := range files {
			if err != nil || i < 3 {
				file.Close()
			}
		}
	}()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, startError{125, err}
	}
	files = append(files, null)
	var ours [2]*os.File
	for i := range ours {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, startError{125, errors.Join(err, closeFile(ours[0]))}
		}
		ours[i] = read
		files = append(files, write)
	}
	files = append(files, ours[0], ours[1])
	x = &execution{stdout: ours[0], stderr: ours[1]}
	x.pid, x.status, err = r.start(self(), launchArgs(lifeline.Start{Argv: e.Argv}, path), &syscall.ProcAttr{
		Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), files[1].Fd(), files[2].Fd()},
	})
	if err != nil {
		return nil, startError{126, err}
	}
	return x, nil
}

func closeFile(file *os.File) error {
	if file == nil {
		return nil
	}
	return file.Close()
}

// readExec reads an output to its end, keeps its first bytes and closes it.
func readExec(output *os.File, keep int64) []byte {
	defer output.Close()
	kept, _ := io.ReadAll(io.LimitReader(output, keep))
	_, _ = io.Copy(io.Discard, output)
	return kept
}
