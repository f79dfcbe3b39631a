package pool

import (
	"context"
	"slices"
	"time"

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
		p.renewKeys(ctx)
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

// renewKeys ends the sandboxes of kinds that were filled with other facts, for example
// before a change of Docker's configuration, and gives the kinds their new keys.
func (p *Pool) renewKeys(ctx context.Context) {
	facts, err := p.currentFacts(ctx)
	if err != nil {
		return // the next starts report it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var outdated []warmSandbox
	for key, k := range p.kinds {
		if k.facts == facts {
			continue
		}
		delete(p.kinds, key)
		outdated, k.warm, k.facts = append(outdated, k.warm...), nil, facts
		if key, ok := k.launch.WarmKey(facts); ok {
			p.kinds[key] = k
		}
	}
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
		if wait := k.lastClaim.Add(settle).Sub(now); wait > 0 && 2*len(k.warm) >= target && target > 1 {
			time.AfterFunc(wait, p.trigger)
			continue
		}
		for len(k.warm)+k.starting < target && !now.Before(k.retry) && p.hasRoom() {
			k.starting++
			facts := k.facts
			p.work.Go(func() { p.start(ctx, k, facts) })
		}
	}
	if len(surplus) > 0 {
		p.work.Go(func() { p.end(surplus) })
	}
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

// start starts one sandbox of a kind.
func (p *Pool) start(ctx context.Context, k *kind, facts string) {
	begin := p.now()
	id, err := p.starter.Start(ctx, k.launch)
	p.mu.Lock()
	now := p.now()
	k.starting--
	keep := err == nil && !p.stopped && k.facts == facts
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
