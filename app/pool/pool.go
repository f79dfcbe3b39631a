// Package pool keeps warm sandboxes, which are started before they are requested and used
// once. A sandbox is found by a digest of all its properties (session.Launch.WarmKey), and
// its supervisor checks the claim again, so that a claim with another policy, image, limit
// or permission never gets it. For all other requests there is a cold start. The package
// knows no adapter and stores nothing: warm sandboxes end with the process of the pool.
package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"aibox/session"
)

// Starter starts and claims warm sandboxes.
type Starter interface {
	// Start starts a warm sandbox, and returns when it can be claimed.
	Start(ctx context.Context, blueprint session.Launch) (session.ID, error)
	// Claim claims a warm sandbox. It fails if the machine's facts differ from those of the
	// claim. After an error the sandbox may still be claimed, since the answer can be lost.
	Claim(ctx context.Context, id session.ID, claim session.Claim) error
	// Stop ends a sandbox. It is no error if the sandbox no longer exists.
	Stop(ctx context.Context, id session.ID) error
	// Facts describes the machine; see session.Facts.
	Facts(ctx context.Context) (string, error)
	// Memory returns the memory that is available on this machine, in bytes.
	Memory() (int64, error)
}

// Options configure a pool.
type Options struct {
	// Memory bounds the memory of all warm sandboxes, in bytes; 0 means a quarter of the
	// available memory at the start.
	Memory int64
	// Idle is how long a kind without claims keeps more sandboxes than its minimum; 0 means
	// DefaultIdle.
	Idle time.Duration
	// Log receives the problems, a sentence each; it may be nil.
	Log func(text string)
}

const (
	// DefaultIdle is Options.Idle if it is 0.
	DefaultIdle = 5 * time.Minute
	// sandboxMemory is the measured memory of a warm sandbox with its supervisor, in bytes.
	sandboxMemory = 96 << 20
	// reserve is the memory that must stay available on the machine, in bytes.
	reserve = 512 << 20
	// factsAge is how long the facts of the machine, and the plan of a kind, are valid.
	factsAge = 2 * time.Second
	// maxAge is the age at which a warm sandbox is replaced.
	maxAge = time.Hour
	// retryPause is the time after a failed start until the next one.
	retryPause = 5 * time.Second
)

// Pool keeps warm sandboxes. It is safe for concurrent use.
type Pool struct {
	starter Starter
	options Options
	memory  int64 // maximum memory of all warm sandboxes
	now     func() time.Time
	wake    chan struct{} // of length 1
	work    sync.WaitGroup

	mu      sync.Mutex // guards the following fields
	kinds   []*kind
	facts   string
	factsAt time.Time
	stopped bool
	counts  Counts
}

// Counts are the statistics of a pool.
type Counts struct {
	Warm    int // sandboxes that can be claimed now
	Claimed int // claims that received a warm sandbox
	Cold    int // claims of a stored kind without a warm sandbox
	Failed  int // starts and claims that failed
}

// New returns a pool without sandboxes.
func New(starter Starter, options Options) *Pool {
	if options.Idle == 0 {
		options.Idle = DefaultIdle
	}
	if options.Log == nil {
		options.Log = func(string) {}
	}
	memory := options.Memory
	if memory == 0 {
		available, err := starter.Memory()
		if err != nil {
			options.Log("no sandbox is kept warm, since the available memory is unknown: " + err.Error())
		}
		memory = available / 4
	}
	return &Pool{starter: starter, options: options, memory: memory, now: time.Now, wake: make(chan struct{}, 1)}
}

// Plan returns the current launch of a kind: that of a request for such a sandbox.
type Plan func(ctx context.Context) (session.Launch, error)

// Keep makes the pool keep sandboxes for the launch that plan returns. If plan returns another
// one later, as after a change of settings, the pool replaces its sandboxes. Keep returns
// false if no warm sandbox can be used for the launch.
func (p *Pool) Keep(ctx context.Context, plan Plan, size Size) (bool, error) {
	facts, err := p.currentFacts(ctx)
	if err != nil {
		return false, err
	}
	launch, err := plan(ctx)
	if err != nil {
		return false, err
	}
	key, ok := launch.WarmKey(facts)
	if !ok {
		return false, nil
	}
	now := p.now()
	p.mu.Lock()
	p.kinds = append(p.kinds, &kind{plan: plan, launch: launch, key: key, planned: now, size: size, lastClaim: now})
	p.mu.Unlock()
	p.trigger()
	return true, nil
}

// Claim assigns a warm sandbox to the tenant of a launch, and returns its id. ok is false
// if none matches; then the caller starts one.
func (p *Pool) Claim(ctx context.Context, launch session.Launch) (id session.ID, ok bool) {
	facts, err := p.lastFacts(ctx)
	if err != nil {
		p.options.Log("the pool cannot describe this machine: " + err.Error())
		return "", false
	}
	key, ok := launch.WarmKey(facts)
	if !ok {
		return "", false
	}
	for {
		id, ok := p.take(key)
		if !ok {
			return "", false
		}
		err := recordID(ctx, &launch, id)
		if err == nil {
			err = p.starter.Claim(ctx, id, session.Claim{Launch: launch, Facts: facts})
		}
		if err != nil {
			err = errors.Join(err, p.starter.Stop(context.WithoutCancel(ctx), id))
		}
		p.mu.Lock()
		if err == nil {
			p.counts.Claimed++
			p.mu.Unlock()
			return id, true
		}
		p.counts.Failed++
		p.mu.Unlock()
		p.options.Log("a warm sandbox could not be claimed: " + err.Error())
		if ctx.Err() != nil {
			return "", false
		}
	}
}

// recordID reports the sandbox that is about to be claimed.
func recordID(ctx context.Context, launch *session.Launch, id session.ID) error {
	if launch.RecordID == nil {
		return nil
	}
	return launch.RecordID(ctx, id)
}

// take removes the oldest sandbox of a key from the pool. It is never put back.
func (p *Pool) take(key string) (session.ID, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger() // an unknown key can be that of a kind whose settings have changed
	i := slices.IndexFunc(p.kinds, func(k *kind) bool { return k.key == key })
	if i < 0 {
		return "", false
	}
	k := p.kinds[i]
	k.claimed(p.now())
	if len(k.warm) == 0 {
		p.counts.Cold++
		return "", false
	}
	id := k.warm[0].id
	k.warm = k.warm[1:]
	return id, true
}

// Counts returns the statistics of the pool.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := p.counts
	for _, k := range p.kinds {
		counts.Warm += len(k.warm)
	}
	return counts
}

// lastFacts returns the facts that Run read last. If they have changed since, the
// supervisors of the sandboxes refuse the claim.
func (p *Pool) lastFacts(ctx context.Context) (string, error) {
	p.mu.Lock()
	facts := p.facts
	p.mu.Unlock()
	if facts != "" {
		return facts, nil
	}
	return p.currentFacts(ctx)
}

// currentFacts returns the facts of the machine, at most factsAge old.
func (p *Pool) currentFacts(ctx context.Context) (string, error) {
	p.mu.Lock()
	if p.facts != "" && p.now().Sub(p.factsAt) < factsAge {
		defer p.mu.Unlock()
		return p.facts, nil
	}
	p.mu.Unlock()
	facts, err := p.starter.Facts(ctx)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts, p.factsAt = facts, p.now()
	return facts, nil
}

// trigger makes Run check the kinds.
func (p *Pool) trigger() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
