// Package sshagent lets programs in a sandbox log in to SSH servers with keys of the user's
// ssh-agent, which never leave it. It passes a request to sign on only if the signature is
// for a login that the session lists: a user and a server.
//
// A signature of an SSH login is over the session identifier of a connection (RFC 4252,
// section 7), which does not identify the server. So the client first has to prove which
// server the connection leads to, with the extension session-bind@openssh.com (PROTOCOL.agent
// of OpenSSH, section 1): it presents the server's signature over the session identifier,
// which is in the handshake of every connection (RFC 4253, section 8). Only the owner of the
// host key can have made it, and it is valid for no other connection. The host key must be in
// the user's known_hosts. The client in OpenSSH does so from version 8.9 on.
//
// Everything else is refused: keys are listed only to a client that has proved its server,
// without their comments; keys cannot be added or removed; data that is not a login, such as
// a Git commit, is not signed; and a connection that forwards the agent to a server is
// refused.
//
// golang.org/x/crypto/ssh/agent has a client and a server, but the server interface exposes
// neither the order of requests on one connection nor raw messages, which this protocol
// needs.
package sshagent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/ssh"

	"aibox/netguard"
)

// Agent is the ssh-agent of one session. It is safe for concurrent use.
type Agent struct {
	logins  []netguard.SSHLogin
	check   func(netguard.Destination, ssh.PublicKey) error
	connect func(context.Context) (net.Conn, error)
	slots   chan struct{}
}

// maxConnections is how many connections the sandbox can have at a time.
const maxConnections = 16

// New returns an agent that signs only for logins. check returns an error unless a key is
// known as a host key of a server, and connect connects to the user's ssh-agent.
func New(logins []netguard.SSHLogin, check func(netguard.Destination, ssh.PublicKey) error, connect func(context.Context) (net.Conn, error)) *Agent {
	return &Agent{logins, check, connect, make(chan struct{}, maxConnections)}
}

// Serve serves a connection from the sandbox, and closes it at the end. It ends with ctx.
// reach returns why the session may not reach a server now, or "". record is called for each
// request that was passed on or refused: to is the server, or the zero value if unknown; what
// names the login or the request; and refusal is the reason for a refusal, or "".
func (a *Agent) Serve(ctx context.Context, conn net.Conn, reach func(netguard.Destination) (refusal string), record func(to netguard.Destination, what, refusal string)) {
	defer conn.Close()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	default:
		record(netguard.Destination{}, "connect", fmt.Sprintf("there are %d connections to the ssh-agent already, the limit", maxConnections))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c := &client{agent: a, conn: conn, reach: reach, record: record}
	defer c.close()
	for {
		request, err := readMessage(conn)
		if err != nil {
			return
		}
		response, err := c.answer(ctx, request)
		if err != nil {
			response = []byte{msgFailure}
		}
		if writeMessage(conn, response) != nil {
			return
		}
	}
}

// Messages of the protocol (draft-ietf-sshm-ssh-agent, section 6.1).
const (
	msgFailure       = 5
	msgSuccess       = 6
	msgListKeys      = 11
	msgKeys          = 12
	msgSign          = 13
	msgSignature     = 14
	msgExtension     = 27
	extensionBinding = "session-bind@openssh.com"
)

// maxMessage is the largest message, as in OpenSSH.
const maxMessage = 256 << 10

// readMessage reads a message, which has at least its type.
func readMessage(in io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size == 0 || size > maxMessage {
		return nil, errors.New("a message of the ssh-agent protocol is empty or too long")
	}
	message := make([]byte, size)
	_, err := io.ReadFull(in, message)
	return message, err
}

func writeMessage(out io.Writer, message []byte) error {
	_, err := out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}
