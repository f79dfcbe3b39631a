package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

const (
	// drainTime is how long to wait for more output of a process that has ended. A process
	// that left its group can keep the output open.
	drainTime = 200 * time.Millisecond
	// drainSize is more than a pipe can hold.
	drainSize = 2 << 20
	// maxPending bounds the signals for a process that is being started.
	maxPending = 16
)

// process is one process besides the agent.
type process struct {
	input  *input
	work   context.Context //nolint:containedctx // ends with the sandbox, not with a request
	cancel context.CancelFunc
	done   chan struct{} // closed when its exit is sent
	cut    atomic.Bool   // some of its output was not sent
	exited atomic.Bool

	dirAsUser bool // as in command

	mu       sync.Mutex
	flow     *lifeline.Flow
	attached chan struct{} // closed and replaced with each new flow
	skip     int           // bytes of input from earlier flows, for which no supervisor waits

	program *program // nil until it runs
	ended   bool     // it was waited for, so its ID may belong to another process
	pending []unix.Signal
	size    *lifeline.ProcessResize
}

func newProcess(flow *lifeline.Flow) *process {
	p := &process{flow: flow, attached: make(chan struct{}), done: make(chan struct{})}
	p.input = newInput(p.acknowledge)
	p.work, p.cancel = context.WithCancel(context.Background())
	return p
}

// run runs the process and returns its end, without its ID. env is the agent's environment,
// nil before its start. It calls ending if the process has ended and the supervisor does not
// take the rest of its output.
func (p *process) run(r *reaper, ls *launchers, request lifeline.Process, env []string, started func(pid int), ending func()) lifeline.ProcessExit {
	defer p.cancel()
	program, err := startProcess(r, ls, request, env, p.dirAsUser)
	if err != nil {
		p.input.drop()
		code := 125
		if failed, ok := errors.AsType[startError](err); ok {
			code = failed.code
		}
		return lifeline.ProcessExit{Code: code, Error: errorText(err)}
	}
	started(program.pid)
	var copying sync.WaitGroup
	copying.Go(func() { p.copyOut(program.stdout, lifeline.StreamStdout) })
	if program.stderr != nil {
		copying.Go(func() { p.copyOut(program.stderr, lifeline.StreamStderr) })
	}
	p.input.connect(program.input, program.pty != nil)
	p.adopt(program)
	status := <-program.status
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	program.end()
	p.exited.Store(true)
	for _, out := range []*output{program.stdout, program.stderr} {
		if out != nil {
			_ = out.SetReadDeadline(time.Now().Add(drainTime))
		}
	}
	p.input.close()
	awaitCopies(&copying, ending)
	program.close()
	exit := exitOf(status)
	return lifeline.ProcessExit{Code: exit.Code, Signal: exit.Signal, Cut: p.cut.Load()}
}

// awaitCopies waits for the goroutines that send the output of a process that has ended. It
// calls late if they take long.
func awaitCopies(copying *sync.WaitGroup, late func()) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		copying.Wait()
	}()
	select {
	case <-copied:
	case <-time.After(2 * drainTime):
		late()
		<-copied
	}
}

// currentFlow returns the flow to the supervisor, and a channel that is closed when another
// one replaces it.
func (p *process) currentFlow() (*lifeline.Flow, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flow, p.attached
}

// attach replaces the flow with that to another supervisor, which also gets the output that
// was not sent.
func (p *process) attach(flow *lifeline.Flow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skip += p.flow.Unacknowledged()
	p.flow.Close()
	p.flow = flow
	close(p.attached)
	p.attached = make(chan struct{})
}

// send sends output to the supervisor. If the lifeline is lost, it waits for another flow; a
// sandbox that was not restored ends meanwhile.
func (p *process) send(stream uint8, data []byte) error {
	for len(data) > 0 {
		flow, replaced := p.currentFlow()
		n, err := flow.SendSome(p.work, stream, data)
		data = data[n:]
		if err == nil {
			continue
		}
		select {
		case <-replaced:
		case <-p.work.Done():
			return err
		}
	}
	return nil
}

// acknowledge reports input that the program has taken to the supervisor that sent it.
func (p *process) acknowledge(n int) error {
	p.mu.Lock()
	earlier := min(n, p.skip)
	p.skip -= earlier
	flow := p.flow
	p.mu.Unlock()
	return flow.Acknowledge(n - earlier)
}

// startProcess starts the program of a request, in a launcher that is ready, if any. dirAsUser is as
// in command.
func startProcess(r *reaper, ls *launchers, request lifeline.Process, env []string, dirAsUser bool) (*program, error) {
	if env == nil {
		env = os.Environ()
	}
	user, err := lookUpUser("/", request.User)
	if err != nil {
		return nil, startError{125, err}
	}
	if user != nil && user.home != "" {
		env = environment(env, []string{"HOME=" + user.home})
	}
	c := command{
		argv: request.Argv, env: environment(env, request.Env), dir: request.Dir, user: user,
		tty: request.TTY, rows: request.Rows, cols: request.Cols, stdin: request.Stdin, nproc: request.Nproc, nofile: request.NoFile,
		noChildren: request.NoChildren, dirAsUser: dirAsUser,
	}
	if c.dir == "" {
		c.dir = "/"
	}
	if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
		return nil, startError{125, fmt.Errorf("there is no folder %q in the sandbox", c.dir)}
	}
	switch {
	case request.Tool:
		c.path, c.argv = self(), append([]string{"aibox-init"}, c.argv...)
	case len(c.argv) == 0:
		return nil, startError{125, errors.New("no command to run")}
	default:
		if c.path, err = findProgram(c.argv[0], c.dir, lookup(c.env, "PATH")); err != nil {
			return nil, err
		}
	}
	return startProgram(r, ls, c)
}

// adopt stores the running program, and applies the size and signals that arrived while it
// was starting.
func (p *process) adopt(program *program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.program = program
	if p.size != nil {
		program.resize(p.size.Rows, p.size.Cols)
	}
	for _, sig := range p.pending {
		_ = unix.Kill(-program.pid, sig)
	}
	p.pending = nil
}

// signal sends a signal to the process's group.
func (p *process) signal(sig unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
	case p.program != nil:
		_ = unix.Kill(-p.program.pid, sig)
	case len(p.pending) < maxPending:
		p.pending = append(p.pending, sig)
	}
}

// terminate asks the process to end.
func (p *process) terminate() {
	p.signal(unix.SIGTERM)
	p.mu.Lock()
	onTerminal := p.program != nil && p.program.pty != nil
	p.mu.Unlock()
	if onTerminal {
		p.signal(unix.SIGHUP) // interactive shells ignore SIGTERM
	}
	p.signal(unix.SIGCONT) // a stopped process cannot end itself
}

func (p *process) resize(rows, cols uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = &lifeline.ProcessResize{Rows: rows, Cols: cols}
	if p.program != nil && !p.ended {
		p.program.resize(rows, cols)
	}
}

// copyOut sends an output. While the supervisor takes none of it, it blocks, and with it
// the process, so that no output is lost. After the process has ended, copyOut sends the
// rest, and waits for drainTime for output of other processes.
func (p *process) copyOut(out *output, stream uint8) {
	var buf outputBuffer
	for drained, last := 0, false; drained < drainSize; {
		n, err := out.Read(buf.next())
		if n > 0 && p.send(stream, buf.read(n)) != nil {
			p.cut.Store(true)
			return
		}
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return // EOF, or EIO from a PTY without a slave
		case err != nil && last:
			return
		}
		if p.exited.Load() {
			// Sending may have taken longer than the deadline, so there is a new one.
			last = true
			drained += n
			_ = out.SetReadDeadline(time.Now().Add(drainTime))
			continue
		}
		if pause := buf.pause(); pause > 0 {
			out.unwatch()
			time.Sleep(pause)
		}
	}
}
