package health

import "aibox/internal/probe"

// Proof is what a real box could reach and what it could not.
type Proof struct {
	Kernel  string         `json:"kernel"` // as the box sees it; the box's own words
	Results []probe.Result `json:"results"`
	Failed  int            `json:"failed"` // how many results came out wrong
}
