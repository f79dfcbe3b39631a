package main

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// flushTime is how long the end of the sandbox waits until the supervisor has taken the
// last output of its processes.
const flushTime = 500 * time.Millisecond

// processes are the processes that the supervisor has started besides the agent. None of
// its methods waits for a process, except end.
type processes struct {
	line      *line
	reaper    *reaper
	launchers *launchers
	send      func(lifeline.Type, any)

	mu    sync.Mutex
	env   []string // of the agent; nil before its start
	hides bool     // there are hidden files
	byID  map[uint32]*process
	last  uint32 // the highest ID of a flow
	ended bool   // the sandbox ends, so no process may start
}

func newProcesses(l *line, r *reaper, send func(lifeline.Type, any)) *processes {
	return &processes{line: l, reaper: r, launchers: &launchers{reaper: r}, send: send, byID: map[uint32]*process{}}
}

// setEnvironment sets the environment to which later processes add their own.
func (ps *processes) setEnvironment(env []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.env = env
}

// setHides records that files of the sandbox are hidden from its user.
func (ps *processes) setHides() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.hides = true
}

// start starts a process in the background.
func (ps *processes) start(request lifeline.Process) error {
	flow := ps.line.current().OpenFlow(request.ID)
	if flow == nil {
		return fmt.Errorf("%w: flow %d is in use", lifeline.ErrProtocol, request.ID)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.last = max(ps.last, request.ID)
	refusal := ""
	switch {
	case ps.ended:
		refusal = "the sandbox ends"
	case len(ps.byID) >= lifeline.MaxProcesses:
		refusal = fmt.Sprintf("%d processes run already", len(ps.byID))
	}
	if refusal != "" {
		flow.Close()
		go ps.send(lifeline.TypeProcessExit, lifeline.ProcessExit{ID: request.ID, Code: 125, Error: refusal})
		return nil
	}
	p := newProcess(flow)
	p.dirAsUser = ps.hides
	ps.byID[request.ID] = p
	go ps.run(p, request, ps.env)
	return nil
}

// run runs a process from its start to its exit.
func (ps *processes) run(p *process, request lifeline.Process, env []string) {
	if env != nil { // starting programs before the agent would delay it
		defer ps.launchers.prepare()
	}
	exit := p.run(ps.reaper, ps.launchers, request, env, func(pid int) {
		ps.send(lifeline.TypeProcessStarted, lifeline.ProcessStarted{ID: request.ID, PID: pid})
		if env != nil {
			time.AfterFunc(launcherPause, ps.launchers.prepare)
		}
	}, func() { ps.send(lifeline.TypeProcessEnding, lifeline.ProcessEnding{ID: request.ID}) })
	ps.mu.Lock()
	delete(ps.byID, request.ID)
	ps.mu.Unlock()
	flow, _ := p.currentFlow()
	flow.Close()
	exit.ID = request.ID
	ps.send(lifeline.TypeProcessExit, exit)
	close(p.done)
}

// find returns a process, or nil if it has ended.
func (ps *processes) find(id uint32) *process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.byID[id]
}

func (ps *processes) data(payload []byte) error {
	data, err := lifeline.ParseData(payload)
	if err != nil {
		return err
	}
	if p := ps.find(data.Flow); p != nil {
		return p.input.add(data.Bytes)
	}
	return nil
}

func (ps *processes) dataEnd(payload []byte) error {
	id, err := lifeline.ParseFlow(payload)
	if err != nil {
		return err
	}
	if p := ps.find(id); p != nil {
		p.input.end()
	}
	return nil
}

func (ps *processes) resize(size lifeline.ProcessResize) error {
	if p := ps.find(size.ID); p != nil {
		p.resize(size.Rows, size.Cols)
	}
	return nil
}

func (ps *processes) signal(s lifeline.ProcessSignal) error {
	if s.Number < 1 || s.Number > 31 {
		return fmt.Errorf("%w: signal %d", lifeline.ErrProtocol, s.Number)
	}
	if p := ps.find(s.ID); p != nil {
		p.signal(unix.Signal(s.Number))
	}
	return nil
}

// end ends all processes, and waits until their exits are sent. It sends SIGTERM and, after
// leftoverGrace, SIGKILL; flushTime later it drops the rest of their output. It reports
// whether there were any.
func (ps *processes) end() bool {
	ps.mu.Lock()
	ps.ended = true
	left := make([]*process, 0, len(ps.byID))
	for _, p := range ps.byID {
		left = append(left, p)
	}
	ps.mu.Unlock()
	ps.launchers.end()
	each := func(do func(*process)) {
		for _, p := range left {
			do(p)
		}
	}
	each((*process).terminate)
	if awaitAll(left, leftoverGrace) {
		return len(left) > 0
	}
	each(func(p *process) { p.signal(unix.SIGKILL) })
	if awaitAll(left, flushTime) {
		return true
	}
	each(func(p *process) { p.cancel() })
	awaitAll(left, killLimit)
	return true
}

// awaitAll waits until all processes have ended, or limit is over.
func awaitAll(left []*process, limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	for _, p := range left {
		select {
		case <-p.done:
		case <-late.C:
			return false
		}
	}
	return true
}
