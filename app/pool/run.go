package pool

import (
	"context"
	"slices"
	"time"

	"aibox/session"
)

// checkPause is how often the shelves are looked at when nothing happens.
const checkPause = 5 * time.Second

// stopTimeout is how long the end of the pool waits for one sandbox.
const stopTimeout = 20 * time.Second

// maxStarting is how many sandboxes are started at the same time, so that the requests of
// tenants go before.
const maxStarting = 2

// settle is the time after a claim in which no sandbox is started in its place while half of
// them are left: the first programs of the claimed one need the processors.
const settle = time.Second

// Run keeps the shelves filled until ctx ends, and then ends the sandboxes that nobody has
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
	var left []box
	for _, s := range p.shelves {
		left = append(left, s.warm...)
		s.warm = nil
	}
	p.mu.Unlock()
	p.end(left)
	p.work.Wait()
}

// renewKeys ends the sandboxes of shelves that were filled under other facts, such as before
// a change of Docker's configuration, and gives the shelves their new keys.
func (p *Pool) renewKeys(ctx context.Context) {
	facts, err := p.currentFacts(ctx)
	if err != nil {
		return // the starts report it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var outdated []box
	for key, s := range p.shelves {
		if s.facts == facts {
			continue
		}
		delete(p.shelves, key)
		outdated, s.warm, s.facts = append(outdated, s.warm...), nil, facts
		if key, ok := s.launch.WarmKey(facts); ok {
			p.shelves[key] = s
		}
	}
	if len(outdated) > 0 {
		p.work.Go(func() { p.end(outdated) })
	}
}

// fill starts the sandboxes that are missing, and ends those that are too many.
func (p *Pool) fill(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	var surplus []box
	for _, s := range p.shelves {
		target := s.target(now, p.options.Idle)
		surplus = append(surplus, s.surplus(now, target)...)
		if wait := s.lastClaim.Add(settle).Sub(now); wait > 0 && 2*len(s.warm) >= target && target > 1 {
			time.AfterFunc(wait, p.trigger)
			continue
		}
		for len(s.warm)+s.starting < target && !now.Before(s.retry) && p.hasRoom() {
			s.starting++
			facts := s.facts
			p.work.Go(func() { p.start(ctx, s, facts) })
		}
	}
	if len(surplus) > 0 {
		p.work.Go(func() { p.end(surplus) })
	}
}

// hasRoom reports whether another sandbox can be started. p.mu is held.
func (p *Pool) hasRoom() bool {
	all, starting := 0, 0
	for _, s := range p.shelves {
		all += len(s.warm) + s.starting
		starting += s.starting
	}
	if starting >= maxStarting || int64(all+1)*boxMemory > p.memory {
		return false
	}
	available, err := p.starter.Memory()
	return err == nil && available > reserve+int64(starting+1)*boxMemory
}

// start starts one sandbox for a shelf.
func (p *Pool) start(ctx context.Context, s *shelf, facts string) {
	begin := p.now()
	id, err := p.starter.Start(ctx, s.launch)
	p.mu.Lock()
	now := p.now()
	s.starting--
	keep := err == nil && !p.stopped && s.facts == facts
	switch {
	case keep:
		s.measured(now.Sub(begin))
		s.warm = append(s.warm, box{id, now})
	case err != nil && ctx.Err() == nil:
		p.counts.Failed++
		s.retry = now.Add(retryPause)
	}
	p.mu.Unlock()
	switch {
	case err != nil && ctx.Err() == nil:
		p.options.Log("a warm sandbox could not be started: " + err.Error())
	case err == nil && !keep:
		p.end([]box{{id, now}})
	}
	p.trigger()
}

// end ends sandboxes that are on no shelf any more.
func (p *Pool) end(boxes []box) {
	for _, b := range boxes {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		if err := p.starter.Stop(ctx, b.id); err != nil {
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
	for _, s := range p.shelves {
		for _, b := range s.warm {
			ids = append(ids, b.id)
		}
	}
	slices.Sort(ids)
	return ids
}
