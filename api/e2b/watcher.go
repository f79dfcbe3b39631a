package e2b

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/e2b/filesystempb"
	"aibox/session"
)

// keepEnded is how long a watcher that has ended is kept for its client, which polls, unless its place
// is needed.
const keepEnded = 10 * time.Minute

// Limits of watchers, which hold their events until these are fetched.
const (
	maxWatchers          = 1024
	maxWatchersOfTenant  = 256
	maxWatchersOfSandbox = 64
	maxWatcherEvents     = 10_000
	maxWatcherBytes      = 2 << 20 // of these events: their paths can be long
)

// watchers are the watches whose events callers fetch. They end with their sandbox, and
// with the server. It is safe for concurrent use.
type watchers struct {
	ctx  context.Context // of all watches
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu  sync.Mutex
	all map[string]*watcher
}

// watcher is one watch.
type watcher struct {
	tenant  session.Tenant
	sandbox string
	stop    context.CancelFunc

	mu     sync.Mutex
	events []*filesystempb.FilesystemEvent
	bytes  int   // of events
	err    error // why it has ended
	ended  time.Time
}

func newWatchers() *watchers {
	ctx, stop := context.WithCancel(context.Background())
	return &watchers{ctx: ctx, stop: stop, all: map[string]*watcher{}}
}

// close ends all watches, and waits for them.
func (w *watchers) close() {
	w.stop()
	w.wg.Wait()
}

// add registers a watch of a sandbox, and starts it. It returns when the watch sees changes.
func (w *watchers) add(ctx context.Context, watch func(ctx context.Context, started func() error, visit func(*filesystempb.FilesystemEvent) error) error) (id string, err error) {
	own, stop := context.WithCancel(withCaller(w.ctx, callerOf(ctx)))
	added := &watcher{tenant: auth.From(ctx).Tenant, sandbox: callerOf(ctx).sandbox, stop: stop}
	id = rand.Text()
	if err := w.register(id, added); err != nil {
		stop()
		return "", err
	}
	started := make(chan struct{})
	ended := make(chan struct{})
	w.wg.Go(func() {
		defer stop()
		err := watch(own, func() error { close(started); return nil }, added.add)
		added.end(err)
		close(ended)
	})
	select {
	case <-started:
		return id, nil
	case <-ended:
		_ = w.remove(id, added.sandbox)
		if added.err == nil {
			return "", errGone
		}
		return "", added.err
	case <-ctx.Done():
		_ = w.remove(id, added.sandbox)
		return "", ctx.Err()
	}
}

func (w *watchers) register(id string, added *watcher) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, other := range w.all {
		if at := other.endTime(); !at.IsZero() && time.Since(at) > keepEnded {
			delete(w.all, id)
		}
	}
	for _, limit := range []struct {
		most   int
		counts func(*watcher) bool
	}{
		{maxWatchersOfSandbox, func(other *watcher) bool { return other.sandbox == added.sandbox }},
		{maxWatchersOfTenant, func(other *watcher) bool { return other.tenant == added.tenant }},
		{maxWatchers, func(*watcher) bool { return true }},
	} {
		if w.count(limit.counts) >= limit.most && !w.dropEnded(limit.counts) {
			return connect.NewError(connect.CodeResourceExhausted, errors.New("there are too many watchers: remove those that are not needed"))
		}
	}
	w.all[id] = added
	return nil
}

// count returns how many watchers fit. w.mu is held.
func (w *watchers) count(fits func(*watcher) bool) int {
	count := 0
	for _, one := range w.all {
		if fits(one) {
			count++
		}
	}
	return count
}

// dropEnded removes the watcher that ended first of those that fit. It returns false if none has ended.
// w.mu is held.
func (w *watchers) dropEnded(fits func(*watcher) bool) bool {
	var oldest string
	var first time.Time
	for id, one := range w.all {
		if at := one.endTime(); !at.IsZero() && fits(one) && (oldest == "" || at.Before(first)) {
			oldest, first = id, at
		}
	}
	delete(w.all, oldest)
	return oldest != ""
}

// find returns a watcher of a sandbox.
func (w *watchers) find(id, sandbox string) (*watcher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.all[id]
	if !ok || found.sandbox != sandbox {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no such watcher"))
	}
	return found, nil
}

// remove ends a watcher of a sandbox.
func (w *watchers) remove(id, sandbox string) error {
	found, err := w.find(id, sandbox)
	if err != nil {
		return err
	}
	found.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, id)
	return nil
}

// add adds an event.
func (w *watcher) add(event *filesystempb.FilesystemEvent) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes += proto.Size(event); len(w.events) == maxWatcherEvents || w.bytes > maxWatcherBytes {
		return connect.NewError(connect.CodeDataLoss, errors.New("the watcher's events were not fetched in time: list the directory, and create another watcher"))
	}
	w.events = append(w.events, event)
	return nil
}

// endTime returns when the watcher ended; zero while it runs.
func (w *watcher) endTime() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

func (w *watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.ended = err, time.Now()
	if err == nil {
		w.err = connect.NewError(connect.CodeNotFound, errors.New("the watched directory is gone"))
	}
}

// take returns the events since the last call. If the watcher has ended and no event is
// left, it returns the reason.
func (w *watcher) take() ([]*filesystempb.FilesystemEvent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	w.events, w.bytes = nil, 0
	if len(events) == 0 {
		return nil, w.err
	}
	return events, nil
}

// CreateWatcher starts a watch whose events GetWatcherEvents returns.
func (f *filesystem) CreateWatcher(ctx context.Context, r *connect.Request[filesystempb.CreateWatcherRequest]) (*connect.Response[filesystempb.CreateWatcherResponse], error) {
	o := watchOptions{path: r.Msg.Path, recursive: r.Msg.Recursive, entries: r.Msg.IncludeEntry}
	id, err := f.watches.add(ctx, func(ctx context.Context, started func() error, visit func(*filesystempb.FilesystemEvent) error) error {
		return f.watch(ctx, o, started, visit)
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystempb.CreateWatcherResponse{WatcherId: id}), nil
}

// checkCaller refuses callers whose token is no longer valid, for calls that make no other call of
// aibox's API.
func (f *filesystem) checkCaller(ctx context.Context) error {
	_, err := f.api.sandboxes.Get(ctx, connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: callerOf(ctx).sandbox}))
	if err != nil {
		return f.api.insideError(ctx, err)
	}
	return nil
}

// GetWatcherEvents returns the events of a watcher since the last call.
func (f *filesystem) GetWatcherEvents(ctx context.Context, r *connect.Request[filesystempb.GetWatcherEventsRequest]) (*connect.Response[filesystempb.GetWatcherEventsResponse], error) {
	if err := f.checkCaller(ctx); err != nil {
		return nil, err
	}
	found, err := f.watches.find(r.Msg.WatcherId, callerOf(ctx).sandbox)
	if err != nil {
		return nil, err
	}
	events, err := found.take()
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystempb.GetWatcherEventsResponse{Events: events}), nil
}

// RemoveWatcher ends a watcher.
func (f *filesystem) RemoveWatcher(ctx context.Context, r *connect.Request[filesystempb.RemoveWatcherRequest]) (*connect.Response[filesystempb.RemoveWatcherResponse], error) {
	if err := f.checkCaller(ctx); err != nil {
		return nil, err
	}
	if err := f.watches.remove(r.Msg.WatcherId, callerOf(ctx).sandbox); err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystempb.RemoveWatcherResponse{}), nil
}
