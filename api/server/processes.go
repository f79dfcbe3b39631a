package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/eventstream"
	"aibox/api/setting"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/process"
)

// processes serves the service Processes.
type processes struct {
	sandboxes Sandboxes
	cases     Processes
	code      Code
	alive     time.Duration // between keep-alive events
}

func (s *Server) processes() *processes {
	return &processes{s.options.Services.Sandboxes, s.options.Services.Processes, s.options.Services.Code, s.alive}
}

// running returns the session of the caller's sandbox.
func (p *processes) running(ctx context.Context, id string) (session.ID, error) {
	return p.sandboxes.Running(ctx, auth.From(ctx).Tenant, id)
}

// fromStart returns the request for a process.
func fromStart(m *aiboxv1.StartProcessRequest) (process.Request, error) {
	r := process.Request{
		Argv: m.GetArgv(), Dir: m.GetDir(), User: m.GetUser(), Stdin: m.GetStdin() || m.Tty != nil,
		Keep: m.GetKeepBytes(),
	}
	var err error
	if r.Env, err = variables(m.GetEnv()); err != nil {
		return r, err
	}
	if r.Timeout, err = setting.FromDuration("timeout", m.GetTimeout()); err != nil {
		return r, err
	}
	if r.Linger, err = setting.FromDuration("linger", m.GetLinger()); err != nil {
		return r, err
	}
	if m.Tty != nil {
		size, err := fromSize(m.GetTty())
		if err != nil {
			return r, err
		}
		r.TTY, r.Rows, r.Cols = true, size.Rows, size.Cols
	}
	switch m.GetOverflow() {
	case aiboxv1.Overflow_OVERFLOW_UNSPECIFIED: // the default of the process
	case aiboxv1.Overflow_OVERFLOW_HOLD:
		r.Overflow = process.Hold
	case aiboxv1.Overflow_OVERFLOW_DROP:
		r.Overflow = process.Drop
	case aiboxv1.Overflow_OVERFLOW_DROP_UNREAD:
		r.Overflow = process.DropUnread
	default:
		return r, fault.New(fault.Usage, "overflow %d is unknown", m.GetOverflow())
	}
	return r, r.Validate()
}

// variables returns an environment as sorted NAME=VALUE entries.
func variables(env map[string]string) ([]string, error) {
	var all []string
	for name, value := range env {
		if err := process.CheckVariable(name, value); err != nil {
			return nil, err
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all, nil
}

func fromSize(size *aiboxv1.TerminalSize) (screen.Size, error) {
	if size.GetRows() < 1 || size.GetRows() > 65535 || size.GetCols() < 1 || size.GetCols() > 65535 {
		return screen.Size{}, fault.New(fault.Usage, "a terminal has from 1 to 65535 rows and columns, not %d and %d", size.GetRows(), size.GetCols())
	}
	return screen.Size{Rows: int(size.GetRows()), Cols: int(size.GetCols())}, nil
}

// toProcess returns a process of the schema.
func toProcess(info *process.Info) *aiboxv1.Process {
	out := &aiboxv1.Process{
		ProcessId: int32(info.ID), Argv: info.Argv, User: info.User, Dir: info.Dir, Tty: info.TTY, Pid: int32(info.PID),
		StartTime: toTime(info.Started), EndTime: toTime(info.Ended), OutputBytes: info.Output, LastSeq: int64(info.Frames),
	}
	if info.Exit != nil {
		out.Exit = toExit(*info.Exit)
	}
	return out
}

func toExit(exit process.Exit) *aiboxv1.ProcessExit {
	return &aiboxv1.ProcessExit{Code: int32(exit.Code), Signal: int32(exit.Signal), Cut: exit.Cut, TimedOut: exit.TimedOut, Error: termtext.Escape(exit.Error)}
}

// toEvent returns the event of a frame.
func toEvent(frame process.Frame) (*aiboxv1.ProcessEvent, error) {
	out := &aiboxv1.ProcessEvent{Seq: int64(frame.Seq), Time: toTime(frame.Time)}
	switch frame.Kind {
	case process.Stdout:
		out.Event = &aiboxv1.ProcessEvent_Stdout{Stdout: &aiboxv1.ProcessOutput{Offset: frame.Offset, Data: frame.Data}}
	case process.Stderr:
		out.Event = &aiboxv1.ProcessEvent_Stderr{Stderr: &aiboxv1.ProcessOutput{Offset: frame.Offset, Data: frame.Data}}
	case process.Lost:
		gap, err := frame.Gap()
		if err != nil {
			return nil, err
		}
		out.Event = &aiboxv1.ProcessEvent_Lost{Lost: &aiboxv1.EventsLost{NextSeq: int64(gap.Next)}}
	case process.Ended:
		exit, err := frame.Exit()
		if err != nil {
			return nil, err
		}
		out.Event = &aiboxv1.ProcessEvent_Exit{Exit: toExit(exit)}
	default:
		return aliveEvent(), nil
	}
	return out, nil
}

func aliveEvent() *aiboxv1.ProcessEvent {
	return &aiboxv1.ProcessEvent{Time: toTime(time.Now()), Event: &aiboxv1.ProcessEvent_KeepAlive{KeepAlive: &aiboxv1.KeepAlive{}}}
}

// follow sends the started event and the events of a process from number from on.
func (p *processes) follow(ctx context.Context, id session.ID, info *process.Info, from uint64, send func(*aiboxv1.ProcessEvent) error) error {
	if err := sendStarted(info, send); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	sending := eventstream.NewSender(send, aliveEvent, cancel, p.alive)
	_, err := p.cases.ReadProcess(ctx, id, info.ID, max(from, 1), frameSender(sending.Send))
	cancel()
	return cmp.Or(sending.End(), err)
}

// frameSender returns a function that sends the event of a frame.
func frameSender(send func(*aiboxv1.ProcessEvent) error) func(process.Frame) error {
	return func(frame process.Frame) error {
		event, err := toEvent(frame)
		if err != nil {
			return err
		}
		return send(event)
	}
}

// sendStarted sends the started event of a process.
func sendStarted(info *process.Info, send func(*aiboxv1.ProcessEvent) error) error {
	return send(&aiboxv1.ProcessEvent{Time: toTime(info.Started), Event: &aiboxv1.ProcessEvent_Started{Started: toProcess(info)}})
}

func (p *processes) Start(ctx context.Context, r *connect.Request[aiboxv1.StartProcessRequest], stream *connect.ServerStream[aiboxv1.ProcessEvent]) error {
	id, request, err := p.toStart(ctx, r.Msg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sending *eventstream.Sender[*aiboxv1.ProcessEvent]
	_, err = p.cases.RunProcess(ctx, id, request, func(info process.Info) error {
		if err := sendStarted(&info, stream.Send); err != nil {
			return err
		}
		sending = eventstream.NewSender(stream.Send, aliveEvent, cancel, p.alive)
		return nil
	}, func(frame process.Frame) error { return frameSender(sending.Send)(frame) })
	if sending == nil {
		return err
	}
	return cmp.Or(sending.End(), err)
}

// toStart returns the request for a process, and the session of the caller's sandbox.
func (p *processes) toStart(ctx context.Context, m *aiboxv1.StartProcessRequest) (session.ID, process.Request, error) {
	request, err := fromStart(m)
	if err != nil {
		return "", request, err
	}
	id, err := p.running(ctx, m.GetSandboxId())
	return id, request, err
}

func (p *processes) Launch(ctx context.Context, r *connect.Request[aiboxv1.StartProcessRequest]) (*connect.Response[aiboxv1.Process], error) {
	id, request, err := p.toStart(ctx, r.Msg)
	if err != nil {
		return nil, err
	}
	info, err := p.cases.StartProcess(ctx, id, request)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toProcess(&info)), nil
}

// find returns a process of the caller's sandbox.
func (p *processes) find(ctx context.Context, sandbox string, number int32) (session.ID, process.Info, error) {
	id, err := p.running(ctx, sandbox)
	if err != nil {
		return "", process.Info{}, err
	}
	info, err := p.cases.Process(ctx, id, int(number))
	if fault.KindOf(err) == fault.NotFound {
		err = fault.New(fault.NotFound, "the sandbox %s has no process %d", sandbox, number)
	}
	return id, info, err
}

func (p *processes) Connect(ctx context.Context, r *connect.Request[aiboxv1.ConnectProcessRequest], stream *connect.ServerStream[aiboxv1.ProcessEvent]) error {
	id, info, err := p.find(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId())
	if err != nil {
		return err
	}
	if err := checkSeq(&info, r.Msg.GetFromSeq()); err != nil {
		return err
	}
	return p.follow(ctx, id, &info, uint64(r.Msg.GetFromSeq()), stream.Send)
}

// checkSeq refuses the number of an event that cannot be the next one.
func checkSeq(info *process.Info, from int64) error {
	if from < 0 || from > int64(info.Frames)+1 {
		return fault.New(fault.Usage, "the next event of process %d is %d, so it cannot be read from %d", info.ID, info.Frames+1, from)
	}
	return nil
}

func (p *processes) List(ctx context.Context, r *connect.Request[aiboxv1.ListProcessesRequest]) (*connect.Response[aiboxv1.ListProcessesResponse], error) {
	id, err := p.running(ctx, r.Msg.GetSandboxId())
	if err != nil {
		return nil, err
	}
	all, err := p.cases.Processes(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.ListProcessesResponse{}
	for i := range all {
		out.Processes = append(out.Processes, toProcess(&all[i]))
	}
	return connect.NewResponse(out), nil
}

func (p *processes) Get(ctx context.Context, r *connect.Request[aiboxv1.GetProcessRequest]) (*connect.Response[aiboxv1.Process], error) {
	_, info, err := p.find(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toProcess(&info)), nil
}

// maxInput is the maximum size of one input in bytes.
const maxInput = 1 << 20

// control does something to a process of the caller's sandbox.
func (p *processes) control(ctx context.Context, sandbox string, number int32, do func(session.ID, int) error) (*connect.Response[emptypb.Empty], error) {
	id, info, err := p.find(ctx, sandbox, number)
	if err != nil {
		return nil, err
	}
	if info.Exit != nil {
		return nil, fault.New(fault.Conflict, "process %d has ended", number)
	}
	if err := do(id, info.ID); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

func checkInput(data []byte) error {
	if len(data) > maxInput {
		return tooLarge(fmt.Sprintf("an input has up to %d bytes, not %d", maxInput, len(data)))
	}
	return nil
}

func (p *processes) SendInput(ctx context.Context, r *connect.Request[aiboxv1.SendInputRequest]) (*connect.Response[emptypb.Empty], error) {
	data := r.Msg.GetData()
	if err := checkInput(data); err != nil {
		return nil, err
	}
	return p.control(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId(), func(id session.ID, number int) error {
		return p.cases.ProcessInput(ctx, id, number, bytes.NewReader(data), false)
	})
}

func (p *processes) CloseInput(ctx context.Context, r *connect.Request[aiboxv1.CloseInputRequest]) (*connect.Response[emptypb.Empty], error) {
	return p.control(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId(), func(id session.ID, number int) error {
		return p.cases.ProcessInput(ctx, id, number, bytes.NewReader(nil), true)
	})
}

func (p *processes) Resize(ctx context.Context, r *connect.Request[aiboxv1.ResizeProcessRequest]) (*connect.Response[emptypb.Empty], error) {
	size, err := fromSize(r.Msg.GetSize())
	if err != nil {
		return nil, err
	}
	return p.control(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId(), func(id session.ID, number int) error {
		return p.cases.ResizeProcess(ctx, id, number, size)
	})
}

func (p *processes) Signal(ctx context.Context, r *connect.Request[aiboxv1.SignalProcessRequest]) (*connect.Response[emptypb.Empty], error) {
	if err := checkSignal(r.Msg.GetSignal()); err != nil {
		return nil, err
	}
	return p.control(ctx, r.Msg.GetSandboxId(), r.Msg.GetProcessId(), func(id session.ID, number int) error {
		return p.cases.SignalProcess(ctx, id, number, int(r.Msg.GetSignal()))
	})
}

// maxSignal is the last signal. aibox-init sends no real-time signals.
const maxSignal = 31

func checkSignal(signal int32) error {
	if signal < 1 || signal > maxSignal {
		return fault.New(fault.Usage, "a signal is from 1 to %d, not %d", maxSignal, signal)
	}
	return nil
}

// end sends a signal to a process whose caller has disconnected.
func (p *processes) end(ctx context.Context, id session.ID, number int, signal syscall.Signal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = p.cases.SignalProcess(ctx, id, number, int(signal))
}
