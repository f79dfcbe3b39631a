package main

import "slices"

// ssh are the controls about SSH servers before their keys are in use, and about the user's
// ssh-agent.
func ssh() []control {
	const handshake, client = "netguard/egress/sshkey/handshake.go", "netguard/egress/sshagent/client.go"
	const only, hide, follow = "TestOnlySSHPasses", "TestAServerCannotHideItsKey", "TestEveryKeyExchangeIsFollowed"
	const nothing, another = "TestNothingElseIsSigned", "TestAConnectionIsForOneServer"
	return slices.Concat([]control{
		{name: "a handshake is bounded", file: handshake, text: `if s.total += length; s.total > maxHandshake {`, off: `if s.total += length; false {`, tests: only + " " + hide},
		{name: "a packet before the keys is bounded", file: handshake, text: `case length > maxPacket:`, off: `case false:`, tests: only + " " + hide},
		{name: "a packet has the form of SSH", file: handshake, text: `case (length+4)%8 != 0 || padding < 4 || int(length) < 1+padding+1:`, off: `case int(length) < 1+padding+1:`, tests: only + " " + hide},
		{name: "an identification is one of SSH 2", file: handshake, text: `return bytes.HasPrefix(line, []byte("SSH-2.0-")) || bytes.HasPrefix(line, []byte("SSH-1.99-"))`, off: `return bytes.HasPrefix(line, []byte("SSH-"))`, tests: only + " " + hide},
		{name: "lines before an identification are bounded", file: handshake, text: `, at+len(line) > maxPreamble, `, off: `, `, tests: only + " " + hide},
		{name: "an identification is bounded", file: handshake, text: `complete && len(line) < maxIdentification:`, off: `complete:`, tests: only + " " + hide},
		{name: "a client offers a key exchange first", file: handshake, text: `err = fmt.Errorf("the client sent message %d before it offered a key exchange", payload[0])`, off: `_ = fmt.Errorf`, tests: only + " " + hide},
		{name: "a server offers one key exchange", file: handshake, text: `case kind == msgKexInit && h.server.kex == nil:`, off: `case kind == msgKexInit:`, tests: hide},
		{name: "no new keys before the host key is checked", file: handshake, text: `case kind == msgNewKeys && h.verified:`, off: `case kind == msgNewKeys:`, tests: hide},
		{name: "a server sends one host key", file: handshake, text: ` == (kind == msgGexReply) && !h.verified:`, off: ` == (kind == msgGexReply):`, tests: hide},
		{name: "the reply belongs to the method", file: handshake, text: `case strings.HasPrefix(method, groupExchange) == (kind == msgGexReply) && !h.verified:`, off: `case !h.verified:`, tests: hide},
		{name: "only methods whose host key can be found", file: handshake, text: `if !slices.ContainsFunc(kexMethods, func(known string) bool { return strings.HasPrefix(method, known) }) {`, off: `if method == "" {`, tests: hide + " " + follow},
		{name: "the host key is checked", file: handshake, text: "	if err := h.verify(key); err != nil {\n		return err\n	}", off: "	_ = h.verify(key)", tests: "TestAServerThatIsNotKnownIsCutOffBeforeAuthentication"},
	}, []control{
		{name: "messages to the ssh-agent are bounded", file: "netguard/egress/sshagent/sshagent.go", text: ` || size > maxMessage {`, off: ` {`, tests: "TestALongMessageEndsTheConnection"},
		{name: "no other message reaches the ssh-agent", file: client, text: "	return nil, c.refuse(\"message\", \"the sandbox can list keys and sign logins, and sent message %d to the ssh-agent\", request[0])", off: "	return c.forward(ctx, request)", tests: "TestNoOtherMessageReachesTheUsersAgent"},
		{name: "the ssh-agent signs for servers that the session may reach", file: client, text: `refusal := c.reach(login.Destination)`, off: `refusal := ""`, tests: "TestNoLoginIsSignedToAServerThatTheSessionMayNotReach"},
		{name: "the policy decides about logins", file: "netguard/egress/sshagent.go", text: `return verdict.Reason.String()`, off: `return ""`, tests: "TestLoginsAreForServersThatTheSessionMayReach"},
		{name: "the ssh-agent has one extension", file: client, text: ` || extension.Name != extensionBinding {`, off: ` {`, tests: "TestNoOtherMessageReachesTheUsersAgent " + another},
		{name: "a connection to the ssh-agent is for one server", file: client, text: `if c.asked { // each connection is for one login`, off: `if false {`, tests: another},
		{name: "the ssh-agent is not forwarded", file: client, text: `if p.Forwarding {`, off: `if false {`, tests: nothing + " " + another},
		{name: "the server has signed the session", file: client, text: ` || key.Verify(p.SessionID, &signature) != nil {`, off: ` {`, tests: nothing + " " + another},
		{name: "the session is the hash of a key exchange", file: client, text: ` || !isHash(p.SessionID) || `, off: ` || `, tests: nothing + " " + another},
		{name: "the ssh-agent is for listed servers", file: client, text: `if a.check(login.Destination, key) == nil {`, off: `if true {`, tests: nothing + " " + another},
		{name: "keys are listed for a listed server", file: client, text: `if len(request) != 1 || c.bound == nil {`, off: `if len(request) != 1 {`, tests: "TestKeysAreListedOnlyForAListedServerAndWithoutComments"},
		{name: "keys are listed without comments", file: client, text: `struct{ Key, Comment []byte }{Key: k.Key}`, off: `struct{ Key, Comment []byte }{k.Key, k.Comment}`, tests: "TestKeysAreListedOnlyForAListedServerAndWithoutComments"},
		{name: "nothing is signed for an unproved server", file: client, text: "	if c.bound == nil {\n		return nil, c.refuse(\"sign\", \"the client", off: "	if false {\n		return nil, c.refuse(\"sign\", \"the client", tests: nothing},
		{name: "a login is of a listed user", file: client, text: `if login.User != user {`, off: `if false {`, tests: nothing},
		{name: "nothing but a login is signed", file: client, text: ` || l.Message != msgUserAuth || l.Service != "ssh-connection" || !l.Signed {`, off: ` {`, tests: nothing},
		{name: "a login is on the proved connection", file: client, text: `if string(l.SessionID) != string(b.sessionID) {`, off: `if false {`, tests: nothing},
		{name: "a login names the key that signs it", file: client, text: `if string(l.Key) != string(key) {`, off: `if false {`, tests: nothing},
		{name: "a login has nothing after its key", file: client, text: `if len(l.Rest) == 0 {`, off: `if true {`, tests: nothing},
		{name: "a login bound to a host names the proved one", file: client, text: `ssh.Unmarshal(l.Rest, &server) == nil && string(server.Key) == string(b.key)`, off: `ssh.Unmarshal(l.Rest, &server) == nil`, tests: nothing},
		{name: "the user's ssh-agent gets the proof", file: client, text: `if _, err := c.exchange(c.bound.raw); err != nil {`, off: `if err := ctx.Err(); err != nil {`, tests: "TestTheUsersAgentReceivesTheProof"},
	})
}

// authorities are the controls of the certificate authority of inspected hosts.
func authorities() []control {
	const file, authority, leaf = "netguard/egress/inspect/authority.go", "TestTheAuthorityCanOnlySignCertificatesOfServersForAWeek TestTheAuthorityIsForInspectedHostsAlone", "TestACertificateIsOfOneServerForADay"
	return []control{
		{name: "the authority lives a week", file: file, text: `NotAfter:                    now.Add(authorityLife)`, off: `NotAfter:                    now.Add(10 * authorityLife)`, tests: authority},
		{name: "the authority makes no authorities", file: file, text: `MaxPathLenZero:              true,`, off: ``, tests: authority},
		{name: "the authority only signs certificates", file: file, text: `x509.KeyUsageCertSign,`, off: `x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,`, tests: authority},
		{name: "the constraint of the authority is critical", file: file, text: `PermittedDNSDomainsCritical: true,`, off: ``, tests: authority},
		{name: "the authority is for its names", file: file, text: `template.PermittedDNSDomains = append(template.PermittedDNSDomains, host.Name())`, off: ``, tests: authority},
		{name: "the authority is for its addresses", file: file, text: `if len(template.PermittedIPRanges) == 0 {`, off: `if false {`, tests: authority},
		{name: "an authority of addresses has no name", file: file, text: `template.PermittedDNSDomains = []string{"invalid"}`, off: ``, tests: authority},
		{name: "a certificate lives a day", file: file, text: `NotAfter:     now.Add(leafLife)`, off: `NotAfter:     now.Add(3 * leafLife)`, tests: leaf},
		{name: "a certificate is for servers", file: file, text: `ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},`, off: ``, tests: leaf},
		{name: "certificates in memory are bounded", file: file, text: `if len(a.leaves) >= maxLeaves {`, off: `if false {`, tests: "TestCertificatesOfAWildcardAreBounded"},
	}
}
