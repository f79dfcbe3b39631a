package run

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"

	"aibox/internal/fault"
	"aibox/session"
)

// Batch is a request for several sessions, ready to start.
type Batch struct {
	ID    session.BatchID
	Plans []Plan // one for each session, in the order of Request.Members
}

// ResolveBatch resolves a request for several sessions. resolve resolves one; nil means
// Resolve. The task is read once. If one session cannot be started, none is.
func (r *Runner) ResolveBatch(ctx context.Context, request Request, resolve func(*Runner, Request) (Plan, error)) (Batch, error) {
	members, err := request.Members()
	if err != nil {
		return Batch{}, err
	}
	if resolve == nil {
		resolve = (*Runner).Resolve
	}
	one := *r
	if one.ReadTask != nil {
		one.ReadTask = sync.OnceValues(one.ReadTask)
	}
	var batch Batch
	if batch.ID, err = r.Sessions.NewBatch(ctx); err != nil {
		return Batch{}, err
	}
	for _, member := range members {
		member.Batch = batch.ID
		plan, err := resolve(&one, member)
		batch.Plans = append(batch.Plans, plan)
		if err != nil {
			return batch, err
		}
		// The session is in the queue even if the others take long to start.
		batch.Plans[len(batch.Plans)-1].Launch.Detached = true
	}
	return batch, nil
}

// BatchStart is the result of the start of one session of a batch.
type BatchStart struct {
	ID  session.ID // empty if it failed
	Err error
}

// startsAtOnce is the number of concurrent starts in a batch. A start waits for the daemon
// half of its time, but too many concurrent starts run into the timeouts of their
// sandboxes.
func startsAtOnce() int { return 2 * max(2, goruntime.GOMAXPROCS(0)) }

// StartBatch starts all sessions of a batch, a few at a time, and returns when each runs,
// is queued or has failed. Missing images are built first, one after the other; if that
// fails, nothing is started. with.Step is not called. started receives each result at once,
// from several goroutines; it may be nil. When ctx ends, the remaining ones are not
// started.
func (r *Runner) StartBatch(ctx context.Context, batch Batch, with Callbacks, started func(int, BatchStart)) ([]BatchStart, error) {
	if with.Repair != nil {
		with.Repair(ctx)
	} else {
		_, _ = r.Sessions.Repair(ctx) // the list of sessions reports what could not be repaired
	}
	baked := map[string]bool{}
	for i := range batch.Plans {
		spec := batch.Plans[i].Launch.Spec // a copy, because Start finds the image again
		if key := spec.Agent + "\x00" + spec.Image; !baked[key] {
			baked[key] = true
			if _, err := FindImage(ctx, r.User.Agents(), r.Images, &spec, with.Bake); err != nil {
				return nil, err
			}
		}
	}
	results := make([]BatchStart, len(batch.Plans))
	report := func(i int, id session.ID, err error) {
		if err != nil && fault.KindOf(err) == fault.Interrupted { // others may have started
			err = fault.New(fault.Interrupted, "interrupted; it was not started")
		}
		results[i] = BatchStart{id, err}
		if started != nil {
			started(i, results[i])
		}
	}
	places := make(chan struct{}, startsAtOnce())
	var starting sync.WaitGroup
	for i := range batch.Plans {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			report(i, "", ctx.Err())
			continue
		}
		starting.Go(func() {
			defer func() { <-places }()
			id, err := r.Start(ctx, batch.Plans[i], Callbacks{Repair: func(context.Context) {}})
			report(i, id, err)
		})
	}
	starting.Wait()
	return results, nil
}

// Label describes a member of a batch before it has an id: its number, agent and model.
func (b Batch) Label(i int) string {
	spec := &b.Plans[i].Launch.Spec
	label := fmt.Sprintf("%d of %d (%s", i+1, len(b.Plans), spec.Agent)
	if spec.Model != "" {
		label += ", " + spec.Model
	}
	return label + ")"
}
