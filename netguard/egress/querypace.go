package egress

import (
	"sync"
	"time"
)

// queryPace delays the answers of the name server, so that a flood of questions takes a small part
// of a processor. What a sandbox asks meanwhile over UDP is lost once the socket is full.
type queryPace struct {
	mu  sync.Mutex
	due time.Time // of the next answer, after the burst
}

const (
	queriesPerSecond = 500
	queryBurst       = 1000 // without a delay
)

// take returns how long to wait before the next answer.
func (p *queryPace) take(now time.Time) time.Duration {
	const each = time.Second / queriesPerSecond
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-queryBurst * each); p.due.Before(earliest) {
		p.due = earliest
	}
	p.due = p.due.Add(each)
	return max(0, p.due.Sub(now))
}

// wait waits until the next answer is due, some milliseconds for each query that waits.
func (p *queryPace) wait() {
	if delay := p.take(time.Now()); delay > 0 {
		time.Sleep(delay)
	}
}
