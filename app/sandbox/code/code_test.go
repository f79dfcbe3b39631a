package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"
)

// host runs the processes of a fake sandbox on this machine.
type host struct {
	t    *testing.T
	dir  string
	keep int64 // bytes of each record; overrides the request

	mu  sync.Mutex
	all []*hosted
}

type hosted struct {
	info   process.Info
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	record *process.Record
	done   chan struct{}
}

func newHost(t *testing.T) (*Runner, *host) {
	h := &host{t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		for _, p := range h.all {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.done
		}
	})
	return NewRunner(h), h
}

// writer appends to a record.
type writer struct {
	record *process.Record
	kind   process.Kind
}

func (w writer) Write(p []byte) (int, error) {
	return len(p), w.record.Append(context.Background(), w.kind, p)
}

func (h *host) StartProcess(_ context.Context, _ session.ID, r process.Request) (process.Info, error) {
	if err := r.Validate(); err != nil {
		return process.Info{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keep > 0 {
		r.Keep = h.keep
	}
	p := &hosted{cmd: exec.Command(r.Argv[0], r.Argv[1:]...), record: process.NewRecord(h.dir, r.Keep, r.Overflow), done: make(chan struct{})}
	p.cmd.Dir = h.dir
	p.cmd.Env = append(slices.DeleteFunc(p.cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "PYTHONUNBUFFERED=") }), r.Env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.cmd.Stdout, p.cmd.Stderr = writer{p.record, process.Stdout}, writer{p.record, process.Stderr}
	p.cmd.WaitDelay = 2 * time.Second // for the rest of its output, which another process can keep open
	p.stdin, _ = p.cmd.StdinPipe()
	if err := p.cmd.Start(); err != nil {
		return process.Info{}, err
	}
	p.info = process.Info{ID: len(h.all) + 1, Argv: r.Argv}
	h.all = append(h.all, p)
	go func() {
		_ = p.cmd.Wait()
		exit := process.Exit{Code: p.cmd.ProcessState.ExitCode()}
		if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
			exit = process.Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
		}
		h.mu.Lock()
		p.info.Exit = &exit
		h.mu.Unlock()
		_ = p.record.End(exit)
		close(p.done)
	}()
	return p.info, nil
}

func (h *host) find(number int) *hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[number-1]
}

func (h *host) ReadProcess(ctx context.Context, _ session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	reader, err := h.find(number).record.Reader(from)
	if err != nil {
		return process.Exit{}, err
	}
	defer reader.Close()
	for {
		frame, err := reader.Next(ctx)
		if err == nil {
			err = visit(frame)
		}
		if err != nil {
			return process.Exit{}, err
		}
		reader.Take(frame.Seq)
		if frame.Kind == process.Ended {
			return frame.Exit()
		}
	}
}

func (h *host) ProcessInput(_ context.Context, _ session.ID, number int, in io.Reader, end bool) error {
	p := h.find(number)
	if _, err := io.Copy(p.stdin, in); err != nil {
		return session.WrongState("it has ended")
	}
	if end {
		return p.stdin.Close()
	}
	return nil
}

func (h *host) SignalProcess(_ context.Context, _ session.ID, number, signal int) error {
	return syscall.Kill(-h.find(number).cmd.Process.Pid, syscall.Signal(signal))
}

func (h *host) Process(_ context.Context, _ session.ID, number int) (process.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.all {
		if p.info.ID == number {
			info := p.info
			info.Frames, _ = p.record.Sizes()
			return info, nil
		}
	}
	return process.Info{}, fault.New(fault.NotFound, "there is no process %d", number)
}

// installed returns the languages of this machine. CI has all of them.
func installed(t *testing.T) []Language {
	var all []Language
	for _, l := range Languages() {
		if _, err := exec.LookPath(interpreter(l)); err != nil {
			t.Logf("no %s", l)
			continue
		}
		all = append(all, l)
	}
	return all
}

func TestCodeRunsOnItsOwn(t *testing.T) {
	r, _ := newHost(t)
	for _, c := range []struct {
		language              Language
		code                  string
		status                Status
		exit                  int
		stdout, stderr, value string
	}{
		{Python, "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 + 2", Completed, 0, "out\n", "err\n", "3"},
		{Python, "print('a')\nprint('b')", Completed, 0, "a\nb\n", "", ""},
		{Python, "def f():\n  1/0\nf()", Failed, 1, "", "ZeroDivisionError: division by zero", ""},
		{Python, "raise SystemExit(7)", Failed, 7, "", "", ""},
		{Python, "import asyncio\nawait asyncio.sleep(0)\n'async'", Completed, 0, "", "", "'async'"},
		{Python, "x = (", Failed, 1, "", "SyntaxError", ""},
		{Python, "import sys; print(sys.stdin.read())", Completed, 0, "the input\n", "", ""},
		{Python, "import os; os.close(1); os.close(2); 5", Completed, 0, "", "", "5"},
		{Python, "import os\nif os.fork() == 0: 1/0\nos.wait()[1] and None", Completed, 0, "", "ZeroDivisionError", ""},
		{Python, "import os\nif os.fork() == 0: print('child')\nelse: print('parent' if os.wait()[1] == 0 else 'no')", Completed, 0, "child\nparent\n", "", ""},
		{JavaScript, "console.log('out'); console.error('err'); 1 + 2", Completed, 0, "out\n", "err\n", "3"},
		{JavaScript, "const x = await Promise.resolve(4); console.log(x)", Completed, 0, "4\n", "", ""},
		{JavaScript, "await Promise.resolve(4) // a comment", Completed, 0, "", "", "4"},
		{JavaScript, "(await Promise.resolve(4)) + 1;", Completed, 0, "", "", "5"},
		{JavaScript, "setTimeout(() => console.log('later'), 20); Promise.resolve([1, 'a'])", Completed, 0, "later\n", "", "[ 1, 'a' ]"},
		{JavaScript, "function f() { throw new TypeError('no') }; f()", Failed, 1, "", "TypeError: no", ""},
		{JavaScript, "process.exit(7)", Failed, 7, "", "", ""},
		{JavaScript, "x = (", Failed, 1, "", "SyntaxError", ""},
		{JavaScript, "console.log(require('fs').readFileSync(0, 'utf8'))", Completed, 0, "the input\n", "", ""},
		{Ruby, "puts 'out'; warn 'err'; 1 + 2", Completed, 0, "out\n", "err\n", ""},
		{Ruby, "raise ArgumentError, 'no'", Failed, 1, "", "no (ArgumentError)", ""},
		{Ruby, "exit 7", Failed, 7, "", "", ""},
		{Ruby, "puts STDIN.read", Completed, 0, "the input\n", "", ""},
		{Bash, "echo out; echo err >&2", Completed, 0, "out\n", "err\n", ""},
		{Bash, "exit 7", Failed, 7, "", "", ""},
		{Bash, "cat; echo; false", Failed, 1, "the input\n", "", ""},
		{Bash, "break; continue; echo on", Completed, 0, "on\n", "only meaningful in a", ""},
		{Bash, "if", Failed, 2, "", "syntax error", ""},
	} {
		if _, err := exec.LookPath(interpreter(c.language)); err != nil {
			continue
		}
		result, err := r.Run(t.Context(), "x", Request{Language: c.language, Code: c.code, Input: []byte("the input")})
		if err != nil {
			t.Errorf("%s %q: %v", c.language, c.code, err)
			continue
		}
		if result.Status != c.status || result.Exit == nil || *result.Exit != c.exit && !(c.exit == 2 && *result.Exit == 1) ||
			string(result.Stdout.Bytes) != c.stdout && !(c.stdout == "the input\n" && string(result.Stdout.Bytes) == "the input") ||
			!strings.Contains(string(result.Stderr.Bytes), c.stderr) || c.stderr == "" && len(result.Stderr.Bytes) > 0 || result.Value != c.value {
			t.Errorf("%s %q: %s, exit %v, stdout %q, stderr %q, value %q", c.language, c.code, result.Status, *result.Exit, result.Stdout.Bytes, result.Stderr.Bytes, result.Value)
		}
		if strings.Contains(string(result.Stderr.Bytes), "driver") {
			t.Errorf("%s %q: the driver is in the traceback: %s", c.language, c.code, result.Stderr.Bytes)
		}
	}
}

// endless is code that does not end.
var endless = map[Language]string{
	Python: "while True: pass", JavaScript: "for (;;) {}", Ruby: "loop {}", Bash: "while :; do :; done",
}

func TestCodeEndsAtItsTimeLimit(t *testing.T) {
	r, _ := newHost(t)
	for _, l := range installed(t) {
		result, err := r.Run(t.Context(), "x", Request{Language: l, Code: endless[l], Timeout: 500 * time.Millisecond})
		if err != nil || result.Status != TimedOut || result.Exit == nil || *result.Exit != 137 {
			t.Errorf("%s: %+v, %v", l, result, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := r.Run(ctx, "x", Request{Language: Bash, Code: "sleep 1000"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled run: %v", err)
	}
}

// pausedHost has a sandbox that was paused while code ran: nothing that is sent to it arrives.
type pausedHost struct {
	runs, kept chan struct{}
	sent       []int // signals
}

func (h *pausedHost) StartProcess(context.Context, session.ID, process.Request) (process.Info, error) {
	return process.Info{ID: 1}, nil
}

func (h *pausedHost) Process(context.Context, session.ID, int) (process.Info, error) {
	return process.Info{ID: 1, Argv: argvOf(Bash, modeKeep)}, nil
}

func (h *pausedHost) ProcessInput(context.Context, session.ID, int, io.Reader, bool) error {
	return nil
}

func (h *pausedHost) ReadProcess(ctx context.Context, _ session.ID, _ int, _ uint64, _ func(process.Frame) error) (process.Exit, error) {
	close(h.runs)
	select {
	case <-ctx.Done():
	case <-h.kept:
	}
	return process.Exit{}, ctx.Err()
}

func (h *pausedHost) SignalProcess(_ context.Context, _ session.ID, _, signal int) error {
	if h.sent = append(h.sent, signal); len(h.sent) == 1000 {
		close(h.kept) // the caller would wait as long as the sandbox is paused
	}
	return nil
}

func TestCancelingARunInAPausedSandboxKeepsNoCaller(t *testing.T) {
	for name, request := range map[string]Request{"alone": {Language: Bash, Code: "x"}, "in a context": {Context: contextPrefix + "1", Code: "x"}} {
		synctest.Test(t, func(t *testing.T) {
			h := &pausedHost{runs: make(chan struct{}), kept: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-h.runs
				cancel()
			}()
			request.Timeout = time.Hour
			if _, err := NewRunner(h).Run(ctx, "x", request); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			if killed := len(h.sent) - 1; killed < 0 || slices.Index(h.sent, int(syscall.SIGKILL)) != killed {
				t.Errorf("%s: it was sent the signals %v", name, h.sent)
			}
		})
	}
}

// clockHost has a sandbox in which one process runs until it is killed. It is paused for a while, and
// no time of the process passes then.
type clockHost struct {
	began  time.Time
	before time.Duration    // the time for which the process had run before
	pause  [2]time.Duration // the pause, after began
	killed chan struct{}
}

func (h *clockHost) ran() time.Duration {
	since := time.Since(h.began)
	return h.before + since - (min(since, h.pause[1]) - min(since, h.pause[0]))
}

func (h *clockHost) StartProcess(context.Context, session.ID, process.Request) (process.Info, error) {
	return process.Info{ID: 1, Ran: h.ran()}, nil
}

func (h *clockHost) Process(context.Context, session.ID, int) (process.Info, error) {
	return process.Info{ID: 1, Argv: argvOf(Bash, modeKeep), Ran: h.ran()}, nil
}

func (h *clockHost) ProcessInput(context.Context, session.ID, int, io.Reader, bool) error { return nil }

func (h *clockHost) ReadProcess(context.Context, session.ID, int, uint64, func(process.Frame) error) (process.Exit, error) {
	<-h.killed
	return process.Exit{Code: 137, Signal: 9}, nil
}

func (h *clockHost) SignalProcess(_ context.Context, _ session.ID, _, signal int) error {
	if signal == int(syscall.SIGKILL) {
		close(h.killed)
	}
	return nil
}

// stubbornHost has a context whose code ignores interrupts, if it has begun.
type stubbornHost struct {
	clockHost
	begins  bool
	request chan string
	sent    []time.Duration // after began
}

func (h *stubbornHost) ProcessInput(_ context.Context, _ session.ID, _ int, in io.Reader, _ bool) error {
	data, err := io.ReadAll(in)
	h.request <- string(data)
	return err
}

func (h *stubbornHost) ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	if nonce, _, _ := strings.Cut(<-h.request, " "); h.begins {
		for _, kind := range []process.Kind{process.Stdout, process.Stderr} {
			if err := visit(process.Frame{Kind: kind, Data: []byte("\x00" + nonce + "\x00")}); err != nil {
				return process.Exit{}, err
			}
		}
	}
	return h.clockHost.ReadProcess(ctx, id, number, from, visit)
}

func (h *stubbornHost) SignalProcess(ctx context.Context, id session.ID, number, signal int) error {
	h.sent = append(h.sent, time.Since(h.began))
	return h.clockHost.SignalProcess(ctx, id, number, signal)
}

// An interrupt ends a JavaScript context if it comes just after an earlier one has ended its code.
func TestCodeThatHasBegunHasTimeToEndBetweenInterrupts(t *testing.T) {
	for begins, pause := range map[bool]time.Duration{true: time.Second, false: 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := &stubbornHost{
				clockHost: clockHost{began: time.Now(), killed: make(chan struct{})}, begins: begins, request: make(chan string, 1),
			}
			_, err := NewRunner(h).Run(t.Context(), "x", Request{Context: contextPrefix + "1", Code: "x", Timeout: time.Minute})
			if err != nil {
				t.Error(err)
			}
			var want []time.Duration
			for at := time.Duration(0); at < interruptGrace+pause; at += pause {
				want = append(want, time.Minute+at)
			}
			if !slices.Equal(h.sent, want) {
				t.Errorf("begun %v: it was sent signals after %v, want %v", begins, h.sent, want)
			}
		})
	}
}

func TestNoTimeOfCodePassesDuringAPause(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		before  time.Duration
		end     time.Duration // of the code that is sent SIGKILL at once, or after interrupts
	}{
		"alone":        {Request{Language: Bash, Code: "x"}, 0, time.Hour + time.Minute},
		"in a context": {Request{Context: contextPrefix + "1", Code: "x"}, 24 * time.Hour, time.Hour + time.Minute + interruptGrace},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &clockHost{began: time.Now(), before: c.before, pause: [2]time.Duration{20 * time.Second, time.Hour + 20*time.Second}, killed: make(chan struct{})}
			c.request.Timeout = time.Minute
			result, err := NewRunner(h).Run(t.Context(), "x", c.request)
			if err != nil || result.Status != TimedOut {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
			if took := time.Since(h.began); took < c.end || took > c.end+time.Second {
				t.Errorf("%s: it ended after %v, and its time was over after %v", name, took, c.end)
			}
		})
	}
}

func TestContextKeepsVariables(t *testing.T) {
	r, _ := newHost(t)
	steps := map[Language][][2]string{
		Python:     {{"x = 40", ""}, {"def f(): return x + 2", ""}, {"print(f())", "42\n"}, {"1/0", ""}, {"print(x)", "40\n"}, {"import sys; print(repr(sys.stdin.read()))", "''\n"}, {"raise SystemExit(3)", ""}, {"print(x)", "40\n"}},
		JavaScript: {{"const x = 40", ""}, {"function f() { return x + 2 }", ""}, {"console.log(f())", "42\n"}, {"throw 5", ""}, {"console.log(x)", "40\n"}, {"await 1; console.log(x)", "40\n"}, {"y = await 2", ""}, {"console.log(y)", "2\n"}, {"setTimeout(() => { throw 1 }, 1)", ""}, {"await new Promise(r => setTimeout(r, 50)); console.log(x)", "40\n"}},
		Ruby:       {{"x = 40", ""}, {"def f(x) = x + 2", ""}, {"puts f(x)", "42\n"}, {"raise 'no'", ""}, {"puts x", "40\n"}, {"exit 3", ""}, {"puts x", "40\n"}},
		Bash: {
			{"x=40", ""},
			{"f() { echo $((x + 2)); }", ""},
			{"f", "42\n"},
			{"false", ""},
			{"echo $x", "40\n"},
			{"cat", ""},
			{"cd /; pwd", "/\n"},
			{"continue; echo no", ""},
			{"break 9", ""},
			{"echo $x", "40\n"},
			{"for i in 1 2; do break; done; echo $i", "1\n"},
		},
	}
	for _, l := range installed(t) {
		name, err := r.CreateContext(t.Context(), "x", l, Place{})
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		for _, step := range steps[l] {
			result, err := r.Run(t.Context(), "x", Request{Context: name, Code: step[0], Timeout: 20 * time.Second})
			if err != nil || string(result.Stdout.Bytes) != step[1] || result.Ended || result.Status == TimedOut {
				t.Errorf("%s %q: %+v, %v", l, step[0], result, err)
			}
			if failed := slices.Contains([]string{"1/0", "throw 5", "raise 'no'", "false", "raise SystemExit(3)", "exit 3", "continue; echo no", "break 9"}, step[0]); failed != (result.Status == Failed) {
				t.Errorf("%s %q is %s: %s", l, step[0], result.Status, result.Stderr.Bytes)
			}
		}
		if l != Bash { // it ends with its loop
			result, err := r.Run(t.Context(), "x", Request{Context: name, Code: endless[l], Timeout: 300 * time.Millisecond})
			if err != nil || result.Status != TimedOut || result.Ended {
				t.Errorf("%s at its limit: %+v, %v", l, result, err)
			}
			result, err = r.Run(t.Context(), "x", Request{Context: name, Code: steps[l][2][0]})
			if err != nil || string(result.Stdout.Bytes) != "42\n" {
				t.Errorf("%s after its limit: %+v, %v", l, result, err)
			}
		}
		if _, err := r.Run(t.Context(), "x", Request{Context: name, Code: "x", Input: []byte("x")}); fault.KindOf(err) != fault.Usage {
			t.Errorf("an input: %v", err)
		}
		if err := r.DeleteContext(t.Context(), "x", name); err != nil {
			t.Error(err)
		}
		if _, err := r.Run(t.Context(), "x", Request{Context: name, Code: steps[l][0][0]}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: a deleted context: %v", l, err)
		}
	}
	if _, err := r.Run(t.Context(), "x", Request{Context: "context-99", Code: "1"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown context: %v", err)
	}
}

// opening is a host that creates a file as soon as a process has got input.
type opening struct {
	*host
	file string
}

func (o opening) ProcessInput(ctx context.Context, id session.ID, number int, in io.Reader, end bool) error {
	err := o.host.ProcessInput(ctx, id, number, in, end)
	return errors.Join(err, os.WriteFile(filepath.Join(o.dir, o.file), nil, 0o600))
}

// A server that is killed leaves code running in a context. It does not end then, and what it
// prints is not the output of the next request.
func TestTheOutputOfAnEarlierServersCodeIsNotThatOfALaterRequest(t *testing.T) {
	r, h := newHost(t)
	for _, l := range installed(t) {
		name, err := r.CreateContext(t.Context(), "x", l, Place{})
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		file := "go-" + string(l)
		code := map[Language][2]string{
			Python:     {"import os, sys\nx = 40\nwhile not os.path.exists('%s'): pass\nprint('early')\nprint('early', file=sys.stderr)", "print(x + 2)"},
			JavaScript: {"const x = 40; while (!require('fs').existsSync('%s')); console.log('early'); console.error('early')", "console.log(x + 2)"},
			Ruby:       {"x = 40\nsleep 0.01 until File.exist?('%s')\nputs 'early'\nwarn 'early'", "puts x + 2"},
			Bash:       {"x=40; until [ -e %s ]; do :; done; echo early; echo early >&2", "echo $((x + 2))"},
		}[l]
		number, err := strconv.Atoi(strings.TrimPrefix(name, contextPrefix))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.ProcessInput(t.Context(), "x", number, requestOf(newNonce(), modeKeep, fmt.Sprintf(code[0], file)), false); err != nil {
			t.Fatal(err)
		}
		next := NewRunner(opening{h, file})
		result, err := next.Run(t.Context(), "x", Request{Context: name, Code: code[1], Timeout: 20 * time.Second})
		if err != nil || result.Status != Completed || string(result.Stdout.Bytes) != "42\n" || len(result.Stderr.Bytes) > 0 {
			t.Errorf("%s: %s, stdout %q, stderr %q: %v", l, result.Status, result.Stdout.Bytes, result.Stderr.Bytes, err)
		}
	}
}

func TestOutputIsBoundedAndCounted(t *testing.T) {
	r, _ := newHost(t)
	result, err := r.Run(t.Context(), "x", Request{Language: Bash, Code: "head -c 300000 /dev/zero; echo err >&2", MaxOutput: 1000})
	if err != nil || len(result.Stdout.Bytes) != 1000 || result.Stdout.Dropped != 299_000 || string(result.Stderr.Bytes) != "err\n" {
		t.Errorf("%d bytes, %d dropped, %q: %v", len(result.Stdout.Bytes), result.Stdout.Dropped, result.Stderr.Bytes, err)
	}
}

// flood is code that prints endlessly.
var flood = map[Language]string{
	Python: "while True: print('x' * 1000)", JavaScript: "for (;;) require('fs').writeSync(1, 'x'.repeat(1000) + '\\n')",
	Ruby: "loop { puts 'x' * 1000 }", Bash: "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
}

func TestEndlessOutputEndsAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	for _, l := range installed(t) {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			r, h := newHost(t)
			h.keep = 512 << 10 // the minimum; a reader is further behind
			result, err := r.Run(t.Context(), "x", Request{Language: l, Code: flood[l], Timeout: 5 * time.Second, MaxOutput: 1000})
			if err != nil || result.Status != TimedOut || len(result.Stdout.Bytes) != 1000 || result.Stdout.Dropped == 0 {
				t.Errorf("%s, %d bytes, %d dropped, %v", result.Status, len(result.Stdout.Bytes), result.Stdout.Dropped, err)
			}
			name, err := r.CreateContext(t.Context(), "x", l, Place{})
			if err != nil {
				t.Fatal(err)
			}
			result, err = r.Run(t.Context(), "x", Request{Context: name, Code: flood[l], Timeout: time.Second, MaxOutput: 1000})
			if err != nil || result.Status != TimedOut || len(result.Stdout.Bytes) != 1000 || result.Stdout.Dropped == 0 {
				t.Errorf("in a context: %s, %d bytes, %d dropped, %v", result.Status, len(result.Stdout.Bytes), result.Stdout.Dropped, err)
			}
		})
	}
}

func TestCodeWhoseOutputCannotBeRecordedFailsWithTheReason(t *testing.T) {
	x := &execution{mode: modeRun, language: Python, answers: [2]*splitter{{}, {}}}
	result, err := x.result(&process.Exit{Code: 137, Signal: 9, Cut: true, Error: "its output cannot be recorded: the disk is full"}, time.Now())
	if err != nil || result.Status != Failed || !strings.Contains(result.Error, "the disk is full") {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestCheckReportsWhatCodeUses(t *testing.T) {
	r, _ := newHost(t)
	for _, c := range []struct {
		language Language
		code     string
		rules    string
	}{
		{Python, "x = 1\nprint(x)", ""},
		{Python, "import subprocess\nfrom urllib.request import urlopen\neval('1')\nimport os\nos.system('ls')", "process:1 network:2 dynamic-code:3 process:5"},
		{Python, "x = (", "syntax:1"},
		{JavaScript, "console.log(1)", ""},
		{JavaScript, "const c = require('node:child_process');\nfetch('http://x');\neval('1')", "process:1 network:2 dynamic-code:3"},
		{JavaScript, "\nlet x = (", "syntax:2"},
		{Ruby, "puts 1", ""},
		{Ruby, "require 'socket'\nTCPSocket.new('x', 1)\n`ls`\neval '1'", "network:2 process:3 dynamic-code:4"},
		{Ruby, "\ndef x(", "syntax:2"},
		{Bash, "echo ok\n# curl x", ""},
		{Bash, "curl x\neval y", "network:1 dynamic-code:2"},
		{Bash, "echo\nif", "syntax:2"},
	} {
		if _, err := exec.LookPath(interpreter(c.language)); err != nil {
			continue
		}
		found, err := r.Check(t.Context(), "x", c.language, c.code)
		var rules []string
		for _, f := range found {
			rules = append(rules, f.Rule+":"+string(rune('0'+f.Line)))
		}
		got := strings.Join(rules, " ")
		if err != nil || got != c.rules && !(strings.HasPrefix(c.rules, "syntax") && strings.HasPrefix(got, "syntax")) {
			t.Errorf("%s %q: %+v, %v", c.language, c.code, found, err)
		}
	}
	_, err := r.Run(t.Context(), "x", Request{Language: Bash, Code: "curl x", Validation: Refuse})
	var refused *RefusedError
	if !errors.As(err, &refused) || fault.KindOf(err) != fault.Refused || len(refused.Findings) != 1 {
		t.Errorf("%v", err)
	}
	result, err := r.Run(t.Context(), "x", Request{Language: Bash, Code: "true || curl x", Validation: Advise})
	if err != nil || result.Status != Completed || len(result.Findings) != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add([]byte("out\x00mark{}\x00more"), 3)
	f.Add([]byte("\x00\x00mar\x00markx"), 1)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		marker := []byte("\x00mark")
		var output []byte
		s := splitter{marker: marker, output: func(p []byte) { output = append(output, p...) }}
		for rest := data; len(rest) > 0; {
			n := min(max(piece, 1), len(rest))
			s.feed(rest[:n])
			rest = rest[n:]
		}
		s.finish()
		before, after, found := bytes.Cut(data, marker)
		answer, rest, whole := bytes.Cut(after, []byte{0})
		if found != s.inside || whole != s.done || !bytes.Equal(output, append(bytes.Clone(before), rest...)) || found && !bytes.Equal(s.answer, answer) {
			t.Errorf("%q in pieces of %d: output %q, answer %q, %v, %v", data, piece, output, s.answer, s.inside, s.done)
		}
	})
}
