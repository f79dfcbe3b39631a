package netguard

import (
	"net/netip"
	"strings"
)

// Rule is an entry of a list, with its source.
type Rule struct {
	Pattern Pattern
	Source  string // for display: "--allow", "your settings", "preset npm", "Codex's cloud", …
}

// String returns the entry and its source.
func (r *Rule) String() string {
	if r == nil {
		return ""
	}
	return r.Pattern.String() + " (" + r.Source + ")"
}

// Policy defines what one session may reach. The zero value allows nothing. Allow applies
// under Allowlist, and under Public for ports other than 443 and 80. Deny overrides Allow in
// every mode.
type Policy struct {
	Mode  Mode
	Allow []Rule
	Deny  []Rule
	// Inspect are the hosts whose TLS the proxy inspects, if they are allowed. The patterns
	// come from ParseInspect.
	Inspect []Rule
}

// Matcher decides about destinations under one policy. It is immutable and safe for
// concurrent use. The zero value allows nothing.
type Matcher struct {
	mode                 Mode
	allow, deny, inspect index
}

// NewMatcher returns the matcher of a policy. It copies the lists.
func NewMatcher(p Policy) *Matcher {
	return &Matcher{p.Mode, newIndex(p.Allow).owned(), newIndex(p.Deny), newIndex(p.Inspect)}
}

// Mode returns the policy's mode.
func (m *Matcher) Mode() Mode { return m.mode }

// Decide returns whether the policy allows a connection to d. It decides only by name, and
// so before any DNS query; the dialer checks each address of an allowed name as well, with
// CheckAddress. It allocates nothing.
func (m *Matcher) Decide(d Destination) Verdict {
	if d.Host.IsZero() || d.Port == 0 {
		return Verdict{Reason: NoHost}
	}
	if !m.mode.HasProxy() {
		return Verdict{Reason: NoEgress}
	}
	if rule := m.deny.find(d, Pattern.deniesPort); rule != nil {
		return Verdict{Reason: DeniedByRule, Rule: rule}
	}
	if d.Host.addr.IsValid() {
		if reason := CheckAddress(d.Host.addr); reason != 0 {
			return Verdict{Reason: reason}
		}
	}
	if rule := m.allow.find(d, Pattern.allowsPort); rule != nil {
		return Verdict{Allowed: true, Reason: AllowedByRule, Rule: rule}
	}
	if rule := m.allow.narrowing(d); rule != nil {
		return Verdict{Reason: RequestNotListed, Rule: rule}
	}
	beyond := m.allow.beyond(d)
	if m.mode == Public {
		usual := d.Port == portHTTPS || d.Port == portHTTP
		if beyond != nil && (!usual || beyond.Pattern.Restricted()) { // what is restricted must not become free
			return Verdict{Reason: OtherOwner, Rule: beyond}
		}
		if usual {
			return Verdict{Allowed: true, Reason: AllowedByPolicy}
		}
		return Verdict{Reason: PortNotUsual}
	}
	if rule := m.allow.find(d, anyPortMatches); rule != nil {
		return Verdict{Reason: PortNotListed, Rule: rule}
	}
	if beyond != nil {
		return Verdict{Reason: OtherOwner, Rule: beyond}
	}
	return Verdict{Reason: NotListed}
}

// DecideAddress returns whether the proxy may connect to addr, one of the addresses of a
// host that Decide has allowed. The deny list applies to addresses, too.
func (m *Matcher) DecideAddress(addr netip.Addr, port uint16) Verdict {
	if !m.mode.HasProxy() {
		return Verdict{Reason: NoEgress}
	}
	if reason := CheckAddress(addr); reason != 0 {
		return Verdict{Reason: reason}
	}
	if rule := m.deny.find(Destination{Host{addr: addr}, port}, Pattern.deniesPort); rule != nil {
		return Verdict{Reason: DeniedByRule, Rule: rule}
	}
	return Verdict{Allowed: true, Reason: AllowedByPolicy}
}

func anyPortMatches(Pattern, uint16) bool { return true }

// index finds the first rule for a host. The most specific pattern comes first: the host
// itself, then wildcards from the longest domain, then "*".
type index struct {
	exact map[Host][]*Rule
	below map[string][]*Rule // by the domain of a wildcard
	all   []*Rule
	// isOwned reports that a wildcard matches no names of other owners; see Host.ownedBelow.
	isOwned bool
}

func newIndex(rules []Rule) index {
	x := index{exact: map[Host][]*Rule{}, below: map[string][]*Rule{}}
	for _, rule := range rules {
		switch p := rule.Pattern; {
		case p.all:
			x.all = append(x.all, &rule)
		case p.host.IsZero():
		case p.wild:
			x.below[p.host.name] = append(x.below[p.host.name], &rule)
		default:
			x.exact[p.host] = append(x.exact[p.host], &rule)
		}
	}
	return x
}

// owned returns an index of an allow list.
func (x index) owned() index {
	x.isOwned = true
	return x
}

// beyond returns the rule of an allow list whose wildcard would decide about d if all names
// below a domain had one owner.
func (x index) beyond(d Destination) *Rule {
	x.isOwned, x.exact = false, nil
	if rule := x.find(d, Pattern.allowsPort); rule != nil {
		return rule
	}
	return x.narrowing(d)
}

// narrowing returns the rule that allows some requests to d's host on the other usual port
// and so keeps wider rules from deciding about d; nil if there is none.
func (x index) narrowing(d Destination) *Rule {
	for _, rule := range x.level(d, Pattern.allowsPort) {
		if rule.Pattern.narrows(d.Port) {
			return rule
		}
	}
	return nil
}

// find returns the rule that decides about d. One that allows all requests comes before
// one that restricts them.
func (x index) find(d Destination, hasPort func(Pattern, uint16) bool) *Rule {
	var found *Rule
	for _, rule := range x.level(d, hasPort) {
		if !hasPort(rule.Pattern, d.Port) {
			continue
		}
		if !rule.Pattern.Restricted() {
			return rule
		}
		if found == nil {
			found = rule
		}
	}
	return found
}

// level returns the rules of the most specific patterns for d's host, of which at least one
// must have the port or narrow it. Rules for other ports are included.
func (x index) level(d Destination, hasPort func(Pattern, uint16) bool) []*Rule {
	if rules := x.exact[d.Host]; anyHasPort(rules, d.Port, hasPort) {
		return rules
	}
	for domain := d.Host.name; domain != ""; {
		_, domain, _ = strings.Cut(domain, ".")
		if x.isOwned && !d.Host.ownedBelow(domain) {
			break // the domains that follow are shorter
		}
		if rules := x.below[domain]; anyHasPort(rules, d.Port, hasPort) {
			return rules
		}
	}
	if anyHasPort(x.all, d.Port, hasPort) {
		return x.all
	}
	return nil
}

func anyHasPort(rules []*Rule, port uint16, hasPort func(Pattern, uint16) bool) bool {
	for _, rule := range rules {
		if hasPort(rule.Pattern, port) || rule.Pattern.narrows(port) {
			return true
		}
	}
	return false
}
