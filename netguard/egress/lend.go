package egress

// Lend takes bytes from the session's budgets for another proxy, as many as requested or
// left, and returns how many. A direction without a budget lends all requested bytes. The
// budgets of single hosts are unchanged.
func (p *Proxy) Lend(upload, download int64) (uploaded, downloaded int64) {
	return p.budget.lend([2]int64{upload, download})
}

// Return returns bytes that were lent and not used.
func (p *Proxy) Return(upload, download int64) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.lent[up] -= upload
	p.budget.lent[down] -= download
}

func (b *budget) lend(asked [2]int64) (uploaded, downloaded int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, limit := range [2]int64{up: b.limits.Upload, down: b.limits.Download} {
		if limit > 0 {
			asked[d] = min(asked[d], max(0, limit-b.total[d]-b.lent[d]))
		}
		b.lent[d] += asked[d]
	}
	return asked[up], asked[down]
}
