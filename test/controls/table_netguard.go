package main

import (
	"slices"
	"strings"
)

// addresses are the controls of netguard/address.go.
func addresses() []control {
	const file, test = "netguard/address.go", "TestCheckAddressAllowsPublicAddressesOnly"
	controls := []control{
		{name: "only IPv6 addresses of the public range", file: file, text: "	return ReservedAddress\n}\n\n// ParseOwn", off: "	return 0\n}\n\n// ParseOwn", tests: test},
		{name: "own addresses have no zone", file: file, text: `err != nil || addr.Zone() != "" || prefix`, off: `err != nil || prefix`, tests: "TestOwnAddressesAreAddressesOrPrefixes"},
		{name: "own addresses are not mapped", file: file, text: ` || prefix.Addr().Is4In6()`, off: ``, tests: "TestOwnAddressesAreAddressesOrPrefixes"},
	}
	for _, special := range []string{
		"169.254.169.254/32 Metadata", "169.254.170.2/32 Metadata", "100.100.100.200/32 Metadata", "168.63.129.16/32 Metadata",
		"192.0.0.192/32 Metadata", "fd00:ec2::/32 Metadata", "fd20:ce::254/128 Metadata", "127.0.0.0/8 Loopback", "::1/128 Loopback",
		"0.0.0.0/8 Reserved", "10.0.0.0/8 Private", "172.16.0.0/12 Private", "192.168.0.0/16 Private", "fc00::/7 Private",
		"fec0::/10 Private", "100.64.0.0/10 Shared", "169.254.0.0/16 LinkLocal", "fe80::/10 LinkLocal", "224.0.0.0/4 Multicast",
		"ff00::/8 Multicast", "192.0.0.0/24 Reserved", "192.0.2.0/24 Reserved", "198.51.100.0/24 Reserved", "203.0.113.0/24 Reserved",
		"192.88.99.0/24 Embedded", "198.18.0.0/15 Reserved", "240.0.0.0/4 Reserved", "::ffff:0:0/96 Embedded", "::/96 Embedded",
		"64:ff9b::/96 Embedded", "64:ff9b:1::/48 Embedded", "2002::/16 Embedded", "2001::/32 Embedded", "2001::/23 Reserved",
		"2001:db8::/32 Reserved", "3fff::/20 Reserved",
	} {
		prefix, reason, _ := strings.Cut(special, " ")
		controls = append(controls, control{
			name: "no address of " + prefix, file: file, text: `{netip.MustParsePrefix("` + prefix + `"), ` + reason + `Address},`, tests: test,
		})
	}
	return controls
}

// names are the controls about host names and entries of lists.
func names() []control {
	const host, spelling, tricky = "netguard/host.go", "TestParseHostGivesOneFormToEverySpelling", "TestParseHostRefusesHostsThatProgramsReadDifferently"
	const pattern, wide = "netguard/pattern.go", "TestAnEntryThatIsTooWideIsRefused"
	return slices.Concat([]control{
		{name: "brackets are for IPv6 only", file: host, text: `!ok || err != nil || !addr.Is6()`, off: `!ok || err != nil`, tests: tricky},
		{name: "brackets are closed", file: host, text: `!ok || err != nil || !addr.Is6()`, off: `err != nil || !addr.Is6()`, tests: tricky},
		{name: "no name that reads as a number", file: host, text: `if looksNumeric(name) {`, off: `if false {`, tests: tricky},
		{name: "no name that reads as a hexadecimal number", file: host, text: `return hex == "" || err == nil || errors.Is(err, strconv.ErrRange)`, off: `return hex == "never" && errors.Is(err, strconv.ErrRange)`, tests: tricky},
		{name: "no name that reads as a hexadecimal number out of range", file: host, text: ` || errors.Is(err, strconv.ErrRange)`, off: ` || hex == "never" && errors.Is(err, nil)`, tests: tricky},
		{name: "a bare 0x is a number", file: host, text: `hex == "" || err == nil`, off: `err == nil`, tests: tricky},
		{name: "no host with a zone", file: host, text: `if addr.Zone() != "" {`, off: `if false {`, tests: tricky},
		{name: "the final dot is dropped", file: host, text: `text = strings.TrimSuffix(text, ".")`, off: ``, tests: spelling},
		{name: "names are mapped as browsers do", file: host, text: `if !isCanonical(text) {`, off: `if false {`, tests: spelling},
		{name: "names are at most 253 characters", file: host, text: `case len(name) > maxName:`, off: `case false:`, tests: tricky},
		{name: "no empty label", file: host, text: `case label == "":`, off: "case label == \"\":\n\t\t\tcontinue", tests: tricky},
		{name: "labels are at most 63 characters", file: host, text: `case len(label) > maxLabel:`, off: `case len(label) > maxName:`, tests: tricky},
		{name: "no label begins or ends with a hyphen", file: host, text: `case label[0] == '-' || label[len(label)-1] == '-':`, off: `case false:`, tests: tricky},
		{name: "names have no other character", file: host, text: `if !isNameByte(label[i]) {`, off: `if !isNameByte(label[i]) && label == "" {`, tests: tricky},
		{name: "Punycode is checked", file: host, text: `return !strings.Contains(text, "xn--")`, off: `return true`, tests: tricky},
		{name: "no port with a leading zero", file: host, text: ` || text[0] == '0'`, off: ``, tests: "TestParseDestination"},
	}, []control{
		{name: "an allow list has no *", file: pattern, text: `	if p.all {`, off: `	if false {`, tests: wide},
		{name: "an allow list has no address that is never allowed", file: pattern, text: `reason != 0 {`, off: `reason == 255 {`, tests: wide},
		{name: "no wildcard above names of many owners", file: pattern, text: `if p.wild && !nameHost(`, off: `if false && !nameHost(`, tests: wide},
		{name: "no public suffix as a host", file: pattern, text: `	if icann {`, off: `	if false && icann {`, tests: wide},
		{name: "no wildcard below an address", file: pattern, text: `ok && wild {`, off: `ok && false {`, tests: wide},
	})
}

// policies are the controls about destinations.
func policies() []control {
	const policy, decide, within = "netguard/policy.go", "TestDecide", "TestAPolicyWithinAnotherAllowsNothingThatOneOfThemRefuses"
	return []control{
		{name: "no decision without a host", file: policy, text: `if d.Host.IsZero() || d.Port == 0 {`, off: `if false {`, tests: "TestDecide TestZeroValuesAllowNothing"},
		{name: "no destination without a proxy", file: policy, text: "		return Verdict{Reason: NoHost}\n	}\n	if !m.mode.HasProxy() {", off: "		return Verdict{Reason: NoHost}\n	}\n	if false {", tests: decide},
		{name: "the deny list is above the allow list", file: policy, text: "	if rule := m.deny.find(d, Pattern.deniesPort); rule != nil {", off: "	if rule := m.deny.find(d, Pattern.deniesPort); false {", tests: decide},
		{name: "no address that is never allowed", file: policy, text: `reason := CheckAddress(d.Host.addr); reason != 0 {`, off: `reason := CheckAddress(d.Host.addr); false {`, tests: decide},
		{name: "public hosts only on the usual ports", file: policy, text: `		if usual {`, off: `		if true {`, tests: decide},
		{name: "what is restricted for one owner stays restricted for others", file: policy, text: `if beyond != nil && (!usual || beyond.Pattern.Restricted()) {`, off: `if beyond != nil && !usual {`, tests: "TestAnAllowedWildcardEndsWhereNamesOfOtherOwnersBegin TestARestrictedHostIsRestrictedInEveryForm"},
		{name: "what is restricted on one usual port is not open on the other", file: policy, text: `rule := m.allow.narrowing(d); rule != nil {`, off: `rule := m.allow.narrowing(d); false {`, tests: "TestAHostThatIsRestrictedOnOneUsualPortIsNotOpenOnTheOther"},
		{name: "what is restricted on one usual port for one owner is not open on the other for others", file: policy, text: "	return x.narrowing(d)", off: "	return nil", tests: "TestAHostThatIsRestrictedOnOneUsualPortIsNotOpenOnTheOther"},
		{name: "a wider entry does not decide about the other usual port", file: policy, text: ` || rule.Pattern.narrows(port)`, off: ``, tests: "TestAHostThatIsRestrictedOnOneUsualPortIsNotOpenOnTheOther"},
		{name: "a wildcard ends at names of other owners", file: policy, text: `if x.isOwned && !d.Host.ownedBelow(domain) {`, off: `if false {`, tests: "TestAnAllowedWildcardEndsWhereNamesOfOtherOwnersBegin"},
		{name: "no resolved address without a proxy", file: policy, text: "func (m *Matcher) DecideAddress(addr netip.Addr, port uint16) Verdict {\n	if !m.mode.HasProxy() {", off: "func (m *Matcher) DecideAddress(addr netip.Addr, port uint16) Verdict {\n	if false {", tests: "TestTheDenyListHoldsForResolvedAddresses TestZeroValuesAllowNothing"},
		{name: "no resolved address that is never allowed", file: policy, text: `reason := CheckAddress(addr); reason != 0 {`, off: `reason := CheckAddress(addr); false {`, tests: "TestTheDenyListHoldsForResolvedAddresses TestZeroValuesAllowNothing"},
		{name: "the deny list holds for resolved addresses", file: policy, text: `Pattern.deniesPort); rule != nil {
		return Verdict{Reason: DeniedByRule, Rule: rule}
	}
	return Verdict{Allowed: true, Reason: AllowedByPolicy}`, off: `Pattern.deniesPort); false {
		return Verdict{Reason: DeniedByRule, Rule: rule}
	}
	return Verdict{Allowed: true, Reason: AllowedByPolicy}`, tests: "TestTheDenyListHoldsForResolvedAddresses"},
		{name: "an allowed port is the listed one", file: "netguard/pattern.go", text: `return p.port == portMatch(port)
	}`, off: `return true
	}`, tests: decide},
		{name: "a denial without a port is for every port", file: "netguard/pattern.go", text: `return p.port == usualPorts || p.port == anyPort ||`, off: `return p.port == anyPort ||`, tests: decide},
		{name: "no answer allows what the user has denied", file: "netguard/verdict.go", text: `return r == NotListed ||`, off: `return r == DeniedByRule || r == NotListed ||`, tests: "TestOnlyAskableRefusalsAreAsked", in: "netguard/egress"},
		{name: "no answer allows a private address", file: "netguard/verdict.go", text: `r == PortNotListed || r == OtherOwner`, off: `r == PrivateAddress || r == PortNotListed || r == OtherOwner`, tests: "TestOnlyAskableRefusalsAreAsked", in: "netguard/egress"},
		{name: "no answer allows metadata", file: "netguard/verdict.go", text: `r == OtherOwner || r == PortNotUsual`, off: `r == MetadataAddress || r == OtherOwner || r == PortNotUsual`, tests: "TestOnlyAskableRefusalsAreAsked", in: "netguard/egress"},
		{name: "a policy within another has the narrower mode", file: "netguard/within.go", text: `min(p.Mode, outer.Mode)`, off: `p.Mode`, tests: within},
		{name: "an invalid policy within another is none", file: "netguard/within.go", text: `within.Mode = None`, off: ``, tests: "TestAnInvalidPolicyAllowsNothingWithinAnother"},
		{name: "a policy within another keeps the outer denials", file: "netguard/within.go", text: `{outer.Deny, denials(outer), p`, off: `{denials(outer), p`, tests: within},
		{name: "a policy within another denies what the outer one restricts", file: "netguard/within.go", text: `outer.Deny, denials(outer), `, off: `outer.Deny, `, tests: within},
		{name: "a policy within another denies what it restricts", file: "netguard/within.go", text: `p.Deny, denials(p)}`, off: `p.Deny}`, tests: "TestAPolicyWithinAnotherDeniesTheHostsThatItRestricts"},
		{name: "a policy within another allows only what the outer one does", file: "netguard/within.go", text: ` && outer.covers(rule.Pattern) {`, off: ` {`, tests: within},
		{name: "a wildcard covers no names of other owners", file: "netguard/cover.go", text: `p.isAbove(q) && q.host.ownedBelow(p.host.name)`, off: `p.isAbove(q)`, tests: "TestAnEntryThatCoversAnotherAllowsAllOfIt TestCoversFollowsHostsAndPorts"},
		{name: "an entry covers only its port", file: "netguard/cover.go", text: ` || !p.coversPort(q)`, off: ``, tests: "TestCoversFollowsHostsAndPorts"},
		{name: "a restricted entry covers only itself", file: "netguard/cover.go", text: `p.requests == requestRule{} || p.requests == q.requests`, off: `true`, tests: "TestARestrictedEntryCoversOnlyItself"},
		{name: "a narrower list keeps its restrictions", file: "netguard/cover.go", text: `p.Restricted() && !slices.Contains(next, p)`, off: `p.Restricted() && p.all`, tests: "TestAListThatNarrowsAnotherAllowsAtMostAsMuch"},
		{name: "a narrower list names no restricted host", file: "netguard/cover.go", text: ` || slices.ContainsFunc(now, func(p Pattern) bool { return p.Restricted() && p.meets(q) })`, off: ``, tests: "TestAListThatNarrowsAnotherAddsNoEntryForARestrictedHost"},
	}
}

// requests are the controls about methods, paths, secrets and logins.
func requests() []control {
	const request, decide, path, canonical, glob = "netguard/request.go", "TestDecideRequest", "netguard/path.go", "TestCanonicalPath", "TestPathGlobs"
	const rule, rules, login, logins = "netguard/secretrule.go", "TestSecretRules", "netguard/sshlogin.go", "TestSSHLogins"
	return []control{
		{name: "no header replaces the method or path", file: request, text: `if r.isOverridden() {`, off: `if false {`, tests: "TestARestrictedHostIsRestrictedInEveryForm"},
		{name: "an underscore in such a header is a hyphen", file: request, text: `strings.ReplaceAll(name, "_", "-")`, off: `name`, tests: "TestARestrictedHostIsRestrictedInEveryForm"},
		{name: "an entry is for its method and scheme", file: request, text: ` || !q.allows(r.TLS, r.Method) {`, off: ` {`, tests: decide},
		{name: "an entry is for its scheme", file: request, text: `if tls != (q.scheme == "https") {`, off: `if false {`, tests: "TestARestrictedHostIsRestrictedInEveryForm"},
		{name: "an entry is for its port", file: request, text: `!rule.Pattern.allowsPort(r.Destination.Port) || `, off: ``, tests: "TestARestrictedHostIsRestrictedInEveryForm"},
		{name: "an entry is for its path", file: request, text: `q.path.matches(canonical)`, off: `true`, tests: decide},
		{name: "no ambiguous path", file: request, text: `case err == nil && q.path`, off: `case q.path`, tests: decide},
		{name: "no entry for CONNECT or TRACE", file: request, text: `case method == "CONNECT" || method == "TRACE":`, off: `case false:`, tests: "TestAnEntryThatIsTooWideIsRefused TestRequestEntriesPrintInTheirCanonicalForm"},
		{name: "a path begins with a slash", file: path, text: `case path[0] != '/':`, off: `case false:`, tests: canonical},
		{name: "a path is bounded", file: path, text: `case len(path) > maxPath:`, off: `case false:`, tests: canonical},
		{name: "a path is UTF-8", file: path, text: `case !utf8.ValidString(decoded):`, off: `case !utf8.ValidString(""):`, tests: canonical},
		{name: "a path has no control characters", file: path, text: `return r < ' ' || 0x7f <= r && r < 0xa0`, off: `return false && r == 0`, tests: canonical},
		{name: "a path has no dot segments of other characters", file: path, text: ` || isDots(norm.NFKC.String(name))`, off: ``, tests: canonical},
		{name: "a path has no dot segments with parameters", file: path, text: `name, _, _ := strings.Cut(decoded, ";")`, off: `name, _, _ := strings.Cut(decoded, "never")`, tests: canonical},
		{name: "escapes of letters are decoded", file: path, text: `if !isUnreserved(c) {`, off: `if true {`, tests: canonical},
		{name: "a wildcard matches no ambiguous segment", file: path, text: "	if isAmbiguous(have) {", off: "	if false {", tests: glob},
		{name: "two asterisks match no ambiguous segment", file: path, text: `backW >= 0 && !isAmbiguous(have[backH])`, off: `backW >= 0`, tests: glob},
		{name: "separators of other characters are ambiguous", file: path, text: ` || strings.ContainsAny(norm.NFKC.String(decoded), ambiguous)`, off: ``, tests: glob},
		{name: "a glob has no asterisk beside a separator", file: path, text: `case strings.Contains(segment, "*") && isAmbiguous(segment):`, off: `case false:`, tests: "TestAPathHasNoAsteriskBesideAnEncodedSeparator"},
		{name: "a glob matches the whole path", file: path, text: `return w == len(want)`, off: `return true`, tests: glob},
		{name: "an asterisk matches one character at least", file: path, text: `len(rest) > len(parts[last])`, off: `len(rest) >= len(parts[last])`, tests: glob},
		{name: "a secret goes to no address that is never reached", file: rule, text: `ok && CheckAddress(addr) != 0 {`, off: `ok && false {`, tests: rules},
		{name: "a secret is in no header that frames a message", file: rule, text: `if strings.EqualFold(name, forbidden) {`, off: `if false {`, tests: rules},
		{name: "a template has the secret once", file: rule, text: `strings.Count(r.template, placeholder) != 1:`, off: `false:`, tests: rules},
		{name: "a template has no line break", file: rule, text: `case hasTemplate && !httpguts.ValidHeaderFieldValue(r.template):`, off: `case false:`, tests: rules},
		{name: "a secret has no line break", file: rule, text: ` || !httpguts.ValidHeaderFieldValue(text) {`, off: ` {`, tests: "TestASecretThatNoHeaderCanHoldIsRefused"},
		{name: "a secret is sent over TLS", file: rule, text: `target, r.TLS = plain, false`, off: `target, r.TLS = plain, true`, tests: rules},
		{name: "a login has a plain user name", file: login, text: ` || !isSSHUser(l.User) {`, off: ` {`, tests: logins},
		{name: "an entry inside TLS needs inspection", file: "netguard/inspect.go", text: `rule.Pattern.TLS() && !isCovered(rule.Pattern, p.Inspect)`, off: `false`, tests: "TestAnEntryNeedsInspectionOfAllItsHosts"},
		{name: "inspection covers the port", file: "netguard/inspect.go", text: ` && (q.port == anyPort || q.port == p.port) {`, off: ` {`, tests: "TestAnEntryNeedsInspectionOfAllItsHosts"},
		{name: "no proposal widens a restricted entry", file: "netguard/learn.go", text: `rule != nil && rule.Pattern.Restricted() {`, off: `rule != nil && false {`, tests: "TestProposeNamesExactHosts"},
		{name: "a proposal names the port", file: "netguard/learn.go", text: `if d.Port == portHTTPS || d.Port == portHTTP {`, off: `if true {`, tests: "TestProposeAllowsWhatWasUsedAndNothingElse TestProposeNamesExactHosts"},
		{name: "only the gateway under local", file: "netguard/mode.go", text: `return m == Allowlist || m == Public`, off: `return m == Local || m == Allowlist || m == Public`, tests: "TestModeListensOnlyOnItsOwnPorts"},
		{name: "no gateway under none", file: "netguard/mode.go", text: `m.valid() && m != None`, off: `m.valid()`, tests: "TestModeListensOnlyOnItsOwnPorts"},
	}
}

// registries are the controls about the registries of the user's own package tools.
func registries() []control {
	const file, secret, reach, own = "netguard/preset/registry.go", "TestAPasswordInARegistryStaysOutside", "TestARegistryThatNoSandboxReachesIsNotPassedOn", "TestAToolIsAskedWhetherItHasARegistryOfItsOwn"
	return []control{
		{name: "no password of a registry", file: file, text: `strings.Contains(value, "@")`, off: `false`, tests: secret},
		{name: "no key in a query of a registry", file: file, text: `u.RawQuery != "" || `, off: ``, tests: secret},
		{name: "no key in a fragment of a registry", file: file, text: ` || u.Fragment != ""`, off: ``, tests: secret},
		{name: "only registries over HTTP", file: file, text: `err != nil || host == ""`, off: `err != nil`, tests: reach},
		{name: "only registries that a preset can allow", file: file, text: `len(refused) > 0`, off: `len(refused) > 9`, tests: reach},
		{name: "a sandbox's own registry stays", file: file, text: `== "none"`, off: `!= ""`, tests: own},
	}
}
