package egress

import (
	"fmt"
	"net"
	"net/http"
	"sync"

	"aibox/internal/amount"
	"aibox/netguard"
)

// direction is the direction of bytes.
type direction uint8

const (
	up   direction = iota // from the sandbox
	down                  // to the sandbox
)

func (d direction) String() string {
	if d == up {
		return "upload"
	}
	return "download"
}

// budget counts the bytes of a session and of each of its hosts.
type budget struct {
	limits netguard.Traffic

	mu    sync.Mutex
	total [2]int64
	names int64 // the bytes of resolved names in total
	hosts map[netguard.Host]*[2]int64

	lent netguard.Traffic // to proxies of other sandboxes
}

// maxHosts is how many hosts are counted by themselves. The hosts after that share one
// budget, so that a sandbox cannot fill the memory with names.
const maxHosts = 4096

func newBudget(limits netguard.Traffic) *budget {
	return &budget{limits: limits, hosts: map[netguard.Host]*[2]int64{}}
}

// host returns the counters of a host. The caller holds b.mu.
func (b *budget) host(host netguard.Host) *[2]int64 {
	counters, ok := b.hosts[host]
	if !ok && len(b.hosts) >= maxHosts {
		host = netguard.Host{}
		counters, ok = b.hosts[host]
	}
	if !ok {
		counters = new([2]int64)
		b.hosts[host] = counters
	}
	return counters
}

// reserve takes up to n bytes from the budgets of a host and of the session, and returns how
// many it has got: 0 with a refusal if one of them is used up.
func (b *budget) reserve(host netguard.Host, d direction, n int64) (int64, *refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counters := b.host(host)
	left, problem := b.left(host, counters, d)
	if problem != nil {
		return 0, problem
	}
	n = min(n, left)
	counters[d] += n
	b.total[d] += n
	return n, nil
}

// chargeName takes the n bytes of a name that is resolved from the session's budget. They are no bytes of
// a host: names that do not exist would take the places of hosts.
func (b *budget) chargeName(n int64) *refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, problem := b.leftOfSession(up)
	granted := min(n, left)
	b.total[up] += granted
	b.names += granted
	if granted < n {
		_, problem = b.leftOfSession(up)
	}
	return problem
}

// transferred returns the bytes of the session's connections in both directions.
func (b *budget) transferred() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total[up] + b.total[down] - b.names
}

// refund returns bytes that were reserved and not used.
func (b *budget) refund(host netguard.Host, d direction, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host(host)[d] -= n
	b.total[d] -= n
}

// left returns how many bytes may still pass. It is 0 only with a refusal.
func (b *budget) left(host netguard.Host, counters *[2]int64, d direction) (int64, *refusal) {
	left, problem := b.leftOfSession(d)
	if problem != nil {
		return 0, problem
	}
	perHost, lentPerHost := b.limits.UploadPerHost, b.lent.UploadPerHost
	if d == down {
		perHost, lentPerHost = b.limits.DownloadPerHost, b.lent.DownloadPerHost
	}
	if perHost > 0 {
		if left = min(left, perHost-counters[d]-lentPerHost); left <= 0 {
			return 0, usedUp(d.String(), "-host", "the session has used up its %s budget of %s for %s", d, amount.Bytes(perHost), host)
		}
	}
	return left, nil
}

// leftOfSession is left without the budget of a host.
func (b *budget) leftOfSession(d direction) (int64, *refusal) {
	total, lent := b.limits.Upload, b.lent.Upload
	if d == down {
		total, lent = b.limits.Download, b.lent.Download
	}
	left := int64(1) << 62
	if total > 0 {
		if left = min(left, total-b.total[d]-lent); left <= 0 {
			return 0, usedUp(d.String(), "", "the session has used up its %s budget of %s", d, amount.Bytes(total))
		}
	}
	return left, nil
}

// usedUp returns the refusal of a budget. suffix is "-host" for that of one host.
func usedUp(direction, suffix, format string, args ...any) *refusal {
	problem := forbid(direction+"-budget"+suffix, format, args...)
	problem.budget = true
	return problem.withHint("for later sessions, raise the limit with: aibox config set egress-" + direction + suffix + " SIZE")
}

// exhausted returns a refusal if a budget for a host is used up in either direction.
func (b *budget) exhausted(host netguard.Host) *refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	counters, ok := b.hosts[host]
	if !ok {
		counters = new([2]int64)
	}
	if _, problem := b.left(host, counters, up); problem != nil {
		return problem
	}
	_, problem := b.left(host, counters, down)
	return problem
}

// limited returns a refusal because too many things happen at the same time.
func limited(code, format string, args ...any) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: code, reason: fmt.Sprintf(format, args...)}
}

// meteredConn charges the budgets for the bytes of a connection to a host.
type meteredConn struct {
	net.Conn
	host   netguard.Host
	budget *budget
}

// Read charges the bytes that it has read. Bytes beyond the budget do not reach the sandbox.
func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for charged := 0; charged < n; {
		granted, problem := c.budget.reserve(c.host, down, int64(n-charged))
		if problem != nil {
			return charged, problem
		}
		charged += int(granted) // less than the rest only if another connection uses up the budget
	}
	return n, err
}

func (c *meteredConn) Write(p []byte) (int, error) {
	var written int
	for written < len(p) {
		granted, problem := c.budget.reserve(c.host, up, int64(len(p)-written))
		if problem != nil {
			return written, problem
		}
		n, err := c.Conn.Write(p[written : written+int(granted)])
		written += n
		c.budget.refund(c.host, up, granted-int64(n))
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
