package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/screen"
	"aibox/session/process"
	"aibox/session/terminal"
)

// running is a process in the sandbox besides the agent, with the data that is kept after
// its end.
type running struct {
	request process.Request
	line    *lifeline.Conn
	flow    *lifeline.Flow
	record  *process.Record
	term    *terminal.Terminal // nil without a TTY
	clock   *runClock

	work    context.Context //nolint:containedctx // ends with the process, which outlives requests
	cancel  context.CancelFunc
	started chan struct{} // closed when it runs, or could not be run
	arrived chan struct{} // of length 1: there is new output

	mu          sync.Mutex
	outputs     []processOutput // not recorded yet; their bytes are bounded by the process's window
	spare       [][]byte        // buffers of outputs that were recorded, up to maxSpare
	information process.Info
	ran         bool          // it was reported to run
	expired     bool          // its time limit is over
	inputEnded  bool          // a client has ended its input
	began       time.Duration // when it began to run, on the clock
	once        sync.Once     // for closing started
}

// processOutput is output of a process, or its end.
type processOutput struct {
	stderr bool
	bytes  []byte
	exit   *process.Exit
}

func newRunning(id int, request process.Request, line *lifeline.Conn, clock *runClock, dir string) *running {
	p := &running{
		request: request, line: line, flow: line.NewFlow(), clock: clock,
		started: make(chan struct{}), arrived: make(chan struct{}, 1),
		information: process.Info{ID: id, Argv: request.Argv, User: request.User, Dir: request.Dir, TTY: request.TTY, Started: time.Now().UTC()},
	}
	p.work, p.cancel = context.WithCancel(context.Background())
	if request.TTY {
		p.term = terminal.New(screen.Size{Rows: request.Rows, Cols: request.Cols}.Bound(), nil)
	}
	p.record = process.NewRecord(dir, request.Keep, request.Overflow)
	return p
}

// message returns the request for init.
func (p *running) message(s *sandbox) lifeline.Process {
	m := lifeline.Process{
		ID: p.flow.ID, Argv: p.request.Argv, Env: p.request.Env, Dir: p.information.Dir, User: p.request.User,
		Stdin: p.request.Stdin || p.request.TTY, Nproc: nproc(&s.launch.Spec),
	}
	if spec := s.launch.Spec.Sandbox; spec != nil {
		m.NoChildren = spec.Permissions.Processes.NoChildren
	}
	if p.term != nil {
		start := lifeline.Start{Env: m.Env}
		p.term.Prepare(&start)
		m.TTY, m.Rows, m.Cols, m.Env = true, start.Rows, start.Cols, start.Env
	}
	if c := p.request.Copy; c != nil {
		m.Tool, m.Argv, m.Dir = true, copyCommand(c), p.information.Dir
		m.Stdin = c.Into
	}
	return m
}

// copyCommand returns the arguments with which init copies files.
func copyCommand(c *process.Copy) []string {
	if c.Into {
		return []string{"unpack", c.Path, c.Name}
	}
	return []string{"pack", c.Path}
}

func (p *running) startedEvent() map[string]any {
	event := map[string]any{"process": p.information.ID, "dir": p.information.Dir}
	if c := p.request.Copy; c != nil {
		event["copy"], event["path"] = direction(c), c.Path
		return event
	}
	event["argv"] = p.request.Argv
	if p.request.User != "" {
		event["user"] = p.request.User
	}
	if p.request.TTY {
		event["tty"] = true
	}
	return event
}

func direction(c *process.Copy) string {
	if c.Into {
		return "into the sandbox"
	}
	return "out of the sandbox"
}

// endedEvent returns the event that logs the end.
func (p *running) endedEvent() (audit.Type, map[string]any) {
	info := p.info()
	event := map[string]any{"process": info.ID, "exit_code": info.Exit.Code, "output": info.Output}
	if info.Exit.Signal != 0 {
		event["signal"] = info.Exit.Signal
	}
	if info.Exit.TimedOut {
		event["timed_out"] = true
	}
	if info.Exit.Error != "" {
		event["error"] = info.Exit.Error
	}
	c := p.request.Copy
	if c == nil {
		return audit.ProcessEnded, event
	}
	event["copy"], event["path"] = direction(c), c.Path
	return audit.FilesCopied, event
}

// runs records that the process runs. Only the first report counts: each one would start the
// clocks again.
func (p *running) runs(pid int) {
	p.mu.Lock()
	again := p.ran
	if !again {
		p.ran, p.information.PID = true, pid
	}
	p.mu.Unlock()
	if again {
		return
	}
	if p.term != nil {
		p.term.Connect(p)
	}
	p.limitTime()
	if p.request.Linger > 0 {
		go p.endUnread()
	}
	p.once.Do(func() { close(p.started) })
}

// limitTime starts the time limit of the process.
func (p *running) limitTime() {
	p.mu.Lock()
	p.began = p.clock.now()
	p.mu.Unlock()
	if p.request.Timeout > 0 {
		go p.clock.after(p.work, p.request.Timeout, p.expire)
	}
}

// timeLeft returns how long the process may still run; 0: without a limit.
func (p *running) timeLeft() time.Duration {
	if p.request.Timeout == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.request.Timeout-(p.clock.now()-p.began), 1)
}

// expire kills the process at its timeout.
func (p *running) expire() {
	p.mu.Lock()
	p.expired = true
	p.mu.Unlock()
	_ = p.signal(int(unix.SIGKILL)) // the process may have ended
}

// endUnread ends the process when it has had no reader for its Linger: with SIGHUP, and
// after the same time with SIGKILL. After a pause of the sandbox, a reader has that time again.
// The output of an ending process no longer waits for a reader, since its end is known only
// after all of it.
func (p *running) endUnread() {
	number := unix.SIGHUP
	for wait := p.request.Linger; ; {
		select {
		case <-p.work.Done():
			return
		case <-time.After(wait):
		}
		resumed, err := p.clock.awaitRunning(p.work)
		if err != nil {
			return
		}
		since := p.record.Idle()
		switch idle := min(time.Since(since), time.Since(resumed)); {
		case since.IsZero():
			wait = p.request.Linger
		case idle < p.request.Linger:
			wait = p.request.Linger - idle
		default:
			_ = p.signal(int(number))
			p.record.DropOldest()
			number, wait = unix.SIGKILL, p.request.Linger
		}
	}
}

// put queues output for the record. o's bytes are copied.
func (p *running) put(o processOutput) {
	p.mu.Lock()
	if queued := p.extendable(o); queued != nil {
		queued.bytes = append(queued.bytes, o.bytes...)
	} else {
		o.bytes = append(p.takeSpare(), o.bytes...)
		p.outputs = append(p.outputs, o)
	}
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// maxOrdered is the number of queued outputs from which on their order is kept only within each
// stream. A program that writes single bytes to both streams in turn would otherwise make the queue
// take many times the memory of its bytes.
const maxOrdered = 4096

// extendable returns the queued output to which o can be added, or nil. p.mu is held.
func (p *running) extendable(o processOutput) *processOutput {
	n := len(p.outputs)
	considered := p.outputs[max(n-1, 0):]
	if n >= maxOrdered {
		considered = p.outputs[n-2:]
	}
	for i := range slices.Backward(considered) {
		queued := &considered[i]
		switch {
		case o.exit != nil || queued.exit != nil:
			return nil
		case queued.stderr != o.stderr:
		case len(queued.bytes)+len(o.bytes) <= process.MaxData:
			return queued
		default:
			return nil
		}
	}
	return nil
}

// maxSpare is the maximum number of buffers that are kept for reuse.
const maxSpare = 4

// takeSpare returns an empty buffer. p.mu is held.
func (p *running) takeSpare() []byte {
	n := len(p.spare)
	if n == 0 {
		return nil
	}
	spare := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return spare[:0]
}

// putSpare keeps the buffer of a recorded output for reuse.
func (p *running) putSpare(buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) < maxSpare {
		p.spare = append(p.spare, buf)
	}
}

// pump records output until the process has ended, and then calls ended. While the record
// is full, pump and the process wait.
func (p *running) pump(ended func(*running)) {
	recorded := 0 // bytes that are not acknowledged yet
	for range p.arrived {
		p.mu.Lock()
		outputs := p.outputs
		p.outputs = nil
		p.mu.Unlock()
		for _, o := range outputs {
			if o.exit != nil {
				p.end(*o.exit)
				ended(p)
				return
			}
			p.recordOutput(o)
			p.putSpare(o.bytes)
			if recorded += len(o.bytes); recorded >= acknowledgeSize {
				_ = p.flow.Acknowledge(recorded)
				recorded = 0
			}
		}
	}
}

// acknowledgeSize is the number of bytes after which the supervisor allows a process to
// print as many more. It is a part of the process's window. An acknowledgment wakes PID 1,
// which is slow under gVisor.
const acknowledgeSize = 512 << 10

// recordOutput records output. A process whose output cannot be recorded is killed: no
// output is lost without a report.
func (p *running) recordOutput(o processOutput) {
	kind := process.Stdout
	if o.stderr {
		kind = process.Stderr
	}
	if err := p.record.Append(p.work, kind, o.bytes); err != nil {
		p.mu.Lock()
		first := p.information.Exit == nil
		if first {
			p.information.Exit = &process.Exit{Cut: true, Error: fmt.Sprintf("its output cannot be recorded: %v", err)}
		}
		p.mu.Unlock()
		if first {
			_ = p.signal(int(unix.SIGKILL))
		}
	}
	if p.term != nil {
		p.term.Feed(o.bytes, p.work.Done())
	}
}

// end records the end of the process.
func (p *running) end(exit process.Exit) {
	p.mu.Lock()
	if failed := p.information.Exit; failed != nil {
		exit.Cut = true
		if exit.Error == "" && p.work.Err() == nil {
			exit.Error = failed.Error
		}
	}
	exit.TimedOut = p.expired && exit.Signal == int(unix.SIGKILL)
	p.information.Exit = &exit
	p.information.Ended = time.Now().UTC()
	p.mu.Unlock()
	if err := p.record.End(exit); err != nil {
		fmt.Fprintln(os.Stderr, "recording the end of a process:", err)
		p.record.Close() // its readers get an error
	}
	p.cancel()
	p.flow.Close()
	p.mu.Lock()
	p.spare = nil
	p.mu.Unlock()
	p.once.Do(func() { close(p.started) })
	if p.term != nil {
		p.term.Close()
		p.term.Wait()
	}
}

// input sends input until in ends. If end is set, that is the end of the process's input, after
// which it takes no more from any client.
func (p *running) input(ctx context.Context, in io.Reader, end bool) error {
	if !p.request.Stdin && !p.request.TTY && (p.request.Copy == nil || !p.request.Copy.Into) {
		return fault.New(fault.Usage, "process %d was started without an input", p.information.ID)
	}
	buf := make([]byte, lifeline.MaxData)
	for {
		n, err := in.Read(buf)
		full := n == len(buf)
		if n > 0 && p.hasInputEnded() {
			return fault.New(fault.Conflict, "the input of process %d has ended", p.information.ID)
		}
		if n > 0 && p.flow.Send(ctx, lifeline.StreamStdin, buf[:n]) != nil {
			return fault.New(fault.Conflict, "process %d has ended", p.information.ID)
		}
		switch {
		case errors.Is(err, io.EOF) && end:
			return p.endInput()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && p.hasEnded():
			return fault.New(fault.Conflict, "process %d has ended", p.information.ID)
		case err != nil:
			return err
		case full && len(buf) < inputSize:
			buf = make([]byte, inputSize)
		}
	}
}

// inputSize is the maximum number of bytes of input that are sent to init at once.
const inputSize = 4 * lifeline.MaxData

// endInput ends the input of the process.
func (p *running) endInput() error {
	p.mu.Lock()
	p.inputEnded = true
	p.mu.Unlock()
	return p.flow.End()
}

func (p *running) hasInputEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inputEnded
}

// Stdin sends input of the terminal. It drops input after the end of the process's input: the
// viewer still shows the output.
func (p *running) Stdin(ctx context.Context, keys []byte) error {
	if p.hasInputEnded() {
		return nil
	}
	return p.flow.Send(ctx, lifeline.StreamStdin, keys)
}

// Resize sets the size of the terminal.
func (p *running) Resize(rows, cols uint16) error {
	return p.line.ResizeProcess(p.flow.ID, rows, cols)
}

func (p *running) signal(number int) error { return p.line.SignalProcess(p.flow.ID, number) }

func (p *running) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.information.Ended.IsZero()
}

// reserved returns how many bytes the record may take.
func (p *running) reserved() int64 {
	if p.hasEnded() {
		return p.record.Kept()
	}
	return p.request.Keep
}

// info describes the process.
func (p *running) info() process.Info {
	frames, sizes := p.record.Sizes() // first: if they include the end, the state has it too
	p.mu.Lock()
	info := p.information
	if p.ran && info.Ended.IsZero() {
		info.Ran = p.clock.now() - p.began
	}
	p.mu.Unlock()
	info.Frames, info.Output = frames, sizes
	info.Argv = slices.Clone(info.Argv)
	if info.Ended.IsZero() {
		info.Exit = nil
	}
	return info
}
