// Package child restricts the sandboxes that a session's agent creates to what the session
// itself may use: its network policy, its limits and its lifetime. It refuses a sandbox if
// it cannot verify that. It knows no protocol and no adapter, and starts nothing itself.
package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"aibox/app/sandbox"
	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/namedlock"
	"aibox/netguard"
	"aibox/session"
)

// Sessions are the use cases that the manager needs; see manager.Manager.
type Sessions interface {
	Load(id session.ID) (session.Session, error)
	SetNetwork(ctx context.Context, id session.ID, lists session.NetworkLists, reason string) error
	StopWithin(ctx context.Context, id session.ID, reason string, grace time.Duration) (session.Session, error)
	Kill(ctx context.Context, id session.ID, reason string) (session.Session, error)
}

// Manager manages the sandboxes of one session. It is safe for concurrent use.
type Manager struct {
	host     session.Host
	sessions Sessions
	open     context.Context //nolint:containedctx // ends with the session; no call's
	shut     context.CancelFunc
	tryPause time.Duration

	narrowing namedlock.Set // by sandbox; held from the read of the session's policy until a sandbox has it

	mu       sync.Mutex // guards the following fields
	closed   bool
	children map[*child]bool
	refused  int
	created  int            // sandboxes that have a record
	work     sync.WaitGroup // starts and goroutines that follow sandboxes; added to only before the end
}

// child is a sandbox that runs or is being started.
type child struct {
	id       session.ID // empty until it has started
	giveBack func(spent session.Share)
}

// New returns the manager of a session's sandboxes.
func New(host session.Host, sessions Sessions) *Manager {
	m := &Manager{host: host, sessions: sessions, tryPause: tryPause, children: map[*child]bool{}}
	m.open, m.shut = context.WithCancel(context.Background())
	return m
}

// Tenant is the owner of the sandboxes.
func (m *Manager) Tenant() session.Tenant { return session.OwnTenant(m.host.Parent().Session) }

// Limit returns a Launch that refuses sandboxes that exceed the session.
func (m *Manager) Limit(launch sandbox.Launch) sandbox.Launch {
	return func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
		id, err := m.start(ctx, l, step, launch)
		if err != nil && ctx.Err() == nil {
			m.recordRefusal(&l, err)
		}
		return id, err
	}
}

// maxRefusals is the maximum number of logged refusals of a session, because the agent
// controls their number.
const maxRefusals = 200

func (m *Manager) recordRefusal(l *session.Launch, err error) {
	m.mu.Lock()
	m.refused++
	log := m.refused <= maxRefusals
	m.mu.Unlock()
	if log {
		event := eventOf(&l.Spec, "")
		event.Reason = fmt.Sprintf("%.1000s", err.Error())
		m.host.Record(audit.SandboxRefused, event)
	}
}

// eventOf describes a sandbox for the session's log.
func eventOf(spec *session.Spec, id session.ID) session.OwnSandbox {
	event := session.OwnSandbox{Sandbox: id, Network: spec.Network, Allow: spec.Allow, Memory: spec.Memory.Bytes(), Processes: spec.Pids}
	if spec.Sandbox != nil {
		event.Template = spec.Sandbox.Template
	}
	return event
}

// start starts a sandbox within the limits of the session.
func (m *Manager) start(ctx context.Context, l session.Launch, step func(session.Step), launch sandbox.Launch) (_ session.ID, err error) {
	c, err := m.admit()
	if err != nil {
		return "", err
	}
	ran := false // programs of the sandbox may have run
	defer func() {
		if err != nil && c.id == "" { // otherwise follow returns the resources at the end
			var spent session.Share
			if ran { // the record, which had the counters, is gone
				spent = wholeShare
			}
			m.leave(c, spent)
		}
		m.work.Done()
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.open, cancel)()
	spec := l.Spec // a copy, because the caller keeps the original
	own := *l.Spec.Sandbox
	spec.Sandbox = &own
	l.Spec = spec
	if err := m.bound(&l); err != nil {
		return "", err
	}
	granted, giveBack, err := m.host.Lend(shareOf(&l.Spec))
	if err != nil {
		return "", err
	}
	c.giveBack = giveBack
	take(&l.Spec, granted)
	parent := m.host.Parent()
	l.Spec.Sandbox.Parent, l.Client = &parent, parent.Supervisor
	record := l.RecordID
	l.RecordID = func(ctx context.Context, id session.ID) error {
		m.mu.Lock()
		m.created++
		m.mu.Unlock()
		m.host.Record(audit.SandboxCreated, eventOf(&l.Spec, id))
		if record == nil {
			return nil
		}
		return record(ctx, id)
	}
	id, err := launch(ctx, l, func(s session.Step) {
		ran = ran || s.RunsPrograms()
		step(s)
	})
	if err != nil {
		return "", err
	}
	if err := m.keep(ctx, c, id); err != nil {
		return "", errors.Join(err, m.end(context.WithoutCancel(ctx), id, "it could not be kept within its session"))
	}
	return id, nil
}

// maxCreated is the maximum number of sandboxes that a session creates, because each leaves a
// record and events in logs after its end.
const maxCreated = 1000

// admit reserves a place for a sandbox.
func (m *Manager) admit() (*child, error) {
	spec := m.host.Spec()
	most := spec.OwnSandboxes()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, errEnding
	case len(m.children) >= most:
		return nil, fault.New(fault.Limit, "the session can have %s of its own at once, and has them", amount.Of(most, "sandbox")).
			Hint("destroy one with destroy_sandbox")
	case m.created >= maxCreated:
		return nil, fault.New(fault.Limit, "the session has created %d sandboxes of its own, the maximum", m.created).
			Hint("use one sandbox for several commands")
	}
	c := new(child)
	m.children[c] = true
	m.work.Add(1)
	return c, nil
}

var errEnding = fault.New(fault.Conflict, "the session is ending")

// leave returns the resources of a sandbox and its place.
func (m *Manager) leave(c *child, spent session.Share) {
	if c.giveBack != nil {
		c.giveBack(spent)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.children, c)
}

// keep follows a sandbox that has started. The session's policy may have changed during the
// start.
func (m *Manager) keep(ctx context.Context, c *child, id session.ID) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return errEnding
	}
	c.id = id
	m.work.Add(1)
	m.mu.Unlock()
	go m.follow(c)
	return m.narrow(ctx, id)
}

// follow waits for the end of a sandbox, and returns its resources. A sandbox that cannot be
// ended keeps them.
func (m *Manager) follow(c *child) {
	defer m.work.Done()
	event := session.OwnSandbox{Sandbox: c.id}
	found, err := m.awaitEnd(c.id)
	reason := "its supervisor has died"
	if err != nil {
		reason = fmt.Sprintf("it cannot be followed: %v", err)
	}
	spent := spentBy(&found)
	if found.State.Phase != session.Ended && !errors.Is(err, fs.ErrNotExist) {
		err = m.patiently(func() error { found, err = m.sessions.Kill(context.Background(), c.id, reason); return err })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			event.Reason = fmt.Sprintf("it cannot be ended: %v", err)
			m.host.Record(audit.SandboxEnded, event)
			return
		}
	}
	if r := found.State.Result; r != nil && r.Fault != nil {
		event.Reason = r.Fault.Message
	}
	m.host.Record(audit.SandboxEnded, event)
	m.leave(c, spent)
}

// wholeShare is what a sandbox has spent whose traffic is unknown: all of it.
var wholeShare = session.Share{Traffic: netguard.Traffic{Upload: math.MaxInt64, Download: math.MaxInt64, UploadPerHost: math.MaxInt64, DownloadPerHost: math.MaxInt64}}

// spentBy returns the traffic of a sandbox whose supervisor has ended. If the supervisor did not
// record all of it, the whole share counts as spent. The record does not say to which hosts it
// went, so it can all have gone to one.
func spentBy(s *session.Session) session.Share {
	if s.State.Phase != session.Ended || s.State.Result == nil {
		return wholeShare
	}
	sent, received := s.State.Result.Egress.Up, s.State.Result.Egress.Down
	return session.Share{Traffic: netguard.Traffic{Upload: sent, Download: received, UploadPerHost: sent, DownloadPerHost: received}}
}

// awaitEnd waits until the supervisor of a sandbox has ended, and returns the last record.
func (m *Manager) awaitEnd(id session.ID) (found session.Session, err error) {
	err = m.patiently(func() error {
		if found, err = m.sessions.Load(id); err != nil {
			return err
		}
		return found.State.Supervisor.AwaitEndOr(context.Background())
	})
	if err != nil {
		return session.Session{}, err
	}
	err = m.patiently(func() error { found, err = m.sessions.Load(id); return err })
	return found, err
}

// A process that has no free descriptor for a moment can neither read a record nor wait for a
// process. That must not end a sandbox that is well.
const (
	tries    = 100
	tryPause = 300 * time.Millisecond
)

// patiently calls do again while it fails, except if the record is gone or the session ends.
func (m *Manager) patiently(do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || errors.Is(err, fs.ErrNotExist) || try == tries {
			return err
		}
		select {
		case <-m.open.Done():
			return err
		case <-time.After(m.tryPause):
		}
	}
}

// endGrace is the time that the programs of a sandbox have to end.
const endGrace = 500 * time.Millisecond

// end ends a sandbox, with force if necessary.
func (m *Manager) end(ctx context.Context, id session.ID, reason string) error {
	if _, err := m.sessions.StopWithin(ctx, id, reason, endGrace); err == nil {
		return nil
	}
	_, err := m.sessions.Kill(context.WithoutCancel(ctx), id, reason)
	return err
}

// running returns the ids of the sandboxes that have started.
func (m *Manager) running() []session.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []session.ID
	for c := range maps.Keys(m.children) {
		if c.id != "" {
			ids = append(ids, c.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// End ends all sandboxes, including those that are being started, and returns when they
// have ended. No more can be created afterwards.
func (m *Manager) End(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.shut()
	ids := m.running()
	errs := make([]error, len(ids))
	var ending sync.WaitGroup
	for i, id := range ids {
		ending.Go(func() { errs[i] = m.end(ctx, id, "its session has ended") })
	}
	ending.Wait()
	done := make(chan struct{})
	go func() { m.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	}
	return errors.Join(errs...)
}
