package supervisor

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/process"
	"aibox/session/terminal"
)

const (
	// maxEndedProcesses is the number of ended processes that are listed and can be read.
	maxEndedProcesses = 32
	// maxRecords bounds the records of all processes, in bytes: as many processes as there can be
	// have the default, and one can have the maximum. The records are on the host's disk, where no
	// limit of the sandbox counts them.
	maxRecords = lifeline.MaxProcesses*process.DefaultKeep + process.MaxKeep
	// readEndTime is how long the end of the session waits for readers of processes.
	readEndTime = 2 * time.Second
)

// processes are the processes that the user has started in the sandbox besides the agent.
// It is safe for concurrent use.
type processes struct {
	sandbox *sandbox
	clock   runClock
	records int64 // maximum size of all records, in bytes

	mu     sync.Mutex
	last   int        // number of the last process
	all    []*running // in the order of their starts, without those that were forgotten
	flows  map[uint32]*running
	closed bool // the sandbox has ended
	pumps  sync.WaitGroup
}

func newProcesses(s *sandbox) *processes {
	return &processes{sandbox: s, clock: newRunClock(), records: maxRecords, flows: map[uint32]*running{}}
}

// Start starts a process, and returns when it runs or could not be run.
func (ps *processes) Start(ctx context.Context, request process.Request) (process.Info, error) {
	defer ps.sandbox.beginCall()() // it can wait for a snapshot
	if err := request.Validate(); err != nil {
		return process.Info{}, err
	}
	user, err := userOf(ps.sandbox.launch.Spec.Sandbox, request.User)
	if err != nil {
		return process.Info{}, err
	}
	request.User = user
	if err := ps.sandbox.storing.use(ctx); err != nil { // the stored state must not contain a process that is being started
		return process.Info{}, err
	}
	defer ps.sandbox.storing.leave()
	p, err := ps.add(request)
	if err != nil {
		return process.Info{}, err
	}
	ps.sandbox.audit(audit.ProcessStarted, p.startedEvent())
	if err := p.line.SendMessage(lifeline.TypeProcess, p.message(ps.sandbox)); err != nil {
		return process.Info{}, fault.New(fault.Conflict, "the sandbox has ended")
	}
	select {
	case <-p.started:
		return p.info(), nil
	case <-ctx.Done():
		_ = p.signal(9) // the end of the process or of the sandbox follows
		return process.Info{}, ctx.Err()
	}
}

// add registers a process.
func (ps *processes) add(request process.Request) (*running, error) {
	s := ps.sandbox
	s.mu.Lock()
	line, phase, ending, paused := s.line, s.current.Phase, s.cause != nil, !s.current.Paused.IsZero()
	s.mu.Unlock()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	active := 0
	for _, p := range ps.all {
		if !p.hasEnded() {
			active++
		}
	}
	switch {
	case ps.closed || ending || phase != session.Preparing && phase != session.Running && phase != session.Queued:
		return nil, fault.New(fault.Conflict, "the session is ending")
	case paused:
		return nil, fault.New(fault.Conflict, "the sandbox is paused").Hint("resume it first")
	case line == nil || phase != session.Running:
		return nil, fault.New(fault.Conflict, "its agent does not run yet")
	case active >= lifeline.MaxProcesses:
		return nil, fault.New(fault.Conflict, "%d processes run in its sandbox already, which is the limit", active)
	}
	ps.forget()
	if err := ps.makeRoom(request.Keep); err != nil {
		return nil, err
	}
	ps.last++
	p := newRunning(ps.last, request, line, &ps.clock, s.dir)
	if p.information.Dir == "" {
		p.information.Dir = s.agentFolder
	}
	ps.all = append(ps.all, p)
	ps.flows[p.flow.ID] = p
	ps.pumps.Go(func() { p.pump(ps.ended) })
	return p, nil
}

// forget removes ended processes if there are too many. It removes none that is being read.
// ps.mu is held.
func (ps *processes) forget() {
	ended := 0
	for _, p := range ps.all {
		if p.hasEnded() {
			ended++
		}
	}
	idle := ps.forgettable()
	for _, p := range idle[:min(max(ended-maxEndedProcesses, 0), len(idle))] {
		ps.remove(p)
	}
}

// forgettable returns the ended processes that are not being read, in the order in which they may
// be removed: first those whose end a reader has received, then those that ended without a reader,
// the oldest first. ps.mu is held.
func (ps *processes) forgettable() []*running {
	var received, unread []*running
	for _, p := range ps.all {
		switch {
		case !p.hasEnded() || p.record.Idle().IsZero():
		case p.record.Delivered():
			received = append(received, p)
		default:
			unread = append(unread, p)
		}
	}
	return append(received, unread...)
}

// remove removes an ended process. ps.mu is held.
func (ps *processes) remove(p *running) {
	p.record.Close()
	ps.all = slices.DeleteFunc(ps.all, func(other *running) bool { return other == p })
}

// makeRoom removes ended processes until there is room for another record that keeps so many
// bytes. If there is none even without them, it removes none. ps.mu is held.
func (ps *processes) makeRoom(keep int64) error {
	room := ps.records - keep
	for _, p := range ps.all {
		room -= p.reserved()
	}
	var spare []*running
	for _, p := range ps.forgettable() {
		if room >= 0 {
			break
		}
		spare, room = append(spare, p), room+p.reserved()
	}
	if room < 0 {
		return fault.New(fault.Limit, "the processes of a sandbox may keep %s of output together, which has no room for %s more",
			amount.Bytes(ps.records), amount.Bytes(keep)).Hint("keep less of the output, or end a process that keeps much")
	}
	for _, p := range spare {
		ps.remove(p)
	}
	return nil
}

// ended logs the end of a process.
func (ps *processes) ended(p *running) {
	kind, event := p.endedEvent()
	ps.sandbox.audit(kind, event)
}

// receive handles a frame of the lifeline. It never waits for a process or a reader.
func (ps *processes) receive(frame lifeline.Frame) error {
	switch frame.Type {
	case lifeline.TypeProcessStarted:
		started, err := lifeline.Decode[lifeline.ProcessStarted](frame)
		if p := ps.byFlow(started.ID); err == nil && p != nil {
			p.runs(started.PID)
		}
		return err
	case lifeline.TypeProcessEnding:
		ending, err := lifeline.Decode[lifeline.ProcessEnding](frame)
		if p := ps.byFlow(ending.ID); err == nil && p != nil {
			p.record.Ending()
		}
		return err
	case lifeline.TypeData:
		data, err := lifeline.ParseData(frame.Payload)
		if p := ps.byFlow(data.Flow); err == nil && p != nil {
			p.put(processOutput{stderr: data.Stream == lifeline.StreamStderr, bytes: data.Bytes})
		}
		return err
	case lifeline.TypeProcessExit:
		exit, err := lifeline.Decode[lifeline.ProcessExit](frame)
		if p := ps.byFlow(exit.ID); err == nil && p != nil {
			p.put(processOutput{exit: &process.Exit{Code: exit.Code, Signal: exit.Signal, Cut: exit.Cut, Error: process.CutError(exit.Error)}})
			ps.mu.Lock()
			delete(ps.flows, exit.ID)
			ps.mu.Unlock()
		}
		return err
	default:
		return nil
	}
}

func (ps *processes) byFlow(id uint32) *running {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.flows[id]
}

// close ends all processes, since the sandbox has ended. Their output can be read until
// awaitReaders returns.
func (ps *processes) close() {
	ps.mu.Lock()
	ps.closed = true
	left := make([]*running, 0, len(ps.flows))
	for _, p := range ps.flows {
		left = append(left, p)
	}
	clear(ps.flows)
	ps.mu.Unlock()
	for _, p := range left {
		p.put(processOutput{exit: &process.Exit{Code: 137, Signal: 9, Error: "the session ended"}})
	}
	late := time.AfterFunc(readEndTime, func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		for _, p := range ps.all {
			p.cancel() // its output has no reader
		}
	})
	defer late.Stop()
	ps.pumps.Wait()
}

// awaitReaders waits until the readers have received the ends of their processes, and frees
// the records.
func (ps *processes) awaitReaders() {
	ctx, cancel := context.WithTimeout(context.Background(), readEndTime)
	defer cancel()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		p.record.AwaitReaders(ctx)
		p.record.Close()
	}
}

// find returns a process.
func (ps *processes) find(id int) (*running, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		if p.information.ID == id {
			return p, nil
		}
	}
	return nil, fault.New(fault.Usage, "there is no process %d", id)
}

// Info describes a process.
func (ps *processes) Info(id int) (process.Info, error) {
	p, err := ps.find(id)
	if err != nil {
		return process.Info{}, err
	}
	return p.info(), nil
}

// List returns the processes in the order of their starts.
func (ps *processes) List() []process.Info {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	all := make([]process.Info, len(ps.all))
	for i, p := range ps.all {
		all[i] = p.info().Listed()
	}
	return all
}

// Read returns a reader of a process's frames.
func (ps *processes) Read(id int, from uint64) (*process.Reader, error) {
	p, err := ps.find(id)
	if err != nil {
		return nil, err
	}
	reader, err := p.record.Reader(from)
	if err != nil {
		return nil, fault.New(fault.Usage, "%w", err)
	}
	reader.OnClose(ps.sandbox.beginCall()) // the sandbox is not idle while there is a reader
	return reader, nil
}

// Input sends input to a process until in ends, and then ends its input if end is set. It
// fails when the process ends.
func (ps *processes) Input(ctx context.Context, id int, in io.Reader, end bool) error {
	p, err := ps.find(id)
	if err != nil {
		return err
	}
	defer ps.sandbox.beginCall()()
	return p.input(ctx, in, end)
}

// Done returns a channel that is closed when the process has ended.
func (ps *processes) Done(id int) (<-chan struct{}, error) {
	p, err := ps.find(id)
	if err != nil {
		return nil, err
	}
	return p.work.Done(), nil
}

// Resize sets the size of a process's terminal.
func (ps *processes) Resize(id int, size screen.Size) error {
	p, err := ps.find(id)
	if err != nil {
		return err
	}
	size = size.Bound()
	return p.Resize(uint16(size.Rows), uint16(size.Cols))
}

// Signal sends a signal to a process's group.
func (ps *processes) Signal(id, number int) error {
	p, err := ps.find(id)
	switch {
	case err != nil:
		return err
	case number < 1 || number > 31:
		return fault.New(fault.Usage, "%d is not a signal", number)
	case p.hasEnded():
		return fault.New(fault.Conflict, "process %d has ended", id)
	}
	return p.signal(number)
}

// Terminal returns the terminal of a process.
func (ps *processes) Terminal(id int) (control.Terminal, error) {
	p, err := ps.find(id)
	if err != nil {
		return nil, err
	}
	if p.term == nil {
		return nil, fault.New(fault.Usage, "process %d has no terminal", id)
	}
	return followedTerminal{p.term, &ps.sandbox.activity}, nil
}

// followedTerminal is the terminal of a process. The sandbox is not idle while a client shows it.
type followedTerminal struct {
	*terminal.Terminal
	activity *activity
}

func (t followedTerminal) Serve(conn net.Conn, in control.FrameReader, size screen.Size, colors screen.Colors) {
	defer t.activity.beginCall()()
	t.Terminal.Serve(conn, in, size, colors)
}

var _ terminal.Line = (*running)(nil)
