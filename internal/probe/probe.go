// Package probe describes and runs the checks that prove a sandbox's isolation: which
// targets must answer, and which must not. The supervisor writes the plan, and the
// sandbox's PID 1 runs it. The package decides nothing: the supervisor handles failures.
package probe

import "time"

// Kind is the kind of a probe.
type Kind string

// The kinds of probe.
const (
	TCP     Kind = "tcp"     // connect to Target (host:port)
	HTTP    Kind = "http"    // GET Target (a URL): any HTTP response is an answer; through the proxy Via, any but its own
	CONNECT Kind = "connect" // CONNECT to Target (host:port) through the proxy Via: a 2xx is an answer, a 403 a refusal
	UDP     Kind = "udp"     // send a datagram to Target: any datagram back is an answer
	DNS     Kind = "dns"     // ask the server Via for the address of Target: an address is an answer
	ICMP    Kind = "icmp"    // echo request to Target (an address): a reply is an answer
	Write   Kind = "write"   // open the file Target, or make a file in the folder Target: success is an answer
	Limit   Kind = "limit"   // a program that exceeds the limit Target; never part of a plan
)

// Want is the required result of a probe. The zero value is invalid, so that a plan
// with a forgotten field fails.
type Want string

// The expectations.
const (
	Answers Want = "answers" // there must be an answer in time
	Refused Want = "refused" // it must be refused; silence proves nothing unless Quiet is set
	Limited Want = "limited" // the limit must hold; never part of a plan
)

// Must returns the expectation for display: "must answer".
func (w Want) Must() string {
	if w == Answers {
		return "must answer"
	}
	return "must be " + string(w)
}

// Probe is one check.
type Probe struct {
	Name   string `json:"name"` // name for display: "metadata address"
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`
	Via    string `json:"via,omitempty"` // the proxy or name server, host:port
	Want   Want   `json:"want"`
	// Quiet makes silence count as a refusal. It is for packets that can only be
	// dropped: a slow network looks the same.
	Quiet bool `json:"quiet,omitempty"`
	// Follow is a TCP address, host:port, for ICMP probes with Quiet. It is asked after the
	// ping, on the same way. Once it has refused, an answer to the ping would have arrived, so
	// that silence counts after FollowTimeout.
	Follow string `json:"follow,omitempty"`
	// Timeout is in milliseconds; 0 means DefaultTimeout, or QuietTimeout with
	// Quiet, since every start of a session waits for it.
	Timeout int `json:"timeout,omitempty"`
}

// Plan is a list of at most MaxProbes probes, which run at the same time.
type Plan struct {
	Probes []Probe `json:"probes"`
}

// Result is the result of one probe.
type Result struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`
	Want   Want   `json:"want"`
	OK     bool   `json:"ok"`
	Took   int64  `json:"took"`   // microseconds
	Detail string `json:"detail"` // "connection refused", "answered", …
}

const (
	// DefaultTimeout is how long a probe waits. It is for slow machines: if the guard
	// works, answers and refusals arrive within milliseconds.
	DefaultTimeout = 5 * time.Second
	// QuietTimeout is how long a probe that expects silence waits. That is enough for
	// answers from nearby; a thorough check sets Timeout.
	QuietTimeout = 60 * time.Millisecond
	// FollowTimeout is how long an answer may take longer than a refusal on the same way.
	FollowTimeout = 5 * time.Millisecond
	// MaxProbes bounds a plan.
	MaxProbes = 256
)

// Failed returns the results that differ from what the probes require.
func Failed(results []Result) []Result {
	var failed []Result
	for _, r := range results {
		if !r.OK {
			failed = append(failed, r)
		}
	}
	return failed
}
