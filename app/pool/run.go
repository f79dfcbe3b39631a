package pool

import (
	"context"
	"slices"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// checkPause is the time between two checks of the kinds when there are no events.
const checkPause = 5 * time.Second

// stopTimeout is how long the end of the pool waits for one sandbox.
const stopTimeout = 20 * time.Second

// maxStarting is the maximum number of concurrent starts, so that requests of tenants are
// not delayed.
const maxStarting = 2

// settle is the time after a claim before a replacement is started, if half of the
// sandboxes are left: the first programs in the claimed one need the processors.
const settle = time.Second

// Run keeps the kinds filled until ctx ends, and then ends the sandboxes that were not
// claimed.
func (p *Pool) Run(ctx context.Context) {
	tick := time.NewTicker(checkPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.renew(ctx)
		p.fill(ctx)
		select {
		case <-p.wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	p.stopped = true
	var left []warmSandbox
	for _, k := range p.kinds {
		left = append(left, k.warm...)
		k.warm = nil
	}
	p.mu.Unlock()
	p.end(left)
	p.work.Wait()
}

// renew plans the kinds again, and ends their sandboxes with an outdated key: from before a
// change of settings, templates, images, or Docker's configuration.
func (p *Pool) renew(ctx context.Context) {
	due := p.due()
	if len(due) == 0 {
		return
	}
	facts, err := p.currentFacts(ctx)
	if err != nil {
		return // the next starts report it
	}
	for _, k := range due {
		launch, err := k.plan(ctx)
		if ctx.Err() != nil {
			return
		}
		p.replan(k, launch, facts, err)
	}
}

// due returns the kinds to plan, and marks them as planned. Planning takes processor time, like
// a start.
func (p *Pool) due() (due []*kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, k := range p.kinds {
		if now.Sub(k.planned) >= factsAge && p.settling(k, now) <= 0 {
			k.planned = now
			due = append(due, k)
		}
	}
	return due
}

// replan gives a kind its new launch. If planning has failed, it keeps the last one, but no sandboxes
// of a template that no longer exists.
func (p *Pool) replan(k *kind, launch session.Launch, facts string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := ""
	if err != nil {
		launch, problem = k.launch, "warm sandboxes cannot be adapted to the current settings: "+err.Error()
	}
	key, ok := launch.WarmKey(facts)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		key, problem = "", "no sandboxes are kept warm for the template "+launch.Spec.Sandbox.Template+": "+err.Error()
	case !ok:
		problem = "no sandboxes are kept warm for the template " + launch.Spec.Sandbox.Template + ": with the current settings they have a model or secrets"
	}
	if problem != "" && problem != k.problem {
		p.options.Log(problem)
	}
	k.launch, k.problem = launch, problem
	if key == k.key {
		return
	}
	outdated := k.warm
	k.key, k.warm = key, nil
	if len(outdated) > 0 {
		p.work.Go(func() { p.end(outdated) })
	}
}

// fill starts missing sandboxes, and ends surplus ones.
func (p *Pool) fill(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	var surplus []warmSandbox
	for _, k := range p.kinds {
		target := k.target(now, p.options.Idle)
		surplus = append(surplus, k.surplus(now, target)...)
		if wait := p.settling(k, now); wait > 0 {
			time.AfterFunc(wait, p.trigger)
			continue
		}
		for k.key != "" && len(k.warm)+k.starting < target && !now.Before(k.retry) && p.hasRoom() {
			k.starting++
			launch, key := k.launch, k.key
			p.work.Go(func() { p.start(ctx, k, launch, key) })
		}
	}
	if len(surplus) > 0 {
		p.work.Go(func() { p.end(surplus) })
	}
}

// settling returns how long the work for a kind waits after its last claim; see settle. p.mu is
// held.
func (p *Pool) settling(k *kind, now time.Time) time.Duration {
	if target := k.target(now, p.options.Idle); target <= 1 || 2*len(k.warm) < target {
		return 0
	}
	return k.lastClaim.Add(settle).Sub(now)
}

// hasRoom reports whether another sandbox can be started. p.mu is held.
func (p *Pool) hasRoom() bool {
	all, starting := 0, 0
	for _, k := range p.kinds {
		all += len(k.warm) + k.starting
		starting += k.starting
	}
	if starting >= maxStarting || int64(all+1)*sandboxMemory > p.memory {
		return false
	}
	available, err := p.starter.Memory()
	return err == nil && available > reserve+int64(starting+1)*sandboxMemory
}

// start starts one sandbox of a kind, and keeps it if the kind's key is still the same.
func (p *Pool) start(ctx context.Context, k *kind, launch session.Launch, key string) {
	begin := p.now()
	id, err := p.starter.Start(ctx, launch)
	p.mu.Lock()
	now := p.now()
	k.starting--
	keep := err == nil && !p.stopped && k.key == key
	switch {
	case keep:
		k.measured(now.Sub(begin))
		k.warm = append(k.warm, warmSandbox{id, now})
	case err != nil && ctx.Err() == nil:
		p.counts.Failed++
		k.retry = now.Add(retryPause)
	}
	p.mu.Unlock()
	switch {
	case err != nil && ctx.Err() == nil:
		p.options.Log("a warm sandbox could not be started: " + err.Error())
	case err == nil && !keep:
		p.end([]warmSandbox{{id, now}})
	}
	p.trigger()
}

// end ends sandboxes that no longer belong to a kind.
func (p *Pool) end(sandboxes []warmSandbox) {
	for _, s := range sandboxes {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		if err := p.starter.Stop(ctx, s.id); err != nil {
			p.options.Log("a warm sandbox could not be ended: " + err.Error())
		}
		cancel()
	}
}

// Warm returns the ids of the sandboxes that can be claimed.
func (p *Pool) Warm() []session.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []session.ID
	for _, k := range p.kinds {
		for _, s := range k.warm {
			ids = append(ids, s.id)
		}
	}
	slices.Sort(ids)
	return ids
}
