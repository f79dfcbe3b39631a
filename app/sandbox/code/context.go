package code

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"
)

// contextPrefix begins the ID of a context; the number of its process follows.
const contextPrefix = "context-"

// CreateContext starts an interpreter that keeps its variables between requests, and
// returns the ID of the context. The context exists until DeleteContext, until its code
// exits, or until the sandbox ends. It runs one request at a time.
func (r *Runner) CreateContext(ctx context.Context, id session.ID, l Language, place Place) (name string, err error) {
	if _, err := ParseLanguage(string(l)); err != nil {
		return "", err
	}
	script, err := scriptOf(l)
	if err != nil {
		return "", err
	}
	x := &execution{processes: r.processes, session: id, nonce: newNonce(), mode: modeKeep, language: l, timeout: startTime, limit: 4 << 10}
	info, err := x.start(ctx, place)
	if err != nil {
		return "", err
	}
	name = contextPrefix + strconv.Itoa(info.ID)
	defer func() {
		if err != nil {
			_ = r.processes.SignalProcess(context.WithoutCancel(ctx), id, info.ID, int(unix.SIGKILL))
		}
	}()
	if err := r.processes.ProcessInput(ctx, id, info.ID, strings.NewReader(script), false); err != nil && !errors.Is(err, session.ErrWrongState) {
		return "", err
	}
	info.Frames = 0
	result, err := x.runKept(ctx, "", info)
	switch {
	case errors.Is(err, session.ErrWrongState), err == nil && result.Ended:
		return "", fault.New(fault.Usage, "the sandbox cannot run %s: %q", l, result.Stderr.Bytes)
	case err == nil && result.Status == TimedOut:
		err = fault.New(fault.Limit, "the interpreter for %s was not ready in time", l)
	}
	return name, err
}

// DeleteContext ends a context, and returns after it has ended.
func (r *Runner) DeleteContext(ctx context.Context, id session.ID, name string) error {
	found, err := r.findContext(ctx, id, name)
	if err != nil {
		return err
	}
	if err := r.processes.SignalProcess(ctx, id, found.ID, int(unix.SIGKILL)); err != nil {
		return err
	}
	_, err = r.processes.ReadProcess(ctx, id, found.ID, found.Frames+1, func(process.Frame) error { return nil })
	return err
}

// findContext returns the process of a running context.
func (r *Runner) findContext(ctx context.Context, id session.ID, name string) (process.Info, error) {
	missing := fault.New(fault.NotFound, "there is no code context %q", name)
	number, err := strconv.Atoi(strings.TrimPrefix(name, contextPrefix))
	if err != nil || contextPrefix+strconv.Itoa(number) != name {
		return process.Info{}, missing
	}
	found, err := r.processes.Process(ctx, id, number)
	switch {
	case fault.KindOf(err) == fault.NotFound, err == nil && (found.Exit != nil || contextLanguage(found.Argv) == ""):
		return process.Info{}, missing
	default:
		return found, err
	}
}
