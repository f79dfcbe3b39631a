package bakery

import (
	"context"
	"slices"
	"sync"
	"time"

	"aibox/internal/fault"
)

// Queue bakes images side by side for somebody who looks at them: each image once,
// the base before those that stand on it. It is safe for concurrent use. Close must
// be called.
type Queue struct {
	ctx   context.Context //nolint:containedctx // jobs outlive the call that asks for them, and end with the queue
	stop  context.CancelFunc
	open  func(ctx context.Context, anew bool) (*Bakery, error)
	turns chan struct{} // as many as may be at work
	wait  sync.WaitGroup
	now   func() time.Time

	mu       sync.Mutex
	closed   bool
	jobs     []*job
	watchers map[chan struct{}]bool
}

// NewQueue makes a queue with as many images at work at once as width, until ctx
// ends. open makes the bakery for a job; anew is for one that builds even what has
// not changed.
func NewQueue(ctx context.Context, width int, open func(ctx context.Context, anew bool) (*Bakery, error)) *Queue {
	ctx, stop := context.WithCancel(ctx)
	return &Queue{
		ctx: ctx, stop: stop, open: open, turns: make(chan struct{}, max(1, width)), now: time.Now,
		watchers: map[chan struct{}]bool{},
	}
}

// Put has images baked. One that is waiting or at work is not put again; one that is
// over begins anew.
func (q *Queue) Put(anew bool, names ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		q.put(anew, name)
	}
}

// put is Put of one image under the lock. It answers nil when the queue is closed.
func (q *Queue) put(anew bool, name string) *job {
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
	q.tell()
	q.wait.Go(func() {
		defer cancel()
		defer close(j.done)
		err := q.bake(ctx, j, anew)
		q.change(func() { j.end(ctx, err, q.now()) })
	})
	return j
}

// Cancel gives up an image that waits or is at work; others do not matter.
func (q *Queue) Cancel(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.Name == name {
			j.cancel()
		}
	}
}

// Jobs are all that were put, in the order in which they were, as they stand now.
func (q *Queue) Jobs() []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Job, len(q.jobs))
	for i, j := range q.jobs {
		all[i] = j.snapshot()
	}
	return all
}

// Changed answers a channel that gets a value whenever something has changed since the
// last one was taken. It is closed when ctx ends.
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

// Close gives up what is not finished, waits until it has left nothing behind, and
// answers its names.
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

// change changes jobs and tells of it.
func (q *Queue) change(what func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	what()
	q.tell()
}

func (q *Queue) tell() {
	for watcher := range q.watchers {
		select {
		case watcher <- struct{}{}:
		default: // it has not looked since the last one
		}
	}
}

// bake does one job.
func (q *Queue) bake(ctx context.Context, j *job, anew bool) error {
	kitchen, err := q.open(ctx, anew)
	if err != nil {
		return err
	}
	if j.Name != Base {
		if err := q.ground(ctx, kitchen); err != nil {
			return err
		}
	}
	select {
	case q.turns <- struct{}{}:
		defer func() { <-q.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	q.change(func() { j.State, j.Began = Baking, q.now() })
	_, err = kitchen.Bake(ctx, []string{j.Name}, handler(func(e Event) {
		q.change(func() { j.take(e, q.now()) })
	}))
	return err
}

// handler makes a Progress of a function.
type handler func(Event)

func (h handler) Handle(e Event) { h(e) }

// ground waits until the base is there, as a job of its own when it has to be baked:
// two images must not make it beside each other.
func (q *Queue) ground(ctx context.Context, kitchen *Bakery) error {
	below, err := q.baseJob(ctx, kitchen)
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
	return fault.New(fault.Environment, "the base that it stands on was not baked").Hint("aibox bake %s", Base)
}

// baseJob is the job that makes the base, or nil when that is there.
func (q *Queue) baseJob(ctx context.Context, kitchen *Bakery) (*job, error) {
	q.mu.Lock()
	for _, j := range q.jobs {
		if j.Name == Base && !j.State.Over() {
			q.mu.Unlock()
			return j, nil
		}
	}
	q.mu.Unlock()
	status, err := kitchen.Check(ctx, Base)
	if err != nil || status[0].State == Fresh {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	below := q.put(false, Base)
	if below == nil {
		return nil, context.Canceled
	}
	return below, nil
}
