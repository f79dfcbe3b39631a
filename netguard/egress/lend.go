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
	p.budget.addLoan(unused, -1)
}

func (b *budget) lend(wanted netguard.Traffic) netguard.Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	var most [2]int64 // transferred to and from one host
	for _, counters := range b.hosts {
		most[up], most[down] = max(most[up], counters[up]), max(most[down], counters[down])
	}
	within := func(wanted, limit, used int64) int64 {
		if limit == 0 {
			return wanted
		}
		return min(wanted, max(0, limit-used))
	}
	lent := netguard.Traffic{
		Upload:          within(wanted.Upload, b.limits.Upload, b.total[up]+b.lent[up]),
		Download:        within(wanted.Download, b.limits.Download, b.total[down]+b.lent[down]),
		UploadPerHost:   within(wanted.UploadPerHost, b.limits.UploadPerHost, most[up]+b.lentPerHost[up]),
		DownloadPerHost: within(wanted.DownloadPerHost, b.limits.DownloadPerHost, most[down]+b.lentPerHost[down]),
	}
	b.addLoan(lent, 1)
	return lent
}

// addLoan adds bytes to those that are lent; with the factor -1 it removes them. b.mu is held.
func (b *budget) addLoan(t netguard.Traffic, factor int64) {
	b.lent[up] += factor * t.Upload
	b.lent[down] += factor * t.Download
	b.lentPerHost[up] += factor * t.UploadPerHost
	b.lentPerHost[down] += factor * t.DownloadPerHost
}
