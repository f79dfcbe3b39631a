package pool

import (
	"math"
	"time"

	"aibox/session"
)

// kind holds the warm sandboxes of one key, which can all be used for its claims. Its
// pool's lock guards it.
type kind struct {
	plan    Plan
	planned time.Time      // when plan was last called
	problem string         // why it could not be planned or be kept; empty if it could
	launch  session.Launch // its last result
	key     string         // of launch; empty if no warm sandbox can be used for it
	size    Size
	warm    []warmSandbox // of that key, oldest first

	starting int           // number of sandboxes that are being started
	took     time.Duration // average time of a start
	retry    time.Time     // time before which no start is attempted

	rate      float64 // claims per second at the last claim; decreases by half in rateHalf
	lastClaim time.Time
}

// warmSandbox is a sandbox that can be claimed.
type warmSandbox struct {
	id session.ID
	at time.Time // when it became ready
}

const (
	// rateHalf is the time in which the rate of claims decreases by half.
	rateHalf = 30 * time.Second
	// firstTook is the assumed time of a start before one was measured.
	firstTook = 2 * time.Second
)

// claimed records a claim.
func (k *kind) claimed(now time.Time) {
	k.rate = k.rateAt(now) + math.Ln2/rateHalf.Seconds()
	k.lastClaim = now
}

// rateAt returns the rate of claims, which has decreased since the last one.
func (k *kind) rateAt(now time.Time) float64 {
	return k.rate * math.Exp2(-max(0, now.Sub(k.lastClaim).Seconds())/rateHalf.Seconds())
}

// target returns the intended number of sandboxes of the kind: twice the number of claims
// during one start, within its size.
func (k *kind) target(now time.Time, idle time.Duration) int {
	took := k.took
	if took == 0 {
		took = firstTook
	}
	wanted := k.size.Min
	if rate := k.rateAt(now); rate > 0 && now.Sub(k.lastClaim) < idle {
		wanted = max(wanted, int(math.Ceil(2*rate*took.Seconds())))
	}
	return min(wanted, k.size.Max)
}

// measured records the time of a start.
func (k *kind) measured(took time.Duration) {
	if k.took == 0 {
		k.took = took
		return
	}
	k.took = (3*k.took + took) / 4
}

// surplus removes and returns the sandboxes of the kind that are too old, or exceed target,
// their intended number.
func (k *kind) surplus(now time.Time, target int) []warmSandbox {
	var out []warmSandbox
	for len(k.warm) > 0 && (len(k.warm) > target || now.Sub(k.warm[0].at) > maxAge) {
		out = append(out, k.warm[0])
		k.warm = k.warm[1:]
	}
	return out
}
