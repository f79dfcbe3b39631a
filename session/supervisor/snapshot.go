package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sync/semaphore"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/process"
	"aibox/session/snapshot"
)

const (
	// freezeTimeout is the time limit for PID 1 to stop the processes of the sandbox, and to read a
	// request.
	freezeTimeout = 10 * time.Second
	// quietTimeout is how long a snapshot waits for requests to PID 1 that have no answer yet. A dial
	// ends before.
	quietTimeout = 20 * time.Second
)

// storing keeps requests to PID 1 out of the stored state of the sandbox. Waits for it end with
// their context, since a hostile PID 1 answers no request. It is safe for concurrent use.
type storing struct{ users *semaphore.Weighted }

func newStoring() *storing { return &storing{semaphore.NewWeighted(math.MaxInt64)} }

// use begins a request, and waits while the state is stored. If it succeeds, the caller must call
// leave at the end.
func (s *storing) use(ctx context.Context) error { return s.users.Acquire(ctx, 1) }

func (s *storing) leave() { s.users.Release(1) }

// begin waits until no request is in progress, and keeps later ones waiting until end.
func (s *storing) begin(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	err := s.users.Acquire(waiting, math.MaxInt64)
	if err != nil && ctx.Err() == nil {
		err = fault.New(fault.Conflict, "the sandbox has not answered other requests within %v", quietTimeout).Hint("try again")
	}
	return err
}

func (s *storing) end() { s.users.Release(math.MaxInt64) }

// snapshots passes PID 1's answer to a freeze to the goroutine that waits for it. The zero
// value drops answers.
type snapshots struct{ frozen chan lifeline.Frozen }

func newSnapshots() snapshots { return snapshots{make(chan lifeline.Frozen, 1)} }

// answered is called for each answer. An answer without a waiting goroutine is dropped.
func (s *snapshots) answered(f lifeline.Frozen) {
	select {
	case s.frozen <- f:
	default:
	}
}

// Snapshot stores the state of the sandbox, which is stopped during this. The sandbox
// continues to run afterwards, even after an error.
func (c sandboxControl) Snapshot(ctx context.Context, data json.RawMessage) error {
	var request snapshot.Request
	if err := json.Unmarshal(data, &request); err != nil {
		return fault.New(fault.Usage, "the request for a snapshot cannot be read: %w", err)
	}
	if err := request.Validate(); err != nil {
		return err
	}
	if err := c.awaitWatch(ctx); err != nil {
		return err
	}
	defer c.beginCall()()
	return c.pauser.snapshot(ctx, request)
}

// snapshot stores the state of the sandbox.
func (p *pauser) snapshot(ctx context.Context, request snapshot.Request) error {
	p.mu.Lock() // prevents a pause and a second snapshot
	defer p.mu.Unlock()
	if _, err := p.check(); err != nil {
		return err
	}
	s := p.session
	if !s.state().Paused.IsZero() {
		return fault.New(fault.Conflict, "the sandbox is paused").Hint("resume it first")
	}
	spec := s.launch.Spec
	if err := snapshot.Storable(&spec); err != nil {
		return err
	}
	container, ok := p.container.(runtime.Checkpointer)
	if !ok {
		return fault.New(fault.Refused, "the runtime of this sandbox cannot store its state")
	}
	docker, err := s.docker()
	if err != nil {
		return err
	}
	manifest, err := s.describe(ctx, docker.Backend, spec, request)
	if err != nil {
		return err
	}
	draft, err := snapshot.NewStore(s.deps.Dirs).Begin(spec.Sandbox.Tenant, request.ID)
	if err != nil {
		return err
	}
	if err := p.store(ctx, container, draft, &manifest); err != nil {
		return errors.Join(err, draft.Discard())
	}
	// From this point on the sandbox runs again.
	if _, err := draft.Check(request.Most); err != nil {
		return errors.Join(err, draft.Discard())
	}
	manifest, err = draft.Commit(ctx, manifest)
	if err != nil {
		return err
	}
	s.audit(audit.SandboxSnapshot, map[string]any{
		"snapshot": manifest.ID, "name": manifest.Name, "bytes": manifest.Bytes, "files": manifest.Files, "processes": len(manifest.Processes),
	})
	return nil
}

// describe returns the parts of the manifest that are known before the sandbox is frozen.
func (s *supervisor) describe(ctx context.Context, backend runtime.Backend, spec session.Spec, request snapshot.Request) (snapshot.Snapshot, error) {
	info, err := backend.Info(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	init, err := s.init()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	facts, err := snapshot.FactsOf(info, init)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	m := snapshot.Snapshot{
		Name: request.Name, Created: time.Now().UTC(), Sandbox: s.id, ImageID: s.launch.ImageID, Facts: facts, Spec: spec,
		Proof: make([]byte, lifeline.ProofSize),
	}
	_, _ = rand.Read(m.Proof) // never fails
	if request.TTL > 0 {
		m.Expires = m.Created.Add(request.TTL)
	}
	if lists := s.state().Lists; lists != nil {
		m.Spec.Allow, m.Spec.Deny = patterns(lists.Allow), patterns(lists.Deny)
	}
	return m, nil
}

// store freezes the sandbox, writes its state, and continues it.
func (p *pauser) store(ctx context.Context, container runtime.Checkpointer, draft *snapshot.Draft, m *snapshot.Snapshot) error {
	s := p.session
	err := s.storing.begin(ctx)
	if err != nil {
		return err
	}
	defer s.storing.end()
	if m.Processes, err = s.processes.storable(); err != nil {
		return err
	}
	p.unwatch() // PID 1 does not answer while the state is written
	defer p.watch()
	if err := p.freeze(ctx, m.Proof); err != nil {
		return err
	}
	err = container.Checkpoint(ctx, draft.State())
	return errors.Join(err, p.thaw())
}

// freeze asks PID 1 to stop all processes. After an error they run. It waits for the answer
// even if ctx ends, so that the answer is not mistaken for the answer to the next freeze.
func (p *pauser) freeze(ctx context.Context, proof []byte) error {
	select {
	case <-p.snapshots.frozen: // the answer to an earlier freeze, which took too long
	default:
	}
	line := p.session.line
	if err := p.send(func() error { return line.SendMessage(lifeline.TypeFreeze, lifeline.Freeze{Proof: proof}) }); err != nil {
		return err
	}
	late := time.NewTimer(p.freezeLimit)
	defer late.Stop()
	var err error
	select {
	case frozen := <-p.snapshots.frozen:
		if frozen.Error == "" {
			if ctx.Err() == nil {
				return nil
			}
			err = ctx.Err()
			break
		}
		return fault.New(fault.Conflict, "the processes of the sandbox could not be stopped: %q", frozen.Error).Hint("try again")
	case <-late.C:
		err = fault.New(fault.Conflict, "the processes of the sandbox could not be stopped within %v", p.freezeLimit).Hint("try again")
	case <-p.watching.Done():
		err = fault.New(fault.Conflict, "the sandbox is ending")
	}
	return errors.Join(err, p.thaw())
}

// thaw asks PID 1 to continue the processes.
func (p *pauser) thaw() error {
	line := p.session.line
	return p.send(func() error { return line.Send(lifeline.Frame{Type: lifeline.TypeThaw}) })
}

// send sends a request to PID 1, which is not watched meanwhile: one that does not read it ends the
// session.
func (p *pauser) send(request func() error) error {
	sent := make(chan error, 1)
	go func() { sent <- request() }()
	late := time.NewTimer(p.freezeLimit)
	defer late.Stop()
	select {
	case err := <-sent:
		if err == nil {
			return nil
		}
	case <-late.C:
		p.session.endUnreachable(lifeline.ErrSilent)
	}
	return fault.New(fault.Conflict, "the sandbox is ending")
}

// storable returns the running processes for a restored sandbox. Processes with a terminal
// or that copy files cannot be stored, because they depend on their client.
func (ps *processes) storable() ([]snapshot.Process, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []snapshot.Process
	for _, p := range ps.all {
		if p.hasEnded() {
			continue
		}
		info, request := p.info(), p.request
		switch {
		case request.TTY:
			return nil, fault.New(fault.Refused, "process %d of the sandbox has an open terminal, which a snapshot cannot hold", info.ID).
				Hint("end it first: aibox sandbox exec shows it, and `exit` ends a shell")
		case request.Copy != nil:
			return nil, fault.New(fault.Conflict, "files are being copied into the sandbox or out of it").Hint("try again")
		}
		request.Env = nil // the process has it, and no record stores it
		request.Timeout = p.timeLeft()
		all = append(all, snapshot.Process{Flow: p.flow.ID, Request: request, Info: info})
	}
	return all, nil
}

// adopt registers the running processes of a restored sandbox, with PID 1's numbers for
// their flows. Their output starts at the snapshot.
func (ps *processes) adopt(line *lifeline.Conn, stored []snapshot.Process, flows map[uint32]*lifeline.Flow) int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	adopted := 0
	for _, one := range stored {
		ps.last = max(ps.last, one.Info.ID)
		flow := flows[one.Flow]
		if flow == nil {
			continue // the process has ended
		}
		request := one.Request
		request.Linger = 0 // its reader is a client of the original sandbox
		p := newRestored(one.Info, request, line, flow, &ps.clock, ps.sandbox.dir)
		ps.all = append(ps.all, p)
		ps.flows[flow.ID] = p
		ps.pumps.Go(func() { p.pump(ps.ended) })
		p.limitTime()
		adopted++
	}
	return adopted
}

// newRestored returns a process that already runs.
func newRestored(info process.Info, request process.Request, line *lifeline.Conn, flow *lifeline.Flow, clock *runClock, dir string) *running {
	p := &running{
		request: request, line: line, flow: flow, clock: clock, started: make(chan struct{}), arrived: make(chan struct{}, 1), ran: true,
		information: process.Info{ID: info.ID, Argv: info.Argv, User: info.User, Dir: info.Dir, PID: info.PID, Started: info.Started},
	}
	p.work, p.cancel = context.WithCancel(context.Background())
	p.record = process.NewRecord(dir, request.Keep, request.Overflow)
	p.once.Do(func() { close(p.started) })
	return p
}

// closeSnapshot releases the snapshot of a start that has failed.
func (s *sandbox) closeSnapshot(context.Context) error {
	if err := s.restored.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("closing the snapshot: %w", err)
	}
	return nil
}
