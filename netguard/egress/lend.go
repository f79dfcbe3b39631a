package egress

import "aibox/netguard"

// Lend takes bytes from the session's budgets for another proxy, as many as requested or
// left, and returns how many. A budget without a limit lends all requested bytes. Bytes per host
// are taken from the budget of each host, because the other proxy can use them at any.
func (p *Proxy) Lend(wanted netguard.Traffic) netguard.Traffic { return p.budget.lend(wanted) }

// Return returns bytes that were lent and not used.
func (p *Proxy) Return(unused netguard.Traffic) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.lent = p.budget.lent.Sub(unused)
}

func (b *budget) lend(wanted netguard.Traffic) netguard.Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := netguard.Traffic{Upload: b.total[up], Download: b.total[down]}
	for _, counters := range b.hosts {
		used.UploadPerHost, used.DownloadPerHost = max(used.UploadPerHost, counters[up]), max(used.DownloadPerHost, counters[down])
	}
	lent := wanted.Min(b.limits.Left(used.Add(b.lent)))
	b.lent = b.lent.Add(lent)
	return lent
}
