package supervisor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// warmSandbox is a sandbox that waits for a claim. Only the first claim is accepted; there
// is no second one, even if the first fails. It is safe for concurrent use.
type warmSandbox struct {
	claims chan session.Claim // of length 1; the first claim
	open   chan struct{}      // of length 1; taken by the first claim
	result chan error         // of length 1; the result of the claim
}

func newWarmSandbox() warmSandbox {
	w := warmSandbox{make(chan session.Claim, 1), make(chan struct{}, 1), make(chan error, 1)}
	return w
}

// claim claims the sandbox, and returns when it is ready for its tenant.
func (w *warmSandbox) claim(ctx context.Context, claim session.Claim) error {
	select {
	case <-w.open:
	default:
		return fault.New(fault.Conflict, "the sandbox waits for no claim")
	}
	w.claims <- claim
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitClaim waits until a warm sandbox is claimed, probes its network again, and assigns
// it to the tenant of the claim. Until then no program has run in it. It returns an error
// if the sandbox, its pool or this process ends first.
func (s *sandbox) awaitClaim(ctx context.Context, res *resources, container runtime.Sandbox) error {
	init, err := s.init()
	if err != nil {
		return err
	}
	facts, err := session.Facts(ctx, res.docker.Backend, init)
	if err != nil {
		return err
	}
	if err := s.line.PrepareProcess(); err != nil {
		return lineFault(ctx, "preparing the first process", err)
	}
	if err := s.save(func(st *session.State) { st.Phase = session.Warm }); err != nil {
		return err
	}
	s.report.send(session.LaunchMessage{Started: s.id})
	_ = s.report.out.Close()
	releaseMemory()
	s.warm.open <- struct{}{}
	claim, err := s.nextClaim(ctx, container)
	if err != nil {
		return err
	}
	launch, err := claim.Accept(&s.launch, facts)
	if err != nil {
		return err
	}
	launch.Spec.Created = time.Now().UTC()
	return s.becomeClaimed(ctx, res, &launch, func(ctx context.Context) error {
		now, err := session.Facts(ctx, res.docker.Backend, init)
		if err == nil && now != facts {
			err = fault.New(fault.Refused, "Docker, its runtimes or aibox have changed since the sandbox was started")
		}
		return err
	})
}

// becomeClaimed assigns the sandbox to a launch, if its network and, according to check,
// the machine have not changed since its start. It does the other steps while the probes
// wait for addresses that must not answer. The claim is answered after all of them.
func (s *sandbox) becomeClaimed(ctx context.Context, res *resources, launch *session.Launch, check func(context.Context) error) error {
	checked := async(func() (struct{}, error) { return struct{}{}, check(ctx) })
	stored := async(func() (struct{}, error) { return struct{}{}, s.store.WriteSpec(s.id, launch.Spec) })
	results, proofErr := s.prove(ctx, res)
	if results != nil {
		s.audit(audit.ProbesRan, map[string]any{"results": results})
	}
	_, checkErr := checked()
	_, storeErr := stored()
	if err := cmp.Or(proofErr, checkErr, storeErr); err != nil {
		return err
	}
	s.adopt(launch)
	s.wasWarm = true
	spec := launch.Spec.Sandbox
	s.audit(audit.SandboxClaimed, map[string]any{"tenant": spec.Tenant, "template": spec.Template, "name": spec.Name})
	return nil
}

// adopt takes over the values that a claim sets. Clients may read the rest of the launch at
// the same time.
func (s *sandbox) adopt(launch *session.Launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &s.launch.Spec
	s.launch.Env, own.Env, own.Created = launch.Env, launch.Spec.Env, launch.Spec.Created
	own.Timeout, own.IdleTimeout, own.Sandbox = launch.Spec.Timeout, launch.Spec.IdleTimeout, launch.Spec.Sandbox
}

// nextClaim waits for the claim of a warm sandbox.
func (s *sandbox) nextClaim(ctx context.Context, container runtime.Sandbox) (session.Claim, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := make(chan error, 1)
	process, owner := s.state().Sandbox, s.launch.Spec.Sandbox.Warm.Owner
	go func() { dead <- process.AwaitEndOr(ctx) }()
	gone := time.NewTicker(waiterPoll)
	defer gone.Stop()
	for {
		select {
		case claim := <-s.warm.claims:
			return claim, nil
		case <-s.ended:
			return session.Claim{}, fault.New(fault.Interrupted, "the warm sandbox was ended")
		case err := <-dead:
			return session.Claim{}, errors.Join(sandboxFailure(ctx, container), err)
		case <-ctx.Done():
			return session.Claim{}, ctx.Err()
		case <-gone.C:
			if !owner.Alive() {
				return session.Claim{}, fault.New(fault.Interrupted, "the pool of the warm sandbox has ended")
			}
		}
	}
}

// settleTime is the delay of work after the start that is not urgent, because the first
// programs need the processors. It is longer than most of them run.
const settleTime = 2 * time.Second

// settle waits for settleTime or until over is closed, and releases memory that only the
// start needed. It waits only after claims of warm sandboxes, because other starts take
// long anyway.
func (s *supervisor) settle(over <-chan struct{}) {
	if s.wasWarm {
		select {
		case <-time.After(settleTime):
		case <-over:
			return
		}
	}
	releaseMemory()
}
