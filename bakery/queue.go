package bakery

import (
	"context"
	"slices"
	"sync"
	"time"

	"aibox/internal/fault"
)

// Queue bakes images concurrently and publishes their progress: each image once, the
// base before the images built on it. It is safe for concurrent use. Close must be
// called.
type Queue struct {
	ctx   context.Context //nolint:containedctx // jobs outlive the call that asks for them, and end with the queue
	stop  context.CancelFunc
	open  func(ctx context.Context, rebuild bool) (*Bakery, error)
	slots chan struct{} // one for each job that may run
	base  chan struct{} // held by the job that finds out whether the base has to be baked
	wait  sync.WaitGroup
	now   func() time.Time

	mu       sync.Mutex
	closed   bool
	jobs     []*job
	watchers map[chan struct{}]bool
}

// NewQueue makes a queue that bakes up to width images at once, until ctx ends. open
// opens the bakery of a job; rebuild requests a build even if nothing has changed.
func NewQueue(ctx context.Context, width int, open func(ctx context.Context, rebuild bool) (*Bakery, error)) *Queue {
	ctx, stop := context.WithCancel(ctx)
	return &Queue{
		ctx: ctx, stop: stop, open: open, slots: make(chan struct{}, max(1, width)),
		base: make(chan struct{}, 1), now: time.Now,
		watchers: map[chan struct{}]bool{},
	}
}

// Add queues images. An image that is waiting or baking is not added again; a finished
// one starts over.
func (q *Queue) Add(rebuild bool, names ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		q.add(rebuild, name)
	}
}

// add queues one image; q.mu must be held. It returns nil if the queue is closed.
func (q *Queue) add(rebuild bool, name string) *job {
	if q.closed {
		return nil
	}
	if i := slices.IndexFunc(q.jobs, func(j *job) bool { return j.Name == name }); i >= 0 {
		if !q.jobs[i].State.Over() {
			return q.jobs[i]
		}
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
	ctx, cancel := context.WithCancel(q.ctx)
	j := &job{Job: Job{Name: name}, cancel: cancel, done: make(chan struct{})}
	q.jobs = append(q.jobs, j)
	q.notify()
	q.wait.Go(func() {
		defer cancel()
		defer close(j.done)
		err := q.bake(ctx, j, rebuild)
		q.change(func() { j.end(ctx, err, q.now()) })
	})
	return j
}

// Cancel cancels an image that is waiting or baking; others are left alone.
func (q *Queue) Cancel(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.Name == name {
			j.cancel()
		}
	}
}

// Jobs returns a snapshot of all jobs, in the order they were added.
func (q *Queue) Jobs() []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Job, len(q.jobs))
	for i, j := range q.jobs {
		all[i] = j.snapshot()
	}
	return all
}

// Changed returns a channel that receives a value whenever something has changed since
// the last receive. It is closed when ctx ends.
func (q *Queue) Changed(ctx context.Context) <-chan struct{} {
	watcher := make(chan struct{}, 1)
	q.mu.Lock()
	q.watchers[watcher] = true
	q.mu.Unlock()
	context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.watchers, watcher)
		close(watcher)
	})
	return watcher
}

// Close cancels unfinished jobs, waits for them, and returns their names.
func (q *Queue) Close() []string {
	q.mu.Lock()
	q.closed = true
	var open []string
	for _, j := range q.jobs {
		if !j.State.Over() {
			open = append(open, j.Name)
		}
	}
	q.mu.Unlock()
	q.stop()
	q.wait.Wait()
	return open
}

// change changes jobs and notifies the watchers.
func (q *Queue) change(what func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	what()
	q.notify()
}

func (q *Queue) notify() {
	for watcher := range q.watchers {
		select {
		case watcher <- struct{}{}:
		default: // the last notification has not been received yet
		}
	}
}

// bake runs one job.
func (q *Queue) bake(ctx context.Context, j *job, rebuild bool) error {
	builder, err := q.open(ctx, rebuild)
	if err != nil {
		return err
	}
	if j.Name != Base {
		if err := q.ensureBase(ctx, builder); err != nil {
			return err
		}
	}
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	q.change(func() { j.State, j.Began = Baking, q.now() })
	_, err = builder.Bake(ctx, []string{j.Name}, handler(func(e Event) {
		q.change(func() { j.apply(e, q.now()) })
	}))
	return err
}

// handler makes a Progress of a function.
type handler func(Event)

func (h handler) Handle(e Event) { h(e) }

// ensureBase waits until the base exists, and adds a job for it if it has to be baked:
// two images must not build it at the same time.
func (q *Queue) ensureBase(ctx context.Context, builder *Bakery) error {
	below, err := q.baseJob(ctx, builder)
	if err != nil || below == nil {
		return err
	}
	select {
	case <-below.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if below.State == Done || below.State == Reused {
		return nil
	}
	return fault.New(fault.Environment, "the base image was not baked").Hint("aibox bake %s", Base)
}

// baseJob returns the job that makes the base, or nil if the base is up to date. One job
// asks at a time: an answer from before another one's base was baked would bake it again.
func (q *Queue) baseJob(ctx context.Context, builder *Bakery) (*job, error) {
	select {
	case q.base <- struct{}{}:
		defer func() { <-q.base }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	q.mu.Lock()
	for _, j := range q.jobs {
		if j.Name == Base && !j.State.Over() {
			q.mu.Unlock()
			return j, nil
		}
	}
	q.mu.Unlock()
	status, err := builder.Check(ctx, Base)
	if err != nil || status[0].State == Fresh {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	below := q.add(false, Base)
	if below == nil {
		return nil, context.Canceled
	}
	return below, nil
}
