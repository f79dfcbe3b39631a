package sshagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"aibox/netguard"
)

// client is a connection from the sandbox. It belongs to one goroutine.
type client struct {
	agent    *Agent
	conn     net.Conn
	reach    func(netguard.Destination) (refusal string)
	record   func(to netguard.Destination, what, refusal string)
	upstream net.Conn // to the user's ssh-agent; nil until it is needed
	bound    *binding // nil until the client has proved its server
	asked    bool     // the client has tried to prove its server
}

// binding is a server that the client has proved to be connected to.
type binding struct {
	key       []byte // the host key
	sessionID []byte
	logins    []netguard.SSHLogin // the logins on that server; never empty
	raw       []byte              // the request, for the user's ssh-agent
}

func (c *client) close() {
	if c.upstream != nil {
		_ = c.upstream.Close()
	}
}

// errRefused is the error of a request that was refused and recorded.
var errRefused = errors.New("refused")

// refuse records a refusal.
func (c *client) refuse(what, format string, args ...any) error {
	var to netguard.Destination
	if c.bound != nil {
		to = c.bound.logins[0].Destination
	}
	c.record(to, what, fmt.Sprintf(format, args...))
	return errRefused
}

// answer returns the response to a request. After an error it is a failure.
func (c *client) answer(ctx context.Context, request []byte) ([]byte, error) {
	switch request[0] {
	case msgListKeys:
		return c.list(ctx, request)
	case msgSign:
		return c.sign(ctx, request)
	case msgExtension:
		return c.extend(request)
	}
	return nil, c.refuse("message", "the sandbox can list keys and sign logins, and sent message %d to the ssh-agent", request[0])
}

// extend answers an extension request. There is one extension.
func (c *client) extend(request []byte) ([]byte, error) {
	var extension struct {
		Name string `sshtype:"27"`
		Rest []byte `ssh:"rest"`
	}
	if ssh.Unmarshal(request, &extension) != nil || extension.Name != extensionBinding {
		return nil, errRefused // clients query the extensions
	}
	if c.asked { // each connection is for one login
		return nil, c.refuse("bind", "the connection to the ssh-agent is bound to a server already")
	}
	c.asked = true
	bound, why := c.agent.bind(extension.Rest)
	if why != "" {
		return nil, c.refuse("bind", "%s", why)
	}
	bound.raw = request
	c.bound = bound
	return []byte{msgSuccess}, nil
}

// bind checks a client's proof of its server. why is empty if the proof is valid.
func (a *Agent) bind(proof []byte) (_ *binding, why string) {
	var p struct {
		Key, SessionID, Signature []byte
		Forwarding                bool
	}
	if ssh.Unmarshal(proof, &p) != nil {
		return nil, "the proof of the SSH server cannot be read"
	}
	if p.Forwarding {
		return nil, "the ssh-agent cannot be forwarded to a server"
	}
	key, err := ssh.ParsePublicKey(p.Key)
	if err != nil {
		return nil, "the host key of the SSH server cannot be read"
	}
	var signature ssh.Signature
	if ssh.Unmarshal(p.Signature, &signature) != nil || !isHash(p.SessionID) || key.Verify(p.SessionID, &signature) != nil {
		return nil, fmt.Sprintf("the SSH server with the host key %s has not signed the session", ssh.FingerprintSHA256(key))
	}
	bound := &binding{key: p.Key, sessionID: p.SessionID}
	for _, login := range a.logins {
		if a.check(login.Destination, key) == nil {
			bound.logins = append(bound.logins, login)
		}
	}
	if len(bound.logins) == 0 {
		return nil, fmt.Sprintf("the host key %s of the SSH server is that of no server in the setting ssh-agent", ssh.FingerprintSHA256(key))
	}
	return bound, ""
}

// isHash reports whether a session identifier has the length of a hash: it is the exchange
// hash of the first key exchange. A server also signs other data, which is longer.
func isHash(id []byte) bool { return slices.Contains([]int{20, 32, 48, 64}, len(id)) }

// list lists the keys of the user's ssh-agent, without their comments.
func (c *client) list(ctx context.Context, request []byte) ([]byte, error) {
	none := ssh.Marshal(keyList{})
	if len(request) != 1 || c.bound == nil {
		return none, nil // many programs only check whether there are keys
	}
	response, err := c.forward(ctx, request)
	if err != nil {
		return nil, err
	}
	var list keyList
	if ssh.Unmarshal(response, &list) != nil {
		return nil, errors.New("the user's ssh-agent has no list of keys")
	}
	clean := keyList{Number: list.Number}
	for range list.Number {
		var k struct {
			Key, Comment []byte
			Rest         []byte `ssh:"rest"`
		}
		if err := ssh.Unmarshal(list.Keys, &k); err != nil {
			return nil, err
		}
		list.Keys = k.Rest
		clean.Keys = append(clean.Keys, ssh.Marshal(struct{ Key, Comment []byte }{Key: k.Key})...)
	}
	return ssh.Marshal(clean), nil
}

type keyList struct {
	Number uint32 `sshtype:"12"`
	Keys   []byte `ssh:"rest"`
}

// sign passes on a request to sign a login.
func (c *client) sign(ctx context.Context, request []byte) ([]byte, error) {
	var r struct {
		Key   []byte `sshtype:"13"`
		Data  []byte
		Flags uint32
	}
	if ssh.Unmarshal(request, &r) != nil {
		return nil, c.refuse("sign", "the request to sign cannot be read")
	}
	if c.bound == nil {
		return nil, c.refuse("sign", "the client has not proved which SSH server it logs in to, which ssh does from OpenSSH 8.9 on")
	}
	user, why := c.bound.login(r.Data, r.Key)
	if why != "" {
		return nil, c.refuse("sign", "%s", why)
	}
	login, why := c.permitted(user)
	if why != "" {
		return nil, c.refuse("sign", "%s", why)
	}
	response, err := c.forward(ctx, request)
	if err != nil || response[0] != msgSignature {
		return nil, c.refuse("sign", "the user's ssh-agent has not signed")
	}
	c.record(login.Destination, "login as "+user, "")
	return response, nil
}

// permitted returns the login of a user on the bound server, or why there is none. The
// session must be able to reach the server: its policy can exclude it, and the connection may
// lead there through another host.
func (c *client) permitted(user string) (login netguard.SSHLogin, why string) {
	for _, login := range c.bound.logins {
		if login.User != user {
			continue
		}
		refusal := c.reach(login.Destination)
		if refusal == "" {
			return login, ""
		}
		why = fmt.Sprintf("the session may not reach %s: %s", login.Destination, refusal)
	}
	if why == "" {
		var logins []string
		for _, login := range c.bound.logins {
			logins = append(logins, login.String())
		}
		why = fmt.Sprintf("the login is of the user %q, and the setting ssh-agent has %s", user, strings.Join(logins, ", "))
	}
	return netguard.SSHLogin{}, why
}

// login checks that data is a login on the bound connection with this key, and returns its
// user. why is empty if it is.
func (b *binding) login(data, key []byte) (user, why string) {
	var l struct {
		SessionID             []byte
		Message               byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
		Rest                  []byte `ssh:"rest"`
	}
	const (
		msgUserAuth = 50
		publicKey   = "publickey"
		hostBound   = "publickey-hostbound-v00@openssh.com"
	)
	if ssh.Unmarshal(data, &l) != nil || l.Message != msgUserAuth || l.Service != "ssh-connection" || !l.Signed {
		return "", "the ssh-agent signs nothing but logins to SSH servers"
	}
	if string(l.SessionID) != string(b.sessionID) {
		return "", "the login is on another connection than the one that the client has proved"
	}
	if string(l.Key) != string(key) {
		return "", "the login is with another key than the one that signs it"
	}
	switch l.Method {
	case publicKey:
		if len(l.Rest) == 0 {
			return l.User, ""
		}
	case hostBound:
		var server struct{ Key []byte }
		if ssh.Unmarshal(l.Rest, &server) == nil && string(server.Key) == string(b.key) {
			return l.User, ""
		}
	}
	return "", "the ssh-agent signs nothing but logins to the server that the client has proved"
}

// forward passes on a request to the user's ssh-agent and returns its response. That agent
// first receives the client's proof, so that it can enforce restrictions of its keys, too.
func (c *client) forward(ctx context.Context, request []byte) ([]byte, error) {
	if c.upstream == nil {
		conn, err := c.agent.connect(ctx)
		if err != nil {
			return nil, c.refuse("connect", "your ssh-agent cannot be reached: %v", err)
		}
		c.upstream = conn
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		if _, err := c.exchange(c.bound.raw); err != nil { // agents that do not know it refuse it
			return nil, err
		}
	}
	return c.exchange(request)
}

func (c *client) exchange(request []byte) ([]byte, error) {
	if err := writeMessage(c.upstream, request); err != nil {
		return nil, err
	}
	return readMessage(c.upstream)
}
