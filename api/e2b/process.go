package e2b

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/e2b/processpb"
	"aibox/api/eventstream"
)

// killDelay is how long after the end of a call its process is killed. The call ends first,
// so that the packages report a timeout and not a signal.
const killDelay = 500 * time.Millisecond

// signaled is the exit code that the packages expect of a process that a signal ended.
const signaled = -1

var aliveEvent = &processpb.ProcessEvent{Event: &processpb.ProcessEvent_Keepalive{Keepalive: &processpb.ProcessEvent_KeepAlive{}}}

// processes serves the processes of a sandbox. Their numbers are the process ids that
// programs in the sandbox see.
type processes struct{ api *backend }

// Start starts a process. The call's timeout is also the process's. If the call is
// canceled, the process continues.
func (p *processes) Start(ctx context.Context, r *connect.Request[processpb.StartRequest], out *connect.ServerStream[processpb.StartResponse]) error {
	start, err := p.startRequest(ctx, r)
	if err != nil {
		return err
	}
	events, err := p.api.processes.Start(ctx, connect.NewRequest(start))
	if err != nil {
		return p.api.insideError(ctx, err)
	}
	defer events.Close()
	sender := newSender(r.Header(), aliveEvent, func(e *processpb.ProcessEvent) error {
		return out.Send(&processpb.StartResponse{Event: e})
	})
	return p.follow(ctx, events, sender, start.Tty != nil)
}

func (p *processes) startRequest(ctx context.Context, r *connect.Request[processpb.StartRequest]) (*aiboxv1.StartProcessRequest, error) {
	config := r.Msg.GetProcess()
	if config.GetCmd() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("a process needs a command"))
	}
	if r.Msg.Tag != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("aibox keeps no tags of processes: use their process ids"))
	}
	start := &aiboxv1.StartProcessRequest{
		SandboxId: callerOf(ctx).sandbox,
		Argv:      append([]string{config.Cmd}, config.Args...),
		Env:       config.Envs,
		Dir:       config.GetCwd(),
		User:      callerOf(ctx).user,
		Stdin:     r.Msg.Stdin == nil || *r.Msg.Stdin,
		Overflow:  aiboxv1.Overflow_OVERFLOW_DROP_UNREAD,
	}
	if pty := r.Msg.Pty; pty != nil {
		start.Tty = terminalSize(pty)
	}
	if end, ok := ctx.Deadline(); ok {
		start.Timeout = durationpb.New(max(time.Until(end), 0) + killDelay)
	}
	return start, nil
}

func terminalSize(pty *processpb.PTY) *aiboxv1.TerminalSize {
	return &aiboxv1.TerminalSize{
		Rows: cmp.Or(pty.GetSize().GetRows(), 24), Cols: cmp.Or(pty.GetSize().GetCols(), 80),
	}
}

// Connect follows a running process from now on. Earlier output is not repeated.
func (p *processes) Connect(ctx context.Context, r *connect.Request[processpb.ConnectRequest], out *connect.ServerStream[processpb.ConnectResponse]) error {
	found, err := p.find(ctx, r.Msg.Process)
	if err != nil {
		return err
	}
	events, err := p.api.processes.Connect(ctx, connect.NewRequest(&aiboxv1.ConnectProcessRequest{
		SandboxId: callerOf(ctx).sandbox, ProcessId: found.ProcessId, FromSeq: found.LastSeq + 1,
	}))
	if err != nil {
		return p.api.insideError(ctx, err)
	}
	defer events.Close()
	sender := newSender(r.Header(), aliveEvent, func(e *processpb.ProcessEvent) error {
		return out.Send(&processpb.ConnectResponse{Event: e})
	})
	return p.follow(ctx, events, sender, found.Tty)
}

// follow sends the events of a process to the caller.
func (p *processes) follow(ctx context.Context, events *connect.ServerStreamForClient[aiboxv1.ProcessEvent], out *eventstream.Sender[*processpb.ProcessEvent], tty bool) error {
	defer func() { _ = out.End() }()
	for events.Receive() {
		event, err := translate(events.Msg(), tty)
		if err != nil {
			return err
		}
		if event == nil {
			continue
		}
		if err := out.Send(event); err != nil {
			return err
		}
		if event.GetEnd() != nil {
			return nil
		}
	}
	if err := events.Err(); err != nil {
		return p.api.insideError(ctx, err)
	}
	return errGone
}

// translate converts an event of a process to the packages' format; nil if they have none for it.
func translate(e *aiboxv1.ProcessEvent, tty bool) (*processpb.ProcessEvent, error) {
	switch event := e.Event.(type) {
	case *aiboxv1.ProcessEvent_Started:
		if exit := event.Started.Exit; event.Started.Pid == 0 && exit != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New(cmp.Or(exit.Error, "the process could not be started")))
		}
		return &processpb.ProcessEvent{Event: &processpb.ProcessEvent_Start{
			Start: &processpb.ProcessEvent_StartEvent{Pid: uint32(event.Started.Pid)},
		}}, nil
	case *aiboxv1.ProcessEvent_Stdout:
		return dataEvent(event.Stdout.Data, tty), nil
	case *aiboxv1.ProcessEvent_Stderr:
		return &processpb.ProcessEvent{Event: &processpb.ProcessEvent_Data{Data: &processpb.ProcessEvent_DataEvent{
			Output: &processpb.ProcessEvent_DataEvent_Stderr{Stderr: event.Stderr.Data},
		}}}, nil
	case *aiboxv1.ProcessEvent_Exit:
		return &processpb.ProcessEvent{Event: &processpb.ProcessEvent_End{End: endEvent(event.Exit)}}, nil
	case *aiboxv1.ProcessEvent_Lost:
		return nil, connect.NewError(connect.CodeDataLoss, errors.New("output of the process is lost, since it was not read in time"))
	}
	return nil, nil
}

func dataEvent(data []byte, tty bool) *processpb.ProcessEvent {
	event := &processpb.ProcessEvent_DataEvent{Output: &processpb.ProcessEvent_DataEvent_Stdout{Stdout: data}}
	if tty {
		event.Output = &processpb.ProcessEvent_DataEvent_Pty{Pty: data}
	}
	return &processpb.ProcessEvent{Event: &processpb.ProcessEvent_Data{Data: event}}
}

func endEvent(exit *aiboxv1.ProcessExit) *processpb.ProcessEvent_EndEvent {
	end := &processpb.ProcessEvent_EndEvent{ExitCode: exit.Code, Exited: exit.Signal == 0, Status: fmt.Sprintf("exit status %d", exit.Code)}
	if exit.Signal != 0 {
		end.ExitCode, end.Status = signaled, "signal: "+syscall.Signal(exit.Signal).String()
	}
	if exit.Code != 0 || exit.Error != "" {
		reason := cmp.Or(exit.Error, end.Status)
		end.Error = &reason
	}
	return end
}

// List lists the running processes. Their variables are unknown.
func (p *processes) List(ctx context.Context, _ *connect.Request[processpb.ListRequest]) (*connect.Response[processpb.ListResponse], error) {
	running, err := p.running(ctx)
	if err != nil {
		return nil, err
	}
	answer := &processpb.ListResponse{}
	for _, process := range running {
		info := &processpb.ProcessInfo{Pid: uint32(process.Pid), Config: &processpb.ProcessConfig{}}
		if len(process.Argv) > 0 {
			info.Config.Cmd, info.Config.Args = process.Argv[0], process.Argv[1:]
		}
		if process.Dir != "" {
			info.Config.Cwd = &process.Dir
		}
		answer.Processes = append(answer.Processes, info)
	}
	return connect.NewResponse(answer), nil
}

// running returns the running processes, in the order of their starts.
func (p *processes) running(ctx context.Context) ([]*aiboxv1.Process, error) {
	all, err := p.api.processes.List(ctx, connect.NewRequest(&aiboxv1.ListProcessesRequest{SandboxId: callerOf(ctx).sandbox}))
	if err != nil {
		return nil, p.api.insideError(ctx, err)
	}
	return slices.DeleteFunc(all.Msg.Processes, func(process *aiboxv1.Process) bool {
		return process.Exit != nil || process.EndTime != nil || process.Pid == 0
	}), nil
}

// find returns the process that a selector names. One that has ended does not exist.
func (p *processes) find(ctx context.Context, selector *processpb.ProcessSelector) (*aiboxv1.Process, error) {
	pid, ok := selector.GetSelector().(*processpb.ProcessSelector_Pid)
	if !ok {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("a process is named by its process id"))
	}
	running, err := p.running(ctx)
	if err != nil {
		return nil, err
	}
	for _, process := range slices.Backward(running) {
		if uint32(process.Pid) == pid.Pid {
			return process, nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("no process with the id %d runs", pid.Pid))
}

// SendSignal sends SIGTERM or SIGKILL.
func (p *processes) SendSignal(ctx context.Context, r *connect.Request[processpb.SendSignalRequest]) (*connect.Response[processpb.SendSignalResponse], error) {
	if s := r.Msg.Signal; s != processpb.Signal_SIGNAL_SIGKILL && s != processpb.Signal_SIGNAL_SIGTERM {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the signal is SIGTERM or SIGKILL"))
	}
	found, err := p.find(ctx, r.Msg.Process)
	if err != nil {
		return nil, err
	}
	_, err = p.api.processes.Signal(ctx, connect.NewRequest(&aiboxv1.SignalProcessRequest{
		SandboxId: callerOf(ctx).sandbox, ProcessId: found.ProcessId, Signal: int32(r.Msg.Signal),
	}))
	if err != nil {
		return nil, p.api.insideError(ctx, err)
	}
	return connect.NewResponse(&processpb.SendSignalResponse{}), nil
}

// Update resizes the terminal of a process.
func (p *processes) Update(ctx context.Context, r *connect.Request[processpb.UpdateRequest]) (*connect.Response[processpb.UpdateResponse], error) {
	found, err := p.find(ctx, r.Msg.Process)
	if err != nil {
		return nil, err
	}
	if r.Msg.Pty == nil {
		return connect.NewResponse(&processpb.UpdateResponse{}), nil
	}
	if !found.Tty {
		return nil, errNoTerminal
	}
	_, err = p.api.processes.Resize(ctx, connect.NewRequest(&aiboxv1.ResizeProcessRequest{
		SandboxId: callerOf(ctx).sandbox, ProcessId: found.ProcessId, Size: terminalSize(r.Msg.Pty),
	}))
	if err != nil {
		return nil, p.api.insideError(ctx, err)
	}
	return connect.NewResponse(&processpb.UpdateResponse{}), nil
}
