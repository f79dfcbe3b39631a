package supervisor

import (
	"sync"
	"time"

	"aibox/audit"
)

// destinations counts the allowed requests of a session by their destinations, so that the
// log names the hosts of requests without their own event. It is safe for concurrent use
// and bounded: beyond maxDestinations, further ones are counted together. The zero value
// has no requests.
type destinations struct {
	mu     sync.Mutex
	known  map[hostPort]*destinationCount
	order  []*destinationCount // the known ones, in the order of their first requests
	others destinationCount
}

type hostPort struct {
	host string
	port int
}

// destinationCount is the count of one destination. partial reports that some of its
// requests have no event in the log.
type destinationCount struct {
	audit.EgressCount
	partial bool
}

// add adds a request or its end. If the log has no event of this request, add calls log the
// first time for each destination.
func (d *destinations) add(more audit.EgressCount, recorded bool, log func(audit.EgressCount)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := d.of(more.Host, more.Port)
	if count == nil {
		if recorded {
			return
		}
		count = &d.others
		count.Others = true
	}
	count.add(more)
	if more.Requests > 0 && !recorded && !count.partial {
		count.partial = true
		log(count.EgressCount)
	}
}

// of returns the count of a destination, or nil if there are too many. The caller holds d.mu.
func (d *destinations) of(host string, port int) *destinationCount {
	key := hostPort{host, port}
	count := d.known[key]
	if count == nil && len(d.known) < maxDestinations {
		if d.known == nil {
			d.known = map[hostPort]*destinationCount{}
		}
		count = &destinationCount{EgressCount: audit.EgressCount{Host: host, Port: port}}
		d.known[key] = count
		d.order = append(d.order, count)
	}
	return count
}

func (c *destinationCount) add(more audit.EgressCount) {
	c.Requests += more.Requests
	c.BytesUp += more.BytesUp
	c.BytesDown += more.BytesDown
	if c.First.IsZero() {
		c.First = more.First.UTC().Round(time.Millisecond)
	}
	c.Last = more.Last.UTC().Round(time.Millisecond)
}

// counts returns the counts of the destinations that have requests without an event in the
// log, in the order of their first requests, followed by the count of all other
// destinations.
func (d *destinations) counts() []audit.EgressCount {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []audit.EgressCount
	for _, count := range append(d.order[:len(d.order):len(d.order)], &d.others) {
		if count.partial {
			all = append(all, count.EgressCount)
		}
	}
	return all
}
