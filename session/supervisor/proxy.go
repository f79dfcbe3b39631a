package supervisor

import (
	"context"
	"net"
	"strconv"

	"aibox/audit"
	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
)

// Proxy is the egress proxy of one session. It is safe for concurrent use.
type Proxy interface {
	// Serve serves the sandbox on listener until ctx ends. It closes the listener and every
	// connection.
	Serve(ctx context.Context, listener net.Listener) error
	// SetPolicy replaces the policy. It closes the connections that are no longer allowed, and
	// returns their number.
	SetPolicy(policy *netguard.Matcher) (closed int)
	// Authority returns the certificate authority that the programs in the sandbox must trust,
	// as PEM; nil if no host is inspected.
	Authority() []byte
	// Transferred returns the number of bytes that passed to and from hosts.
	Transferred() int64
	// Lend takes at most the requested bytes from the budgets, for the proxy of another
	// sandbox, and returns their number. Return gives back unused bytes.
	Lend(wanted netguard.Traffic) netguard.Traffic
	Return(unused netguard.Traffic)
	// HostKeys returns the user's known host keys of these SSH servers, as lines of
	// known_hosts.
	HostKeys(servers []netguard.Destination) []string
}

// ProxyAccess defines the rights of a session's proxy, and receives its reports. Its
// functions are called from any goroutine.
type ProxyAccess struct {
	Policy *netguard.Matcher
	// Ask asks the user about a destination that the policy refuses with verdict, and waits
	// for the answer; nil means that it does not ask.
	Ask func(ctx context.Context, d netguard.Destination, method string, verdict netguard.Verdict) AccessDecision
	// Record records an event and returns its id, which a refusal shows; it may be empty.
	Record func(ProxyEvent) (id string)
	// Count receives the increase of a destination's count: one request at the beginning of
	// each allowed request, and its bytes at the end. recorded reports that Record returned an
	// id for it.
	Count func(more audit.EgressCount, recorded bool)
	// Allow returns the command with which the user can allow, in this session, a request that
	// was refused with a verdict; "" if there is none.
	Allow func(netguard.Request, netguard.Verdict) string
	// Inspect are the hosts whose TLS is inspected.
	Inspect []netguard.Pattern
	// Secrets are added to requests.
	Secrets []ProxySecret
	// SSHLogins are the logins that the user's ssh-agent may sign.
	SSHLogins []netguard.SSHLogin
	// Budgets limit the bytes that requests send and receive; 0 means no limit.
	Budgets netguard.Traffic
}

// ProxySecret is a secret that the proxy adds to requests. It never enters the sandbox.
type ProxySecret struct {
	Rule  netguard.SecretRule
	Value secret.Value
}

// ProxyEvent is an event of the proxy. Egress is the data of EgressAllowed and
// EgressRefused; End is the data of EgressClosed.
type ProxyEvent struct {
	Type   audit.Type
	Egress audit.Egress
	End    audit.EgressEnd // its Allowed is empty
	// AllowedID is the id that Record returned for the request that has ended.
	AllowedID string
	// Repeated is the number of equal events that were omitted before this one.
	Repeated int
}

// proxyURL returns the URL of the egress proxy, as the sandbox sees it.
func proxyURL() string { return "http://" + proxyAddress() }

func proxyAddress() string {
	return net.JoinHostPort(netguard.Address().String(), strconv.Itoa(netguard.PortProxy))
}

// recordEgress logs an event of the proxy, and counts refusals.
func (s *modelWatch) recordEgress(e ProxyEvent) (id string) {
	s.noteActivity()
	times := 1 + e.Repeated
	defer s.publishing.trigger()
	switch e.Type {
	case audit.EgressAllowed:
		if !s.counters.logEgress() {
			return ""
		}
		return s.audit(e.Type, e.Egress).String()
	case audit.EgressRefused:
		s.counters.addEgressRefused(times)
		refusal := session.Refusal{What: auditlog.AskedEgress, Target: e.Egress.Target(), Reason: e.Egress.Reason, Times: times}
		return s.logRefusal(refusal, e.Type, func() any { return e.Egress }).String()
	case audit.EgressClosed:
		allowed, ok := session.ParseEventID(e.AllowedID)
		if !ok {
			return "" // its beginning is not in the log either
		}
		e.End.Allowed = allowed.Number
		return s.audit(e.Type, e.End).String()
	}
	return ""
}

// countEgress counts an allowed request by its destination. The count is logged at the end,
// and before that the first time for each destination that a request itself is not logged.
func (s *modelWatch) countEgress(more audit.EgressCount, recorded bool) {
	s.counters.addEgress(more)
	s.destinations.add(more, recorded, func(count audit.EgressCount) { s.audit(audit.EgressCounted, count) })
	s.publishing.trigger()
}

// logDestinations logs the final counts of destinations.
func (s *modelWatch) logDestinations() {
	for _, count := range s.destinations.counts() {
		s.audit(audit.EgressCounted, count)
	}
}
