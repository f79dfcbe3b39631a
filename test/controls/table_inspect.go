package main

import "slices"

// inspection are the controls about inspected TLS and the keys of SSH servers.
func inspection() []control {
	const inspect, secrets, http2, known = "netguard/egress/inspect/inspect.go", "netguard/egress/inspect/secrets.go", "netguard/egress/http2.go", "netguard/egress/sshkey/sshkey.go"
	const in, certificate = "netguard/egress/inspect", "TestTheCertificateIsForTheTunnelsHostAlone"
	return []control{
		{name: "a secret inside TLS needs inspection", file: inspect, text: `if to.tls && !i.Inspects(to.Destination) {`, off: `if false {`, tests: "TestWrongSecretsAreRefusedAtTheStart"},
		{name: "a secret has a length that is redacted", file: inspect, text: `n < redact.Least || n > redact.Most`, off: `n < 0`, tests: "TestWrongSecretsAreRefusedAtTheStart"},
		{name: "a header has one secret", file: inspect, text: `return h.name == name }) {`, off: `return false && h.name == name }) {`, tests: "TestSecretsThatExcludeEachOtherAreRefused"},
		{name: "the encoded form of a secret is redacted", file: inspect, text: `!strings.Contains(sent, s.Value.Reveal())`, off: `false && sent == ""`, tests: "TestTheEncodedFormOfASecretIsRedactedInItself TestAnEchoedSecretIsRedacted"},
		{name: "a certificate for an address needs no server name", file: inspect, text: `if isAddress && serverName != "" {`, off: `if false {`, tests: "TestOnlyInspectedConnectionsAreDecrypted"},
		{name: "a certificate is for the tunnel's host", file: inspect, text: `err != nil || host != d.Host {`, off: `err != nil || host.IsZero() {`, tests: certificate},
		{name: "no session is resumed", file: inspect, text: `SessionTicketsDisabled: true,`, off: ``, tests: "TestNoConnectionCanBeResumed"},
		{name: "servers have TLS 1.2 at least", file: inspect, text: `&tls.Config{MinVersion: tls.VersionTLS12, RootCAs`, off: `&tls.Config{MinVersion: tls.VersionTLS10, RootCAs`, tests: "TestAServerOfAnOldVersionOfTLSIsRefused"},
		{name: "the real server is verified", file: inspect, text: `RootCAs: i.roots}`, off: `RootCAs: i.roots, InsecureSkipVerify: true}`, tests: "TestTheRealServerIsVerified"},
		{name: "a secret is for its host", file: secrets, text: "	injected := i.secrets[target{d, https}]\n	if injected == nil {\n		return nil\n	}\n	for", off: "	var injected *injection\n	for _, injected = range i.secrets {\n		break\n	}\n	if injected == nil {\n		return nil\n	}\n	for", tests: "TestASecretReachesItsHostAlone"},
		{name: "a secret replaces the trailer", file: secrets, text: `delete(request.Trailer, h.name)`, off: ``, tests: "TestASecretReplacesEveryFormOfItsHeader"},
		{name: "no compressed answer is asked for", file: secrets, text: `request.Header.Set("Accept-Encoding", "identity")`, off: ``, tests: "TestAnEchoedSecretIsRedacted TestAnAnswerInWhichNothingCanBeRedactedIsRefused"},
		{name: "no compressed answer passes", file: secrets, text: `if encoded(response) {`, off: `if false {`, tests: "TestAnAnswerInWhichNothingCanBeRedactedIsRefused"},
		{name: "no compressed messages are asked for", file: secrets, text: `request.Header.Del(name)`, off: `_ = name`, tests: "TestAnAnswerOfCompressedMessagesIsRefused"},
		{name: "no compressed messages pass", file: secrets, text: `"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding"`, off: `"Content-Encoding"`, tests: "TestAnAnswerOfCompressedMessagesIsRefused"},
		{name: "no part of an answer is asked for", file: secrets, text: `request.Header.Del("Range")`, off: ``, tests: "TestNoPartOfAnAnswerIsRequestedFromAHostWithASecret"},
		{name: "no part of an answer passes", file: secrets, text: `if response.StatusCode == http.StatusPartialContent {`, off: `if false {`, tests: "TestAnAnswerInWhichNothingCanBeRedactedIsRefused TestNoPartOfAnAnswerIsRequestedFromAHostWithASecret"},
		{name: "no WebSocket to a host with a secret", file: secrets, text: `if response.StatusCode == http.StatusSwitchingProtocols {`, off: `if false {`, tests: "TestAWebSocketToAHostWithASecretIsRefused"},
		{name: "the status line is redacted", file: secrets, text: `response.Status = injected.redact.Text(response.Status)`, off: ``, tests: "TestEveryPartOfAResponseIsRedacted"},
		{name: "fields are redacted", file: secrets, text: `injected.redactHeader(response.Header)`, off: ``, tests: "TestEveryPartOfAResponseIsRedacted"},
		{name: "trailers are redacted", file: secrets, text: `b.secrets.redactHeader(b.response.Trailer)`, off: ``, tests: "TestAnEchoedSecretIsRedacted"},
		{name: "announced names of trailers are redacted", file: secrets, text: `injected.redactHeader(response.Trailer)`, off: ``, tests: "TestTheNameOfATrailerIsRedacted"},
		{name: "errors that quote a server are redacted", file: secrets, text: `injected := i.secrets[target{d, https}]; injected != nil {`, off: `injected := i.secrets[target{d, https}]; false {`, tests: "TestAnAnswerThatCannotBeReadIsRedacted"},
		{name: "names of fields are redacted in any letter case", file: inspect, text: `injected.redact.Folded()`, off: `injected.redact`, tests: "TestTheNameOfAHeaderIsRedactedInAnyLetterCase"},
		{name: "names of fields are redacted", file: secrets, text: `if clean != name {`, off: `if false {`, tests: "TestEveryPartOfAResponseIsRedacted"},
		{name: "the requests of HTTP/2 of a session are bounded", file: http2, text: `n > int64(p.limits.Connections) {`, off: `n < 0 {`, tests: "TestRequestsOfHTTP2AreBoundedForTheSession", in: in},
		{name: "a refusal is in progress until the client takes it", file: http2, text: `_ = http.NewResponseController(w).Flush()`, off: ``, tests: "TestRequestsOfHTTP2AreBoundedForTheSession", in: in},
		{name: "the unread bytes of a request of HTTP/2 are bounded", file: http2, text: `receivebuffer.Config(requestBuffer, maxStreams)`, off: `receivebuffer.Config(1<<20, maxStreams)`, tests: "TestWhatIsNotReadFromHTTP2TakesLittleMemory", in: in},
		{name: "the unread bytes of responses of HTTP/2 are bounded", file: "netguard/egress/forward.go", text: `receivebuffer.Config(receivebuffer.Response, p.limits.PerHost)`, off: `receivebuffer.Config(4<<20, p.limits.PerHost)`, tests: "TestWhatIsNotReadFromHTTP2TakesLittleMemory", in: in},
		{name: "no CONNECT in HTTP/2", file: http2, text: `if r.Method == http.MethodConnect {`, off: `if false {`, tests: "TestATargetOfHTTP2IsAPathOfVisibleCharacters", in: in},
		{name: "targets of HTTP/2 have visible characters", file: http2, text: `if !isVisible(r.RequestURI) {`, off: `if false {`, tests: "TestATargetOfHTTP2IsAPathOfVisibleCharacters", in: in},
		{name: "a header announced as a trailer counts", file: "netguard/egress/forward.go", text: `if len(request.Trailer) == 0 {`, off: `if true {`, tests: "TestMethodsAndPathsAreRestricted", in: in},
		{name: "a request of HTTP/2 is for the tunnel's host", file: http2, text: `case d != t.flow.to:`, off: `case false:`, tests: "TestAnotherHostInAnInspectedTunnelIsMisdirected", in: in},
		{name: "interim responses are dropped", file: http2, text: `if status >= http.StatusOK {`, off: `if true {`, tests: "TestInterimResponsesDoNotReachTheSandbox", in: in},
		{name: "the canonical path is forwarded", file: http2, text: `to.Path, to.RawPath = path, f.forward`, off: `_ = path`, tests: "TestMethodsAndPathsAreRestricted", in: in},
		{name: "a restricted request needs inspection", file: "netguard/egress/flow.go", text: `verdict.Restricted() && (f.opaque || verdict.Rule.Pattern.TLS() && !f.proxy.inspects(f.to))`, off: `false`, tests: "TestARestrictedHostThatIsNotInspectedGetsNoTunnel TestMethodsAndPathsAreRestricted", in: in},
		{name: "an unknown host key is refused", file: known, text: `case len(wrong.Want) == 0:`, off: "case len(wrong.Want) == 0:\n		return nil\n	case false:", tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
		{name: "a revocation that cannot be read is not skipped", file: "netguard/egress/sshkey/readable.go", text: `case string(words[0]) == "@revoked" || string(words[0]) == "@cert-authority":`, off: `case false:`, tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
		{name: "a changed host key is refused", file: known, text: "	default:\n		return fmt.Errorf(\"the host key", off: "	default:\n		return nil\n		return fmt.Errorf(\"the host key", tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
		{name: "a revoked host key is refused", file: known, text: `case errors.As(err, &revoked):`, off: "case errors.As(err, &revoked):\n		return nil\n	case false:", tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
		{name: "another kind of key is refused", file: known, text: `return known.Key.Type() == key.Type() }):`, off: "return known.Key.Type() == key.Type() }):\n		return nil\n	case false:", tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
	}
}

// gateway are the controls of the inference gateway.
func gateway() []control {
	const admit, route, response, beyond, beta = "netguard/gateway/admit.go", "netguard/gateway/route.go", "netguard/gateway/response.go", "TestNoRequestReachesBeyondTheModel", "TestBetaHeaderHasOnlyListedValues"
	const leaves = "TestOutputOfAnAnswerThatTheAgentLeavesIsEstimatedByItsTime"
	const headers = "TestAllowedResponseHeadersPassIfWellFormed TestNoServerAnswerGivesTheKeyToTheAgent"
	return slices.Concat([]control{
		{name: "no encoded body", file: admit, text: `if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {`, off: `if encoding == "" {`, tests: "TestBodyThatIsNotPlainJSONIsRejected"},
		{name: "a body is JSON", file: admit, text: ` || kind != "application/json" ||`, off: ` || kind == "" ||`, tests: "TestBodyThatIsNotPlainJSONIsRejected"},
		{name: "a body is in UTF-8", file: admit, text: ` || ok && !strings.EqualFold(charset, "utf-8") {`, off: ` || ok && charset == "" {`, tests: "TestBodyThatIsNotPlainJSONIsRejected"},
		{name: "a session without a model has none", file: admit, text: "	if g.models == nil {\n		return \"\", false", off: "	if g.models == nil {\n		return asked, true", tests: "TestSessionWithoutAModelRequestsNone"},
		{name: "only the session's own models", file: admit, text: "	return \"\", false\n}\n\n// checkModelInPath", off: "	return asked, true\n}\n\n// checkModelInPath", tests: "TestNoRequestReachesBeyondTheModel TestModelInAPathMustBelongToTheSession"},
		{name: "only the session's own models in a path", file: admit, text: `_, own := g.ownModel(asked); !own {`, off: `_, own := g.ownModel(asked); false && own {`, tests: "TestModelInAPathMustBelongToTheSession"},
		{name: "uploads to the model are bounded", file: admit, text: `if !g.ledger.upload(head+body, g.uploadLimit) {`, off: `if g.ledger == nil {`, tests: "TestSessionSendsNoMoreThanItsLimit"},
		{name: "a path is one of the listed calls", file: route, text: `e.path.MatchString(path) && `, off: ``, tests: "TestOnlyInferencePasses"},
		{name: "a call has the listed method", file: route, text: `e.method == method && `, off: ``, tests: "TestOnlyInferencePasses"},
		{name: "only listed query parameters", file: route, text: `case len(values) != 1:`, off: `case len(values) == 0:`, tests: "TestARepeatedParameterIsNotPassedOn"},
	}, []control{
		{name: "no redirect of a model's server", file: response, text: `case status >= 300 && status < 400 && status != http.StatusNotModified, status == http.StatusSwitchingProtocols:`, off: `case false:`, tests: "TestRedirectIsNotFollowed TestNoServerAnswerGivesTheKeyToTheAgent"},
		{name: "no answer of a proxy that asks for credentials", file: response, text: `case status == http.StatusProxyAuthRequired:`, off: `case false:`, tests: "TestThePageOfAProxyThatAsksForCredentialsDoesNotReachTheAgent"},
		{name: "no compressed answer of a model's server", file: response, text: `if encoding != "" && !strings.EqualFold(encoding, "identity") {`, off: `if encoding == "never" && !strings.EqualFold(encoding, "identity") {`, tests: "TestCompressedAnswerBecomesADialectError"},
		{name: "answers are redacted", file: response, text: `ReadCloser: secrets.Reader(response.Body)`, off: `ReadCloser: response.Body`, tests: "TestNoServerAnswerGivesTheKeyToTheAgent"},
		{name: "no names of trailers of a model's server", file: response, text: `response.Trailer = nil // the announced length`, off: ``, tests: "TestNoServerAnswerGivesTheKeyToTheAgent"},
		{name: "no trailers of a model's server", file: "netguard/gateway/call.go", text: `f.response.Trailer = nil // read`, off: `// read`, tests: "TestNoServerAnswerGivesTheKeyToTheAgent"},
		{name: "no interim answer of a model's server", file: "netguard/gateway/call.go", text: `if status < http.StatusOK {`, off: `if false {`, tests: "TestNoServerAnswerGivesTheKeyToTheAgent"},
		{name: "no error quotes a model's server", file: "netguard/gateway/modelserver/explain.go", text: `where, reason(err))`, off: `where, err)`, tests: "TestNoServerAnswerGivesTheKeyToTheAgent", in: "netguard/gateway"},
		{name: "only listed headers of answers", file: response, text: `form != nil && len(values) == 1 && form.MatchString(values[0])`, off: `len(values) == 1 && (form == nil || form.MatchString(values[0]))`, tests: headers},
		{name: "headers of answers have their form", file: response, text: ` && form.MatchString(values[0])`, off: ``, tests: "TestAResponseHeaderOfAnotherFormIsLeftOut"},
		{name: "no header has a part of a secret", file: response, text: ` && !secrets.Fragment(values[0])`, off: ``, tests: headers},
		{name: "only listed beta features", file: "netguard/gateway/beta.go", text: `slices.Contains(betas(), name) || ok`, off: `true || ok`, tests: beta},
		{name: "beta features of tools only if allowed", file: "netguard/gateway/beta.go", text: `ok && slices.Contains(open, tool)`, off: `ok && tool > 0`, tests: beta},
		{name: "a request that was read is not sent again", file: "netguard/gateway/retry.go", text: `again && neverSent(err)`, off: `again`, tests: "TestRequestThatWasReadIsNeverSentAgain TestRequestIsSentAgainOnlyWhereThatIsSafe"},
		{name: "an answer that can cost more has no price", file: "netguard/gateway/budget.go", text: `if c.surcharge != "" && p != (price.Price{}) {`, off: `if c.surcharge != "" && false {`, tests: "TestARequestThatCanCostMoreThanItsModelHasNoPrice"},
		{name: "an answer that the agent leaves is estimated by its time", file: "netguard/gateway/budget.go", text: `sent && unknown && `, off: `sent && false && unknown && `, tests: leaves},
		{name: "an answer that ends at a write is left", file: "netguard/gateway/call.go", text: ` || !f.ended && !f.whole()`, off: ``, tests: leaves},
		{name: "a request that the server drops counts", file: "netguard/gateway/budget.go", text: ` || c.event.Outcome == Broken && c.connected.Load())`, off: `)`, tests: "TestOutputOfARequestThatIsGivenUpIsEstimatedByItsTime"},
		{name: "each choice of an answer is reserved", file: "netguard/gateway/reservation.go", text: `min(max(1, c.choices), `, off: `min(1, `, tests: "TestAReservationIsTheMostThatAnAnswerCanUse"},
		{name: "each run of the model counts", file: "netguard/gateway/usage/usage.go", text: `u.seeIteration(path, text, isString)`, off: ``, tests: "TestTokensAreCountedInEveryDialectWholeAndStreamed"},
		{name: "a slow body is cut off", file: "netguard/gateway/incoming.go", text: `next.Before(deadline) {`, off: `next.Before(deadline) || true {`, tests: "TestSlowRequestBodyIsCutOff"},
		{name: "the unread bytes of answers of HTTP/2 are bounded", file: "netguard/gateway/modelserver/transport.go", text: `receivebuffer.Config(receivebuffer.Response, most)`, off: `receivebuffer.Config(4<<20, most)`, tests: "TestAnswersThatTheAgentDoesNotReadTakeLittleMemory"},
		{name: "memory of bodies is bounded", file: "netguard/gateway/body.go", text: `if !g.ledger.reserve(size - int64(cap(body))) {`, off: `if g.ledger == nil {`, tests: "TestManyLargeBodiesAreRejectedAndTheirMemoryIsFreed"},
	})
}
