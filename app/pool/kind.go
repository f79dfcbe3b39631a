package pool

import (
	"math"
	"time"

	"aibox/session"
)

// shelf is the warm sandboxes of one key. Its pool's lock guards it.
type shelf struct {
	launch session.Launch
	size   Size
	facts  string // of the machine, when the launch was kept
	warm   []box  // oldest first

	starting int           // sandboxes that are being started
	took     time.Duration // that starts take, on average
	retry    time.Time     // no start before

	rate      float64 // claims per second at the last one, fading by half in rateHalf
	lastClaim time.Time
}

// box is a sandbox that can be claimed.
type box struct {
	id session.ID
	at time.Time // when it was ready
}

const (
	// rateHalf is the time in which the rate of claims fades by half.
	rateHalf = 30 * time.Second
	// firstTook is how long a start takes before one was measured.
	firstTook = 2 * time.Second
)

// claimed notes a claim.
func (s *shelf) claimed(now time.Time) {
	s.rate = s.rateAt(now) + math.Ln2/rateHalf.Seconds()
	s.lastClaim = now
}

// rateAt returns the rate of claims, which has faded since the last one.
func (s *shelf) rateAt(now time.Time) float64 {
	return s.rate * math.Exp2(-max(0, now.Sub(s.lastClaim).Seconds())/rateHalf.Seconds())
}

// target returns how many sandboxes the shelf should have: twice those that are claimed while
// one is started, within its size.
func (s *shelf) target(now time.Time, idle time.Duration) int {
	took := s.took
	if took == 0 {
		took = firstTook
	}
	wanted := s.size.Min
	if rate := s.rateAt(now); rate > 0 && now.Sub(s.lastClaim) < idle {
		wanted = max(wanted, int(math.Ceil(2*rate*took.Seconds())))
	}
	return min(wanted, s.size.Max)
}

// measured notes how long a start took.
func (s *shelf) measured(took time.Duration) {
	if s.took == 0 {
		s.took = took
		return
	}
	s.took = (3*s.took + took) / 4
}

// surplus takes the sandboxes from the shelf that are too old, or too many: target is how
// many it should have.
func (s *shelf) surplus(now time.Time, target int) []box {
	var out []box
	for len(s.warm) > 0 && (len(s.warm) > target || now.Sub(s.warm[0].at) > maxAge) {
		out = append(out, s.warm[0])
		s.warm = s.warm[1:]
	}
	return out
}
