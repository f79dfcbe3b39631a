package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/shellquote"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
)

// policy is the session's network policy. It can change while the session runs. It is safe
// for concurrent use.
type policy struct {
	session *modelWatch
	// ask asks the user about a destination that the policy refuses, begin is called when the
	// agent starts, and changed after each change. All are nil if the session does not ask.
	ask     func(ctx context.Context, d netguard.Destination, method string, verdict netguard.Verdict) AccessDecision
	begin   func()
	changed func()
	// narrow is called after each change while the agent runs; nil if the agent cannot create
	// sandboxes.
	narrow func()

	changing sync.Mutex // held while the policy changes, so that changes are in order

	mu      sync.Mutex // guards the following fields
	rules   netguard.Policy
	presets []string // presets of the allow list that are not resolved yet
	matcher *netguard.Matcher
	proxy   Proxy // nil until it exists
}

// start sets the policy from the session's settings.
func (p *policy) start() error {
	rules, presets, err := p.session.launch.Spec.Policy()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.rules, p.presets, p.matcher = rules, presets, netguard.NewMatcher(rules)
	p.mu.Unlock()
	return nil
}

// openProxy creates the proxy that enforces the policy.
func (p *policy) openProxy() (Proxy, error) {
	if p.session.deps.Proxy == nil {
		return nil, errors.New("no egress proxy is connected") // in a test, or after a mistake in the wiring
	}
	spec := &p.session.launch.Spec
	access := ProxyAccess{
		Policy: p.current(), Record: p.session.recordEgress, Count: p.session.countEgress, Allow: p.allowCommand,
		Budgets: spec.EgressBudgets(),
	}
	if p.ask != nil {
		access.Ask = p.askOnceRunning
	}
	rules, err := spec.SecretRules()
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		access.Secrets = append(access.Secrets, ProxySecret{rule, secret.New(p.session.launch.Injected[rule.Name])})
	}
	if access.SSHLogins, err = spec.SSHLogins(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	for _, rule := range p.rules.Inspect {
		access.Inspect = append(access.Inspect, rule.Pattern)
	}
	p.mu.Unlock()
	proxy, err := p.session.deps.Proxy(access)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.proxy = proxy
	lists := session.ListsOf(p.rules)
	p.mu.Unlock()
	return proxy, p.session.save(func(st *session.State) { st.Lists = lists })
}

// authority returns the certificate authority of the session; nil if no host is inspected.
func (p *policy) authority() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proxy == nil {
		return nil
	}
	return p.proxy.Authority()
}

// egressBytes returns the number of bytes that passed through the egress proxy.
func (p *policy) egressBytes() int64 {
	p.mu.Lock()
	proxy := p.proxy
	p.mu.Unlock()
	if proxy == nil {
		return 0
	}
	return proxy.Transferred()
}

// hostKeys returns the known host keys of the SSH servers that the allow list names, as
// lines of known_hosts.
func (p *policy) hostKeys() []string {
	p.mu.Lock()
	proxy, matcher := p.proxy, p.matcher
	var servers []netguard.Destination
	for _, rule := range p.rules.Allow {
		host, wildcard := rule.Pattern.Host()
		if d := (netguard.Destination{Host: host, Port: portSSH}); !wildcard && matcher.Decide(d).Allowed {
			servers = append(servers, d)
		}
	}
	p.mu.Unlock()
	if proxy == nil || len(servers) == 0 {
		return nil
	}
	return proxy.HostKeys(servers)
}

const portSSH = 22

// inspectionNotice returns a notice about inspected hosts and secrets that the user must
// see before the agent starts, or "".
func (p *policy) inspectionNotice() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proxy == nil || len(p.rules.Inspect) == 0 {
		return ""
	}
	var hosts []string
	for _, rule := range p.rules.Inspect {
		if host := rule.Pattern.String(); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return "the egress proxy decrypts the traffic to " + strings.Join(hosts, ", ")
}

// askOnceRunning calls ask if the agent runs. The user is not asked about earlier requests
// of the probes and the image's tools.
func (p *policy) askOnceRunning(ctx context.Context, d netguard.Destination, method string, verdict netguard.Verdict) AccessDecision {
	if !p.session.counters.isStarted() {
		return AccessDecision{}
	}
	return p.ask(ctx, d, method, verdict)
}

// allowCommand returns the command that allows, in this session, a request that was refused
// with a verdict; "" if there is none.
func (p *policy) allowCommand(r netguard.Request, v netguard.Verdict) string {
	pattern, err := entryFor(r, v)
	if err != nil {
		return ""
	}
	return shellquote.Join([]string{"aibox", "allow", p.number(), pattern.String()})
}

// errNoEntry reports that no entry of the allow list allows a request.
var errNoEntry = errors.New("no entry can allow it")

// entryFor returns the entry of an allow list that would allow a refused request.
func entryFor(r netguard.Request, v netguard.Verdict) (netguard.Pattern, error) {
	switch {
	case v.Reason == netguard.RequestNotListed:
		return v.Rule.Pattern.ForRequest(r)
	case v.Reason == netguard.DeniedByRule && v.Rule.Source == session.DeniedLater: // it undoes aibox deny
		return v.Rule.Pattern, nil
	case !v.Reason.Askable():
		return netguard.Pattern{}, errNoEntry
	case r.Destination.Port == 443 || r.Destination.Port == 80:
		return netguard.ParseAllow(r.Destination.Host.String())
	default:
		return netguard.ParseAllow(r.Destination.String())
	}
}

// refusedName describes a DNS query that was refused, and suggests a solution: programs
// that use the proxy need no DNS answer, and can reach the hosts that the policy allows.
func (p *policy) refusedName(name, record string) audit.Query {
	q := audit.Query{Name: name, Record: record, Reason: unresolved(record)}
	matcher := p.current()
	if !matcher.Mode().HasProxy() {
		q.Hint = "only sessions with an egress proxy reach hosts: aibox run --allow HOST"
		return q
	}
	q.Hint = "programs reach allowed hosts through the proxy in HTTPS_PROXY"
	if host, err := netguard.ParseHost(name); err == nil {
		r := netguard.Request{Destination: netguard.Destination{Host: host, Port: 443}}
		q.Command = p.allowCommand(r, matcher.Decide(r.Destination))
	}
	return q
}

// noRoute returns why a packet was refused that bypassed the proxy.
func (p *policy) noRoute() string {
	if p.current().Mode().HasProxy() {
		return "the sandbox has no route but the proxy"
	}
	return "the sandbox has no route out"
}

// number returns the session's id for commands: its number, which is unique.
func (p *policy) number() string {
	number, _, _ := strings.Cut(string(p.session.id), "-")
	return number
}

// agentStarts records that further requests of the sandbox come from the agent.
func (p *policy) agentStarts() {
	if p.begin != nil {
		p.begin()
	}
}

// current returns the matcher of the policy at this time.
func (p *policy) current() *netguard.Matcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.matcher == nil {
		return new(netguard.Matcher)
	}
	return p.matcher
}

// decide decides about a destination by the current policy.
func (p *policy) decide(d netguard.Destination) netguard.Verdict { return p.current().Decide(d) }

// approve adds a rule to the allow list, because of the user's answer.
func (p *policy) approve(rule netguard.Rule) error {
	_, err := p.change([]netguard.Rule{rule}, nil, nil, rule.Source)
	return err
}

// ChangePolicy changes the lists at the user's request.
func (s *preparation) ChangePolicy(allow, deny []string, reason string) (any, error) {
	allow, undone := s.policy.undoing(allow)
	allowed, denied, err := parseLists(allow, deny)
	if err != nil {
		return nil, err
	}
	return s.policy.change(allowed, denied, undone, reason)
}

// undoing splits entries that the user allows into those for the allow list, and those that only
// undo `aibox deny` of the same entry: "*" denies every host, but cannot be in an allow list.
func (p *policy) undoing(allow []string) (entries []string, undone []netguard.Rule) {
	p.mu.Lock()
	denied := p.rules.Deny
	p.mu.Unlock()
	for _, entry := range allow {
		_, unusable := preset.ParseAllow(entry)
		pattern, err := netguard.ParseDeny(entry)
		same := func(rule netguard.Rule) bool { return rule.Source == session.DeniedLater && rule.Pattern == pattern }
		if unusable != nil && err == nil && slices.ContainsFunc(denied, same) {
			undone = append(undone, netguard.Rule{Pattern: pattern, Source: session.AllowedLater})
		} else {
			entries = append(entries, entry)
		}
	}
	return entries, undone
}

// parseLists parses entries that were added while the session runs.
func parseLists(allow, deny []string) (allowed, denied []netguard.Rule, err error) {
	if err := session.CheckLists(allow, deny); err != nil {
		return nil, nil, err
	}
	for _, entry := range allow {
		pattern, err := netguard.ParseAllow(entry)
		if err != nil {
			return nil, nil, err
		}
		allowed = append(allowed, netguard.Rule{Pattern: pattern, Source: session.AllowedLater})
	}
	for _, entry := range deny {
		pattern, err := netguard.ParseDeny(entry)
		if err != nil {
			return nil, nil, err
		}
		denied = append(denied, netguard.Rule{Pattern: pattern, Source: session.DeniedLater})
	}
	return allowed, denied, nil
}

// change adds rules to the lists. A rule that was added while the session ran is removed
// when the same entry is added to the other list, or is a denial in undone.
func (p *policy) change(allow, deny, undone []netguard.Rule, reason string) (session.PolicyChanged, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	rules, proxy := p.rules, p.proxy
	p.mu.Unlock()
	if !rules.Mode.HasProxy() {
		return session.PolicyChanged{}, fault.New(fault.Usage, "the network policy %s has no way out of the sandbox, so it has no list of hosts", rules.Mode)
	}
	if proxy == nil {
		return session.PolicyChanged{}, fault.New(fault.Conflict, "the session's network is not ready yet")
	}
	for _, rule := range (netguard.Policy{Allow: allow, Inspect: rules.Inspect}).Uninspected() {
		return session.PolicyChanged{}, p.uninspectedFault(rule.Pattern)
	}
	rules.Allow = addRules(withoutRules(rules.Allow, deny, addedRule), allow)
	rules.Deny = p.addDenials(withoutRules(rules.Deny, slices.Concat(allow, undone), addedRule), deny)
	for _, rule := range allow {
		i := slices.IndexFunc(rules.Deny, func(other netguard.Rule) bool { return other.Pattern.Denies(rule.Pattern) })
		if i >= 0 {
			return session.PolicyChanged{}, p.deniedFault(rule.Pattern, rules.Deny[i])
		}
	}
	// Log it first: nothing may change without a record.
	added, removed := session.ListsOf(netguard.Policy{Allow: allow, Deny: deny}), session.ListsOf(netguard.Policy{Deny: undone})
	event := audit.PolicyChange{Allow: patterns(added.Allow), Deny: patterns(added.Deny), Undone: patterns(removed.Deny), Reason: reason}
	return p.apply(rules, proxy, event)
}

// uninspectedFault refuses an entry that could allow nothing, and would block requests that
// wider entries allow. Which hosts are inspected is fixed when the sandbox starts, because
// its programs must trust the session's authority.
func (p *policy) uninspectedFault(entry netguard.Pattern) error {
	host := entry.WholeHost().String()
	return fault.New(fault.Usage, "%q allows single requests, which the egress proxy sees only if it decrypts the traffic to the host, and this session does not inspect it", entry).
		Hint("%s   # allows the whole host", shellquote.Join([]string{"aibox", "allow", p.number(), host})).
		Hint("%s …   # starts a session that decrypts its traffic", shellquote.Join([]string{"aibox", "run", "--inspect", host, "--allow", entry.String()}))
}

// deniedFault refuses an entry that a deny list keeps from allowing anything.
func (p *policy) deniedFault(entry netguard.Pattern, denial netguard.Rule) error {
	err := fault.New(fault.Usage, "%s is denied by %s, and a deny list overrides every allow list", entry, &denial)
	if denial.Source != session.DeniedLater {
		return err
	}
	return err.Hint("`%s` undoes `aibox deny`", shellquote.Join([]string{"aibox", "allow", p.number(), denial.Pattern.String()}))
}

// apply logs a change and makes rules the policy. p.changing is held. It is no error if the change
// cannot be stored: it is in force, and the next change of the record stores it.
func (p *policy) apply(rules netguard.Policy, proxy Proxy, event audit.PolicyChange) (session.PolicyChanged, error) {
	if id := p.session.audit(audit.PolicyChanged, event); id.Session == "" {
		return session.PolicyChanged{}, errors.New("the change cannot be logged")
	}
	matcher := netguard.NewMatcher(rules)
	p.mu.Lock()
	p.rules, p.matcher = rules, matcher
	p.mu.Unlock()
	changed := session.PolicyChanged{Lists: *session.ListsOf(rules), Closed: proxy.SetPolicy(matcher)}
	if err := p.session.save(func(st *session.State) { st.Lists = &changed.Lists }); err != nil {
		fmt.Fprintln(os.Stderr, "storing the network policy:", err)
	}
	p.session.publishing.trigger()
	if p.changed != nil {
		p.changed()
	}
	p.mu.Lock()
	narrow := p.narrow
	p.mu.Unlock()
	if narrow != nil {
		narrow()
	}
	return changed, nil
}

func patterns(list []session.ListEntry) []string {
	var texts []string
	for _, entry := range list {
		texts = append(texts, entry.Pattern)
	}
	return texts
}

// addedRule reports whether a rule was added while the session ran.
func addedRule(rule netguard.Rule) bool {
	return rule.Source == session.AllowedLater || rule.Source == session.DeniedLater || rule.Source == session.ApprovedLater
}

// withoutRules returns a copy of rules without those that match one of others and that may
// be removed.
func withoutRules(rules, others []netguard.Rule, removable func(netguard.Rule) bool) []netguard.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule netguard.Rule) bool {
		return removable(rule) && containsPattern(others, rule.Pattern)
	})
}

// addRules appends the rules whose patterns list does not have yet.
func addRules(list, rules []netguard.Rule) []netguard.Rule {
	list = slices.Clone(list)
	for _, rule := range rules {
		if !containsPattern(list, rule.Pattern) {
			list = append(list, rule)
		}
	}
	return list
}

// addDenials appends what the user denies to a deny list. In a sandbox, it does so although the list
// already has the same entry: the tenant can replace its own entries, but not those of the user.
func (p *policy) addDenials(list, denials []netguard.Rule) []netguard.Rule {
	if !p.session.launch.Spec.IsSandbox() {
		return addRules(list, denials)
	}
	earlier := deniedLater(list)
	return slices.Concat(list, addRules(earlier, denials)[len(earlier):])
}

// deniedLater returns the rules of a deny list that the user has added while the session ran.
func deniedLater(list []netguard.Rule) []netguard.Rule {
	return slices.DeleteFunc(slices.Clone(list), func(rule netguard.Rule) bool { return rule.Source != session.DeniedLater })
}

func containsPattern(rules []netguard.Rule, pattern netguard.Pattern) bool {
	return slices.ContainsFunc(rules, func(rule netguard.Rule) bool { return rule.Pattern == pattern })
}
