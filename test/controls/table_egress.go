package main

import "slices"

// tunnels are the controls about CONNECT and what passes through a tunnel.
func tunnels() []control {
	const hello, trick, tunnel, second = "netguard/egress/clienthello.go", "TestNoTrickInsideATunnelReachesAServer", "netguard/egress/connect.go", "TestASecondClientHelloIsChecked"
	const request, target = "TestNoTrickOfARequestReachesAServer", "netguard/egress/target.go"
	return slices.Concat([]control{
		{name: "no encrypted server name", file: hello, text: "	case h.encrypted:", off: "	case false:", tests: trick},
		{name: "drafts of an encrypted server name count", file: hello, text: `case extensionEncryptedClientHello, extensionEncryptedServerName:`, off: `case extensionEncryptedClientHello:`, tests: trick},
		{name: "an address has no server name", file: hello, text: `case isAddress && h.hasServerName:`, off: `case false:`, tests: "TestATunnelToAnAddressHasNoServerName"},
		{name: "a name has a server name", file: hello, text: "	case !h.hasServerName:", off: "	case !h.hasServerName:\n		return nil\n	case false:", tests: trick},
		{name: "the server name is that of the tunnel", file: hello, text: `case lowerASCII(h.serverName) != to.Host.Name():`, off: `case false:`, tests: trick},
		{name: "only ASCII letters of a server name change their case", file: hello, text: `	lower := []byte(text)`, off: `	lower := bytes.ToLower([]byte(text))`, tests: trick},
		{name: "no second ClientHello in the same message", file: hello, text: `complete != nil && len(rest) > 0:`, off: `complete != nil && len(rest) > maxHello:`, tests: trick},
		{name: "no extension twice", file: hello, text: ` || seen[kind] {`, off: ` {`, tests: trick},
		{name: "one server name", file: hello, text: ` || !list.Empty() {`, off: ` {`, tests: trick},
		{name: "a server name is a host name", file: hello, text: ` || kind != nameTypeHost ||`, off: ` ||`, tests: trick},
		{name: "a server name has no NUL", file: hello, text: ` && !bytes.ContainsRune(name, 0)`, off: ` && bytes.ContainsRune([]byte{0}, 0)`, tests: trick},
		{name: "nothing follows the extensions", file: hello, text: ` || !in.Empty() {`, off: ` {`, tests: "TestAClientHelloIsReadStrictly"},
		{name: "a record has TLS's version", file: hello, text: ` || header[1] != 3 ||`, off: ` ||`, tests: "TestAClientHelloIsReadStrictly"},
		{name: "a second ClientHello is checked", file: "netguard/egress/secondhello.go", text: `return f.check(r)`, off: `return nil`, tests: second},
		{name: "a second ClientHello is for the tunnel's host", file: "netguard/egress/secondhello.go", text: `problem := hello.check(f.to); problem != nil {`, off: `problem := hello.check(f.to); false {`, tests: second},
		{name: "a second ClientHello is found after early data", file: "netguard/egress/secondhello.go", text: `kind == recordApplicationData && !f.earlyData:`, off: `kind == recordApplicationData:`, tests: second},
		{name: "a part of a second ClientHello is not continued", file: "netguard/egress/secondhello.go", text: `case part && kind != recordApplicationData && kind != recordAlert:`, off: `case false:`, tests: second},
		{name: "a second ClientHello is found after an alert", file: "netguard/egress/secondhello.go", text: `case kind == recordHandshake, kind`, off: `case kind != recordChangeCipherSpec && kind != recordApplicationData, kind`, tests: second},
		{name: "records before a second ClientHello are bounded", file: "netguard/egress/secondhello.go", text: `f.earlyData || n < maxPlainRecords`, off: `true`, tests: second},
		{name: "a refusal inside a tunnel is recorded", file: "netguard/egress/flow.go", text: "\tf.proxy.recorder.add(event, false)\n", off: "\t_ = event\n", tests: second + " TestARefusalInsideATunnelIsRecordedWithItsHint"},
		{name: "port 443 carries TLS", file: tunnel, text: `case port == portHTTPS:`, off: `case false:`, tests: trick},
		{name: "port 22 carries SSH", file: tunnel, text: `case port == portSSH:`, off: `case false:`, tests: "TestNoTrickInsideATunnelReachesAServer TestSSHPassesOnlyAfterTheHostKeyIsChecked"},
		{name: "no TLS to port 22", file: tunnel, text: `first[0] == recordHandshake && port != portSSH:`, off: `first[0] == recordHandshake:`, tests: "TestNoTrickInsideATunnelReachesAServer TestSSHPassesOnlyAfterTheHostKeyIsChecked"},
		{name: "no SSH without known keys", file: tunnel, text: `if keys == nil {`, off: `if false {`, tests: "TestNoTrickInsideATunnelReachesAServer TestSSHPassesOnlyAfterTheHostKeyIsChecked"},
		{name: "no SSH to port 80", file: tunnel, text: `port != portHTTP && t.startsWith`, off: `t.startsWith`, tests: trick},
		{name: "no unknown protocol", file: tunnel, text: `case isToken(string(first)):`, off: `case true:`, tests: trick},
		{name: "a tunnel's connection is for its destination", file: tunnel, text: `t == nil || t.flow.to != to`, off: `t == nil`, tests: "TestATunnelsConnectionIsForItsDestinationAlone"},
		{name: "a tunnel ends at its lifetime", file: tunnel, text: `context.WithTimeoutCause(ctx, p.limits.Lifetime,`, off: `context.WithTimeoutCause(ctx, time.Hour,`, tests: "TestIdleTunnelsAndOldTunnelsAreClosed"},
		{name: "a silent tunnel ends", file: tunnel, text: "	_ = conn.SetDeadline(time.Now().Add(t.proxy.limits.Hello))", off: "", tests: "TestASilentTunnelEndsBeforeTheDeadlineOfItsRequest"},
		{name: "a restricted host gets no tunnel", file: tunnel, text: `problem := t.flow.setOpaque(); problem != nil {`, off: `problem := t.flow.setOpaque(); false {`, tests: "TestATunnelToARestrictedHostCarriesNothingThatCannotBeRead"},
	}, []control{
		{name: "no path as the target outside a tunnel", file: target, text: "		if !inside {", off: "		if false {", tests: request},
		{name: "no https URL as the target", file: target, text: `hasScheme(h.target, "http://") && !https:`, off: `hasScheme(h.target, "http://"):`, tests: "TestPartsOfARequestThatParsersReadInDifferentWaysAreRefused"},
		{name: "no fragment", file: target, text: `strings.Contains(h.target, "#")`, off: `false`, tests: request},
		{name: "a request in a tunnel is for its host", file: target, text: `if inside && d != tunnel {`, off: `if false {`, tests: trick},
		{name: "the Host field in a tunnel is that of the tunnel", file: target, text: "		if inside && host != d {\n			return d, wrongTunnel(host, tunnel, https)\n		}\n		if host != d {", off: "		if !inside && host != d {", tests: trick},
		{name: "the Host field is that of the target", file: target, text: "		if host != d {", off: "		if false {", tests: request},
		{name: "no CONNECT inside a tunnel", file: target, text: `if tunnel != (netguard.Destination{}) {`, off: `if false {`, tests: trick},
		{name: "the Host field of CONNECT is that of its target", file: target, text: `if host.Host != d.Host {`, off: `if false {`, tests: request},
		{name: "no user name in the URL", file: target, text: `if strings.Contains(text, "@") {`, off: `if false {`, tests: request},
	})
}

// heads are the controls about the heads of requests, and what is forwarded of them.
func heads() []control {
	const head, request, forward, private = "netguard/egress/head.go", "TestNoTrickOfARequestReachesAServer", "netguard/egress/forward.go", "TestCredentialsAndConnectionFieldsStayWithTheProxy"
	return []control{
		{name: "a head is bounded", file: head, text: `if arrived >= maxHead {`, off: `if arrived >= 2*maxHead {`, tests: request},
		{name: "the fields are bounded", file: head, text: `if len(lines) > maxFields+1 {`, off: `if false {`, tests: request},
		{name: "a method is a token", file: head, text: `!ok || !ok2 || !isToken(method) ||`, off: `!ok || !ok2 ||`, tests: "TestPartsOfARequestThatParsersReadInDifferentWaysAreRefused"},
		{name: "a method is bounded", file: head, text: ` || len(method) > 32:`, off: `:`, tests: "TestPartsOfARequestThatParsersReadInDifferentWaysAreRefused"},
		{name: "no other version of HTTP", file: head, text: `case version != "HTTP/1.1" && version != "HTTP/1.0":`, off: `case false:`, tests: request},
		{name: "a target has visible characters", file: head, text: `target == "" || !isVisible(target):`, off: `target == "":`, tests: request},
		{name: "a field's name is a token", file: head, text: `if !ok || !isToken(name) {`, off: `if !ok {`, tests: request},
		{name: "a field's value has no control character", file: head, text: `if !isFieldValue(value) {`, off: `if false {`, tests: request},
		{name: "one Host field", file: head, text: `if h.hasHost {`, off: `if false {`, tests: request},
		{name: "one Content-Length", file: head, text: `if lengths++; lengths > 1 ||`, off: `if lengths++;`, tests: request},
		{name: "Content-Length is a number", file: head, text: ` || !isDigits(value) ||`, off: ` ||`, tests: request},
		{name: "Content-Length is bounded", file: head, text: ` || len(value) > 18 {`, off: ` {`, tests: request},
		{name: "no Transfer-Encoding in HTTP/1.0", file: head, text: ` || http10 || !strings`, off: ` || !strings`, tests: request},
		{name: "Transfer-Encoding is chunked", file: head, text: ` || !strings.EqualFold(value, "chunked") {`, off: ` {`, tests: request},
		{name: "no length beside an encoding", file: head, text: `case lengths+encodings > 1:`, off: `case false:`, tests: request},
		{name: "no body of CONNECT", file: head, text: `case h.method == http.MethodConnect && lengths+encodings > 0:`, off: `case false:`, tests: request},
		{name: "a Host field in HTTP/1.1", file: head, text: `case !h.hasHost && !http10 && h.method != http.MethodConnect:`, off: `case false:`, tests: request},
		{name: "no TRACE", file: forward, text: `if request.Method == http.MethodTrace {`, off: `if false {`, tests: request},
		{name: "no unknown expectation", file: forward, text: `expect != "" && !strings.EqualFold(expect, "100-continue")`, off: `expect == "never"`, tests: request},
		{name: "the proxy's credentials are not forwarded", file: forward, text: `"Proxy-Authenticate", "Proxy-Authorization", `, off: `"Proxy-Authenticate", `, tests: private},
		{name: "fields of the connection are not forwarded", file: forward, text: `header.Del(strings.TrimSpace(name))`, off: `_ = name`, tests: private},
		{name: "fields of one hop are not forwarded", file: forward, text: `		header.Del(name)`, off: `		_ = name`, tests: private},
		{name: "the Host field forwarded is the decided one", file: forward, text: `	out.Host = out.URL.Host`, off: `	_ = out.URL.Host`, tests: "TestTheForwardedHostFieldIsCanonical"},
		{name: "a response has a status of HTTP", file: "netguard/egress/http2.go", text: `problem := checkStatus(response); problem != nil {`, off: `problem := checkStatus(response); false {`, tests: "TestAResponseWithAStatusThatHTTPDoesNotHaveIsRefused"},
		{name: "a response without a body announces none", file: "netguard/egress/response.go", text: `case hasBody, response.StatusCode == http.StatusNoContent,`, off: `case hasBody,`, tests: "TestAResponseThatHasNoBodyAnnouncesNone"},
		{name: "a length of HTTP/2 is not passed on", file: "netguard/egress/response.go", text: `	setLength(response, hasBody)`, off: ``, tests: "TestALengthThatHTTP2DoesNotNeedIsNotPassedOnToHTTP1", in: "netguard/egress/inspect"},
		{name: "trailers do not frame", file: "netguard/egress/response.go", text: `removeFraming(response.Trailer) // also`, off: `// also`, tests: "TestATrailerDoesNotFrame"},
		{name: "no unasked protocol", file: "netguard/egress/response.go", text: `!e.upgrades`, off: `false`, tests: "TestAServerCannotSwitchProtocolsUnasked"},
		{name: "no other protocol within a body", file: "netguard/egress/response.go", text: `if !body.stop() {`, off: `if false {`, tests: "TestAServerCannotSwitchProtocolsWithinABody"},
		{name: "no other protocol than WebSocket", file: "netguard/egress/response.go", text: ` || !strings.EqualFold(response.Header.Get("Upgrade"), "websocket")`, off: ``, tests: "TestAServerCannotSwitchProtocolsUnasked"},
	}
}

// connections are the controls about addresses, limits, budgets and records.
func connections() []control {
	const dialer, flow, budget, change = "netguard/egress/dialer.go", "netguard/egress/flow.go", "netguard/egress/budget.go", "TestAChangeOfThePolicyClosesConnectionsThatItDoesNotAllow"
	const proxy, dns, names = "netguard/egress/proxy.go", "netguard/egress/dns.go", "TestOnlyTheGuardsOwnNamesResolve"
	return slices.Concat([]control{
		{name: "only addresses that pass are dialed", file: dialer, text: `if decided.Verdict.Allowed {`, off: `if true {`, tests: "TestEveryAddressOfANameIsChecked TestANameThatChangesItsAddressGainsNothing"},
		{name: "own addresses are refused", file: dialer, text: `if reason := d.own.check(addr); reason != 0 {`, off: `if reason := d.own.check(addr); false {`, tests: "TestEveryAddressOfANameIsChecked TestOwnAddressesThatCannotBeReadAllowNothing"},
		{name: "own addresses that cannot be read allow nothing", file: dialer, text: "		if err != nil {\n			return netguard.OwnAddress\n		}", off: "		if err != nil {\n			return 0\n		}", tests: "TestOwnAddressesThatCannotBeReadAllowNothing"},
		{name: "addresses that the user names are own ones", file: dialer, text: `if containsAddress(o.more, addr) {`, off: `if false {`, tests: "TestAddressesThatTheUserNamesAsTheirOwnAreNeverReachedOrAskedAbout"},
		{name: "machines beside this one are refused", file: dialer, text: `if containsAddress(o.networks, addr) {`, off: `if false {`, tests: "TestEveryAddressOfANameIsChecked"},
		{name: "addresses of the network's own NAT64 are refused", file: dialer, text: `d.nat64.contains(ctx, d.resolver, addr) {`, off: `false {`, tests: "TestAddressesOfTheNetworksOwnNAT64AreNotDialed"},
		{name: "the NAT64 of a network stays known", file: "netguard/egress/nat64.go", text: `if err == nil || errors.As(err, &problem) && problem.IsNotFound {`, off: `if errors.As(err, &problem); true {`, tests: "TestAFailedLookupKeepsTheKnownNAT64"},
		{name: "the socket's address is the checked one", file: dialer, text: `err != nil || to != checked ||`, off: `err != nil ||`, tests: "TestTheSocketsAddressIsChecked"},
		{name: "the socket's address is public", file: dialer, text: ` || netguard.CheckAddress(to.Addr()) != 0 {`, off: ` {`, tests: "TestTheSocketsAddressIsChecked"},
		{name: "a name is not completed with search domains", file: dialer, text: `host.Name()+"."`, off: `host.Name()`, tests: "TestANameIsLookedUpWithoutSearchDomains"},
		{name: "the transport dials only the decided destination", file: "netguard/egress/forward.go", text: `err != nil || f == nil || f.to != to`, off: `err != nil || f == nil`, tests: "TestAConnectionThatWasNotDecidedIsNotDialed"},
		{name: "a request is decided", file: flow, text: `if !verdict.Allowed && !(f.once && verdict.Reason.Askable()) {
		problem`, off: `if false {
		problem`, tests: "TestNoSpellingOfASpecialAddressIsDialed TestEachRequestOfAConnectionIsDecided"},
		{name: "connections to a host are bounded", file: flow, text: `n >= p.limits.PerHost {`, off: `false && n > 0 {`, tests: "TestConnectionsToAHostAreBounded"},
		{name: "a used budget ends new requests", file: flow, text: `problem := p.budget.exhausted(f.to.Host); problem != nil {`, off: `problem := p.budget.exhausted(f.to.Host); false {`, tests: "TestBudgetsEndTunnelsExactly TestBudgetsHoldForPlainRequests"},
		{name: "a resolved name counts against the budgets", file: flow, text: `problem := f.chargeName(); problem != nil {`, off: `problem := f.chargeName(); false {`, tests: "TestBudgetsCountTheNamesThatAreResolved"},
		{name: "no user is asked about the network's own NAT64", file: flow, text: `if f.proxy.dialer.nat64.knows(addr) {`, off: `if false {`, tests: "TestTheUserIsNotAskedAboutAddressesOfTheKnownNAT64"},
		{name: "no user is asked about own addresses", file: flow, text: `reason := f.proxy.dialer.own.check(addr); reason != 0 {`, off: `reason := f.proxy.dialer.own.check(addr); false {`, tests: "TestAddressesThatTheUserNamesAsTheirOwnAreNeverReachedOrAskedAbout"},
		{name: "only askable refusals are asked", file: flow, text: `problem != nil && verdict.Reason.Askable() && p`, off: `problem != nil && p`, tests: "TestOnlyAskableRefusalsAreAsked"},
		{name: "an answer does not hide a new denial", file: "netguard/egress/held.go", text: `changed := f.finallyRefused(); changed != nil {`, off: `changed := f.finallyRefused(); false {`, tests: "TestAQuestionThatAChangeOfThePolicyEndsIsRefusedForTheNewReason"},
		{name: "an answer once allows only what is askable", file: flow, text: "if !verdict.Allowed && !(f.once && verdict.Reason.Askable()) {\n		return", off: "if !verdict.Allowed && !f.once {\n		return", tests: "TestATunnelApprovedOnceSurvivesOtherChanges TestAChangeOfThePolicyClosesConnectionsThatItDoesNotAllow"},
		{name: "the deny list holds for the dialed address", file: flow, text: "	return f.proxy.policy.DecideAddress(addr, f.to.Port)\n}\n\n// connected", off: "	return netguard.Verdict{Allowed: addr.IsValid()}\n}\n\n// connected", tests: "TestEveryAddressOfANameIsChecked TestAChangeOfThePolicyClosesDeniedAddresses"},
		{name: "a change of the policy ends connections to denied addresses", file: flow, text: `if f.address.IsValid() {`, off: `if false {`, tests: "TestAChangeOfThePolicyClosesDeniedAddresses"},
		{name: "a change of the policy ends connections", file: proxy, text: `problem := f.recheck(); problem != nil {`, off: `problem := f.recheck(); false {`, tests: change},
		{name: "no policy allows nothing", file: proxy, text: "	if policy == nil {\n		policy = &netguard.Matcher{}\n	}", off: "	if policy == nil {\n		policy = p.policy\n	}", tests: change},
		{name: "clients are bounded", file: proxy, text: `if len(p.clients) >= p.limits.Connections {`, off: `if false {`, tests: "TestConnectionsAreBounded"},
		{name: "held requests are bounded", file: "netguard/egress/held.go", text: `if p.waiting >= p.limits.Held {`, off: `if false {`, tests: "TestHeldRequestsAreBounded"},
		{name: "a refused question stays refused", file: "netguard/egress/held.go", text: `if h.answer.Allowed {`, off: `if true {`, tests: "TestHeldRequestsShareOneAnswer"},
		{name: "a slow head is cut", file: "netguard/egress/stream.go", text: "	_ = s.conn.SetReadDeadline(time.Now().Add(p.limits.Header))", off: "	_ = s.conn.SetReadDeadline(time.Time{})", tests: "TestSlowClientsAreCut"},
		{name: "an idle client is cut", file: "netguard/egress/stream.go", text: "	_ = s.conn.SetReadDeadline(time.Now().Add(p.limits.KeepAlive))", off: "", tests: "TestAClientThatSendsNothingIsCut"},
		{name: "an idle tunnel is cut", file: "netguard/egress/relay.go", text: `case p.relay.idle() >= limit:`, off: `case false:`, tests: "TestIdleTunnelsAndOldTunnelsAreClosed"},
		{name: "foreign text is escaped", file: "netguard/egress/refusal.go", text: `	quoted := strconv.QuoteToASCII(text)`, off: `	quoted := "\"" + text + "\""; _ = strconv.Quote`, tests: "TestARefusalEscapesForeignText"},
	}, []control{
		{name: "the session's budget holds", file: budget, text: `	if total > 0 {`, off: `	if false {`, tests: "TestBudgetsEndTunnelsExactly TestBudgetsHoldForManyConnectionsTogether"},
		{name: "a host's budget holds", file: budget, text: `	if perHost > 0 {`, off: `	if false {`, tests: "TestBudgetsEndTunnelsExactly TestBudgetsHoldForPlainRequests"},
		{name: "lent bytes count", file: budget, text: `total-b.total[d]-lent`, off: `total-b.total[d]-0*lent`, tests: "TestLentBytesAreTakenFromTheBudgets"},
		{name: "the download of plain requests counts", file: budget, text: `granted, problem := c.budget.reserve(c.host, down, int64(n-charged))`, off: `granted, problem := int64(n-charged), (*refusal)(nil)`, tests: "TestDownloadBudgetsHoldForPlainRequests"},
		{name: "the upload of plain requests counts", file: budget, text: `granted, problem := c.budget.reserve(c.host, up, int64(len(p)-written))`, off: `granted, problem := int64(len(p)-written), (*refusal)(nil)`, tests: "TestBudgetsHoldForPlainRequests"},
		{name: "the bytes of tunnels count", file: "netguard/egress/relay.go", text: `if !p.relay.metered {`, off: `if true {`, tests: "TestBudgetsEndTunnelsExactly"},
		{name: "spliced bytes count", file: "netguard/egress/splice.go", text: `granted, problem := p.grant(min(int64(arrived), maxSplice))`, off: `granted, problem := min(int64(arrived), maxSplice), (*refusal)(nil)`, tests: "TestBudgetsEndTunnelsExactly"},
		{name: "hosts are counted up to a bound", file: budget, text: `if !ok && len(b.hosts) >= maxHosts {`, off: `if false {`, tests: "TestBudgetsHoldForManyHosts"},
		{name: "no other name is resolved", file: dns, text: ` || !slices.Contains(netguard.Names(), name) {`, off: ` || !slices.Contains(netguard.Names(), name) && name == "" {`, tests: names},
		{name: "no other class is resolved", file: dns, text: `q.Qclass != dns.ClassINET || `, off: ``, tests: "TestOnlyOneQuestionOfAClientIsAnswered"},
		{name: "a query has the size of one", file: dns, text: `if !isShort(packet) || query`, off: `if query`, tests: "TestAQuestionOfThousandsOfRecordsIsNotParsed"},
		{name: "one question a query", file: dns, text: ` || len(query.Question) != 1 {`, off: ` || len(query.Question) < 1 {`, tests: "TestOnlyOneQuestionOfAClientIsAnswered"},
		{name: "no answer to an answer", file: dns, text: "	if query.Response {", off: "	if false {", tests: "TestOnlyOneQuestionOfAClientIsAnswered FuzzAnswer"},
		{name: "requests to the model that cost nothing have their own limit in the log", file: "session/supervisor/counters.go", text: `c.Spends && c.Passed() && c.Sent > 0`, off: `false`, tests: "TestRequestsThatCostNothingKeepNoAnswerOutOfTheLog"},
		{name: "the log of refusals is bounded", file: "session/supervisor/counters.go", text: `known == nil && t.kinds[r.What] >= maxRefusalKinds`, off: `false`, tests: "TestRefusalsBeyondTheLimitOfKindsAreCountedTogether TestEveryRefusedNameCounts"},
		{name: "each kind of access has its own limit in the log", file: "session/supervisor/counters.go", text: `t.kinds[r.What] >= maxRefusalKinds`, off: `len(t.refused) >= maxRefusalKinds`, tests: "TestAFloodOfOneKindKeepsNoOtherRefusalOutOfTheLog"},
		{name: "streams to the name server are bounded", file: dns, text: `netutil.LimitListener(tcp, connections)`, off: `netutil.LimitListener(tcp, 1<<20)`, tests: "TestStreamsToTheNameServerAreBounded"},
		{name: "records are bounded", file: "netguard/egress/recorder.go", text: `r.budget <= 0 || s != nil`, off: `s != nil`, tests: "TestNoFloodExceedsTheBudgetOfRecords"},
		{name: "records of one kind are bounded", file: "netguard/egress/recorder.go", text: ` || s != nil && s.recorded >= recordsAlike)`, off: `)`, tests: "TestFrequentEventsKeepTheirOwnSummaryInAFlood TestAFloodOfRefusalsIsCounted"},
		{name: "remembered records are bounded", file: "netguard/egress/recorder.go", text: `if s == nil && len(r.like) < maxLike {`, off: `if s == nil {`, tests: "TestNoFloodExceedsTheBudgetOfRecords TestAFloodOfNamesIsCounted"},
	})
}
