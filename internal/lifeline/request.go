package lifeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"aibox/internal/probe"
)

// Hello waits for init's first frame and checks the version. Init speaks first.
func (c *Conn) Hello(ctx context.Context) (Hello, error) {
	f, err := c.await(ctx, TypeHello)
	if err != nil {
		return Hello{}, err
	}
	hello, err := Decode[Hello](f)
	if err == nil && hello.Version != Version {
		err = fmt.Errorf("%w: init speaks version %d, not %d", ErrProtocol, hello.Version, Version)
	}
	return hello, err
}

// Probe runs a plan in the sandbox and waits for its results: one for each probe, in
// the plan's order. ended receives each result as it comes, with its place in the
// plan; it may be nil. It is for the time before Start, when nothing else arrives.
func (c *Conn) Probe(ctx context.Context, plan probe.Plan, ended func(place int, result probe.Result)) ([]probe.Result, error) {
	if err := c.request(ctx, TypeProbe, plan); err != nil {
		return nil, err
	}
	results := make([]probe.Result, len(plan.Probes))
	known := make([]bool, len(plan.Probes))
	for range plan.Probes {
		place, result, err := c.probeResult(ctx, plan, known)
		if err != nil {
			return nil, err
		}
		results[place], known[place] = result, true
		if ended != nil {
			ended(place, result)
		}
	}
	return results, nil
}

// probeResult waits for the next result. It must be of a probe of the plan, and of
// one whose result is not known yet.
func (c *Conn) probeResult(ctx context.Context, plan probe.Plan, known []bool) (int, probe.Result, error) {
	f, err := c.await(ctx, TypeProbeResult)
	if err != nil {
		return 0, probe.Result{}, err
	}
	found, err := Decode[ProbeResult](f)
	if err != nil {
		return 0, probe.Result{}, err
	}
	if found.Place < 0 || found.Place >= len(plan.Probes) || known[found.Place] {
		return 0, probe.Result{}, fmt.Errorf("%w: a result for place %d of %d probes", ErrProtocol, found.Place, len(plan.Probes))
	}
	if p := plan.Probes[found.Place]; found.Result.Name != p.Name || found.Result.Target != p.Target {
		return 0, probe.Result{}, fmt.Errorf("%w: result %d is of another probe", ErrProtocol, found.Place)
	}
	return found.Place, found.Result, nil
}

// Start makes init run the agent. TypeStarted follows, or TypeError and
// TypeExit.
func (c *Conn) Start(s Start) error { return c.SendMessage(TypeStart, s) }

// PrepareProcess makes init prepare for a first process, which will follow some time after
// StartIdle. The preparation does not depend on the process.
func (c *Conn) PrepareProcess() error { return c.Send(Frame{Type: TypePrepareProcess}) }

// StartIdle makes init prepare a sandbox without an agent, and waits until processes can be
// started in it. Nothing else arrives before.
func (c *Conn) StartIdle(ctx context.Context, s Start) (Started, error) {
	s.Idle = true
	if err := c.request(ctx, TypeStart, s); err != nil {
		return Started{}, err
	}
	f, err := c.await(ctx, TypeStarted)
	if err != nil {
		return Started{}, err
	}
	return Decode[Started](f)
}

// Resize sets the size of the agent's PTY.
func (c *Conn) Resize(rows, cols uint16) error {
	return c.SendMessage(TypeResize, Resize{Rows: rows, Cols: cols})
}

// Signal sends a signal to the agent's process group.
func (c *Conn) Signal(number int) error { return c.SendMessage(TypeSignal, Signal{Number: number}) }

// Stop ends every process of the sandbox; see Stop.
func (c *Conn) Stop(grace time.Duration) error {
	return c.SendMessage(TypeStop, Stop{Grace: int(grace.Milliseconds())})
}

// request is SendMessage for a request whose answer is awaited. When ctx ends the connection is
// closed, since init may read nothing.
func (c *Conn) request(ctx context.Context, t Type, v any) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	err := c.SendMessage(t, v)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// await receives one frame that must be of type t, or a TypeError, which it
// returns as an error. When ctx ends the connection is closed, since a frame may
// have been read in part.
func (c *Conn) await(ctx context.Context, t Type) (Frame, error) { return c.awaitAny(ctx, t) }

// awaitAny is await for a frame of one of several types.
func (c *Conn) awaitAny(ctx context.Context, types ...Type) (Frame, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	f, err := c.Receive()
	switch {
	case ctx.Err() != nil:
		return Frame{}, ctx.Err()
	case err != nil:
		return Frame{}, err
	case f.Type == TypeError:
		message, err := Decode[Error](f)
		if err != nil {
			return Frame{}, err
		}
		return Frame{}, fmt.Errorf("the sandbox's init: %q", message.Text)
	case !slices.Contains(types, f.Type):
		return Frame{}, fmt.Errorf("%w: frame %#x in place of %#x", ErrProtocol, f.Type, types)
	}
	return f, nil
}
