package audit

import (
	"net"
	"strconv"
	"time"
)

// Egress is the data of EgressAllowed and EgressRefused: one request to the egress proxy.
// All texts are raw.
type Egress struct {
	Host    string `json:"host"` // canonical, or as sent if it has no canonical form
	Port    int    `json:"port"`
	Method  string `json:"method"`            // "CONNECT", or that of a plain HTTP request
	Path    string `json:"path,omitempty"`    // of a request that the proxy can read, without its query
	Address string `json:"address,omitempty"` // the IP address that was dialed or refused
	Rule    string `json:"rule,omitempty"`    // the rule that decided
	Reason  string `json:"reason,omitempty"`  // of a refusal: a clause
	Command string `json:"command,omitempty"` // of a refusal: the command that would allow it, if any
	Hint    string `json:"hint,omitempty"`    // of a refusal: what to do instead, if anything
}

// Target returns the host and port, or only the host if the request names no port.
func (e Egress) Target() string {
	if e.Port == 0 {
		return e.Host
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
}

// EgressEnd is the data of EgressClosed: the end of an allowed request or tunnel.
type EgressEnd struct {
	Allowed   int    `json:"allowed"` // the number of its EgressAllowed event
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Method    string `json:"method"`
	BytesUp   int64  `json:"bytes_up"`   // from the sandbox
	BytesDown int64  `json:"bytes_down"` // to the sandbox
	Millis    int64  `json:"millis"`
	Reason    string `json:"reason,omitempty"` // why the proxy closed it; empty if either end did
}

// EgressCount is the data of EgressCounted: all allowed requests of a session to one
// destination so far, those that the log has one by one too.
type EgressCount struct {
	Host      string    `json:"host,omitempty"` // canonical; empty for Others
	Port      int       `json:"port,omitempty"`
	Requests  int       `json:"requests"`
	BytesUp   int64     `json:"bytes_up"`   // from the sandbox, of requests that have ended
	BytesDown int64     `json:"bytes_down"` // to the sandbox
	First     time.Time `json:"first"`      // when the first request began
	Last      time.Time `json:"last"`       // when the last one began or ended
	// Others reports that these are requests to further destinations, too many to count each.
	// Requests that the log has one by one are not among them.
	Others bool `json:"others,omitempty"`
}

// Target returns the host and port.
func (c EgressCount) Target() string {
	if c.Others {
		return "other hosts"
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
}

// Query is the data of DNSRefused: one question to the name server.
type Query struct {
	Name    string `json:"name"`   // raw
	Record  string `json:"record"` // the record type, such as "A"
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`    // what to do instead
	Command string `json:"command,omitempty"` // that would allow the host to programs that use the proxy, if any
}

// AccessQuestion is the data of AccessAsked: a request of the sandbox that waits for the
// user.
type AccessQuestion struct {
	Request int    `json:"request"` // the number of the question in its session
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Method  string `json:"method"`
}

// AccessAnswer is the data of AccessAnswered.
type AccessAnswer struct {
	Request int    `json:"request"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Answer  string `json:"answer"` // "once", "session", "always", "deny", "none" if there was none in time, or "settled" if the policy has changed
}

// PolicyChange is the data of PolicyChanged: what a running session may reach from now on.
type PolicyChange struct {
	Policy string   `json:"policy,omitempty"` // the new policy, if it changed
	Allow  []string `json:"allow,omitempty"`  // patterns added to the allow list
	Deny   []string `json:"deny,omitempty"`   // patterns added to the deny list
	Undone []string `json:"undone,omitempty"` // patterns removed from the deny list that cannot be in an allow list, such as "*"
	// Replaced are the lists, "allow" and "deny", of which only the entries above are left.
	Replaced []string `json:"replaced,omitempty"`
	Closed   int      `json:"closed,omitempty"` // open connections that were closed
	Reason   string   `json:"reason,omitempty"` // such as the command that asked for it
}
