package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/namedlock"
	"aibox/session"
	"aibox/session/process"
)

// Processes starts processes in the sandboxes of running sessions.
type Processes interface {
	StartProcess(ctx context.Context, id session.ID, request process.Request) (process.Info, error)
	ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error)
	ProcessInput(ctx context.Context, id session.ID, number int, in io.Reader, end bool) error
	SignalProcess(ctx context.Context, id session.ID, number, signal int) error
	// Process returns a fault of the kind NotFound if there is no such process.
	Process(ctx context.Context, id session.ID, number int) (process.Info, error)
}

const (
	// interruptGrace is the time that code in a context has to end after interrupts.
	interruptGrace = 5 * time.Second
	// interruptEvery is the time between two interrupts of code that has begun. On a busy machine it may
	// take a while to end, and a second interrupt in the moment in which it has ended and Node.js has not
	// yet set its signal handler again would end the context.
	interruptEvery = time.Second
	// beginEvery is the time between two interrupts before the code has begun, which are ignored, or end
	// code that the context still runs for an earlier server.
	beginEvery = 300 * time.Millisecond
	// pausedEvery is the least time between two looks at how long code has run, when its sandbox was
	// paused.
	pausedEvery = 500 * time.Millisecond
	// killGrace is the time that killed code has to end. After it, a caller that has gone is
	// not kept: in a paused sandbox, code ends only when the sandbox is resumed.
	killGrace = 3 * time.Second
	// startTime is the time limit for an interpreter to become ready for a context.
	startTime = time.Minute
	// lingerTime is the time after which code without a caller is ended.
	lingerTime = 30 * time.Second
)

// Runner runs code in the sandboxes of running sessions. It stores nothing about contexts,
// so any Runner can use any context. It is safe for concurrent use.
type Runner struct {
	processes Processes
	busy      namedlock.Set
}

// NewRunner returns a runner.
func NewRunner(processes Processes) *Runner {
	return &Runner{processes: processes}
}

// Run runs code and waits for its end. An error means that it did not run; errors of the code
// are in the result. When ctx ends, the code is ended.
func (r *Runner) Run(ctx context.Context, id session.ID, request Request) (Result, error) {
	if err := request.validate(); err != nil {
		return Result{}, err
	}
	var kept process.Info
	if request.Context != "" {
		unlock, err := r.busy.Lock(ctx, string(id)+" "+request.Context)
		if err != nil {
			return Result{}, err
		}
		defer unlock()
		if kept, err = r.findContext(ctx, id, request.Context); err != nil {
			return Result{}, err
		}
		language := contextLanguage(kept.Argv)
		if request.Language != "" && request.Language != language {
			return Result{}, fault.New(fault.Usage, "the context is in %s, not in %s", language, request.Language)
		}
		request.Language = language
	}
	var findings []Finding
	if request.Validation != NoValidation {
		var err error
		if findings, err = r.Check(ctx, id, request.Language, request.Code); err != nil {
			return Result{}, err
		}
		if len(findings) > 0 && request.Validation == Refuse {
			return Result{}, fault.New(fault.Refused, "the code is refused: %w", &RefusedError{findings})
		}
		if request.Context != "" { // the time limit of the code does not include the validation
			if kept, err = r.findContext(ctx, id, request.Context); err != nil {
				return Result{}, err
			}
		}
	}
	x := &execution{
		processes: r.processes, session: id, nonce: newNonce(), language: request.Language,
		timeout: request.Timeout, limit: request.MaxOutput, input: request.Input,
	}
	var result Result
	var err error
	if request.Context == "" {
		x.mode = modeRun
		result, err = x.runAlone(ctx, request.Code, request.Place)
	} else {
		x.mode = modeKeep
		result, err = x.runKept(ctx, request.Code, kept)
	}
	result.Findings = findings
	return result, err
}

// execution is one request to a driver.
type execution struct {
	processes Processes
	session   session.ID
	nonce     string
	mode      mode
	language  Language
	timeout   time.Duration
	limit     int64  // limit of each output
	input     []byte // input of the code

	number         int           // number of the process
	ran            time.Duration // how long the process had run before
	stdout, stderr Output
	answers        [2]*splitter
	begun          chan struct{} // closed when code in a context has begun
	timedOut       bool
}

// driverAnswer is the report of a driver.
type driverAnswer struct {
	Value    string    `json:"value"`
	Error    string    `json:"error"`
	Exit     *int      `json:"exit"`
	Findings []Finding `json:"findings"`
}

// errAnswered ends reading after both answers.
var errAnswered = errors.New("the driver has answered")

// runAlone runs code in a separate interpreter.
func (x *execution) runAlone(ctx context.Context, code string, place Place) (Result, error) {
	script, err := scriptOf(x.language)
	if err != nil {
		return Result{}, err
	}
	info, err := x.start(ctx, place)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	feeding, stop := context.WithCancel(ctx)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		in := io.MultiReader(strings.NewReader(script), requestOf(x.nonce, x.mode, code), strings.NewReader(string(x.input)))
		_ = x.processes.ProcessInput(feeding, x.session, info.ID, in, true) // it may end before it has read everything
	}()
	exit, err := x.read(ctx, 1, unix.SIGKILL)
	stop()
	<-fed
	if err != nil {
		return Result{}, err
	}
	return x.result(exit, began)
}

// start starts an interpreter.
func (x *execution) start(ctx context.Context, place Place) (process.Info, error) {
	request := process.Request{Argv: argvOf(x.language, x.mode), Env: place.Env, Dir: place.Dir, User: place.User, Stdin: true}
	if x.mode == modeKeep {
		request.Overflow = process.DropUnread // for its output between two requests
	} else {
		request.Linger = lingerTime
	}
	info, err := x.processes.StartProcess(ctx, x.session, request)
	if err == nil && info.Exit != nil && info.Exit.Error != "" {
		err = fault.New(fault.Usage, "the sandbox cannot run code: %q", info.Exit.Error)
	}
	x.number = info.ID
	return info, err
}

// runKept runs code in a context.
func (x *execution) runKept(ctx context.Context, code string, kept process.Info) (Result, error) {
	x.number, x.ran = kept.ID, kept.Ran
	began := time.Now()
	if err := x.processes.ProcessInput(ctx, x.session, x.number, requestOf(x.nonce, x.mode, code), false); err != nil {
		return Result{}, err
	}
	exit, err := x.read(ctx, kept.Frames+1, unix.SIGINT)
	if err != nil {
		return Result{}, err
	}
	return x.result(exit, began)
}

// read reads the output up to both answers, or to the end of the process. At the time
// limit, and when ctx ends, it sends a signal, and in the end kills the process. It then waits
// for the end of the process, but after the end of ctx only for killGrace. The exit is nil if
// the process still runs.
func (x *execution) read(ctx context.Context, from uint64, signal unix.Signal) (*process.Exit, error) {
	for i, out := range []*Output{&x.stdout, &x.stderr} {
		x.answers[i] = newSplitter(x.nonce, func(p []byte) { out.keep(p, x.limit) })
		if x.mode == modeKeep {
			x.answers[i].awaitBegin(x.nonce, from == 1)
		}
	}
	x.begun = make(chan struct{})
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.endAtLimit(ctx, over, signal)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		select {
		case <-over:
		case <-time.After(killGrace):
			stop()
		}
	}()
	exit, err := x.processes.ReadProcess(reading, x.session, x.number, from, x.visit)
	close(over)
	<-ended
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errAnswered):
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, err
	}
	x.answers[0].finish()
	x.answers[1].finish()
	return &exit, nil
}

// visit reads one frame.
func (x *execution) visit(frame process.Frame) error {
	awaited := x.awaitsBegin()
	switch frame.Kind {
	case process.Stdout:
		x.answers[0].feed(frame.Data)
	case process.Stderr:
		x.answers[1].feed(frame.Data)
	case process.Lost:
		if awaited {
			return nil // it was of an earlier request
		}
		gap, err := frame.Gap()
		if err != nil {
			return err
		}
		return fmt.Errorf("the frames %d to %d of its output are lost", frame.Seq, gap.Next-1)
	default:
	}
	if awaited && !x.awaitsBegin() {
		close(x.begun)
	}
	if x.mode == modeKeep && x.answers[0].done && x.answers[1].done {
		return errAnswered
	}
	return nil
}

// awaitsBegin reports whether code in a context has not begun.
func (x *execution) awaitsBegin() bool { return x.answers[0].begin != nil && x.answers[1].begin != nil }

// endAtLimit ends the code at its time limit, or when ctx ends, unless over is closed before. It
// returns when over is closed, or the process was sent SIGKILL.
func (x *execution) endAtLimit(ctx context.Context, over <-chan struct{}, signal unix.Signal) {
	if isOver := x.awaitLimit(ctx, over); isOver {
		return
	}
	sending := context.WithoutCancel(ctx)
	for end := time.Now().Add(interruptGrace); ; {
		if !time.Now().Before(end) {
			signal = unix.SIGKILL
		}
		err := x.processes.SignalProcess(sending, x.session, x.number, int(signal)) // the process may have ended
		if err == nil && signal == unix.SIGKILL {
			return // in a paused sandbox, more signals would only fill its connection
		}
		pause := beginEvery
		select {
		case <-x.begun:
			pause = interruptEvery
		default:
		}
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
	}
}

// awaitLimit returns at the time limit, when ctx ends, or when over is closed, which it reports. No time
// passes while the sandbox is paused.
func (x *execution) awaitLimit(ctx context.Context, over <-chan struct{}) (isOver bool) {
	for left := x.timeout; ; left = max(left, pausedEvery) {
		select {
		case <-over:
			return true
		case <-time.After(left):
		case <-ctx.Done():
			return false
		}
		if left = x.timeLeft(ctx); left <= 0 {
			x.timedOut = true
			return false
		}
	}
}

// timeLeft returns how long the code may still run, once its time limit has passed on this machine's
// clock. Without an answer of the session it is 0.
func (x *execution) timeLeft(ctx context.Context) time.Duration {
	info, err := x.processes.Process(ctx, x.session, x.number)
	if err != nil || info.Ran <= 0 {
		return 0
	}
	return x.timeout - (info.Ran - x.ran)
}

// result returns the result. exit is nil if the process still runs.
func (x *execution) result(exit *process.Exit, began time.Time) (Result, error) {
	var answer driverAnswer
	answered := x.answers[0].done && json.Unmarshal(x.answers[0].answer, &answer) == nil
	// The shell prints this before the interpreter prints anything.
	printed := string(x.stderr.Bytes)
	if exit != nil && exit.Code == 127 && !answered && strings.HasPrefix(printed, marker+": ") && strings.Contains(printed, "not found") {
		return Result{}, fault.New(fault.Usage, "the sandbox has no %s, which runs %s", interpreter(x.language), x.language)
	}
	r := Result{
		Status: Completed, Stdout: x.stdout, Stderr: x.stderr, Value: answer.Value, Error: answer.Error,
		Exit: answer.Exit, Took: time.Since(began),
	}
	if exit != nil {
		r.Exit, r.Ended = &exit.Code, x.mode == modeKeep
	}
	if exit != nil && exit.Error != "" && r.Error == "" {
		r.Error = exit.Error // aibox ended the code
	}
	switch {
	case x.timedOut:
		r.Status = TimedOut
	case r.Error != "", r.Exit != nil && *r.Exit != 0:
		r.Status = Failed
	}
	return r, nil
}

// interpreter returns the program of a language.
func interpreter(l Language) string { return driversOf[l].argv[0] }
