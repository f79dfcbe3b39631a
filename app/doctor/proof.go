package doctor

import (
	"slices"

	"aibox/internal/probe"
)

// Proof records which addresses a real sandbox could and could not reach.
type Proof struct {
	Kernel  string         `json:"kernel"` // as the sandbox reports it; "" if no agent could be started in it
	Results []probe.Result `json:"results"`
	Failed  int            `json:"failed"` // number of wrong results
}

// NewProof returns the proof with these results.
func NewProof(kernel string, results []probe.Result) *Proof {
	return &Proof{Kernel: kernel, Results: results, Failed: len(probe.Failed(results))}
}

// Probing is a proof in progress: the probes that have started, in that order, and which of
// them have ended. The zero value has no probes.
type Probing struct {
	Results []probe.Result
	ended   []bool
}

// Take records that a probe has started, or that it has ended with this result.
func (p *Probing) Take(result probe.Result, ended bool) {
	i := slices.IndexFunc(p.Results, func(r probe.Result) bool { return r.Name == result.Name })
	if i < 0 {
		p.Results, p.ended = append(p.Results, result), append(p.ended, ended)
		return
	}
	p.Results[i], p.ended[i] = result, ended
}

// Ended reports whether the i-th probe has ended.
func (p *Probing) Ended(i int) bool { return p.ended[i] }

// Over reports whether there were probes and all have ended.
func (p *Probing) Over() bool { return len(p.ended) > 0 && !slices.Contains(p.ended, false) }
