package sshkey

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/ssh"
)

// Messages of the transport layer (RFC 4253, section 12, and RFC 4419).
const (
	msgDisconnect    = 1
	msgIgnore        = 2
	msgUnimplemented = 3
	msgDebug         = 4
	msgKexInit       = 20
	msgNewKeys       = 21
	msgKexReply      = 31 // of most methods; KEX_DH_GEX_GROUP of the group exchange
	msgGexReply      = 33 // of the group exchange
)

// Bounds of the messages of both sides before the keys are in use.
const (
	maxIdentification = 255     // bytes of the line, with CR and LF
	maxPreamble       = 8 << 10 // bytes of the lines that a server may send before it
	maxPacket         = 64 << 10
	maxHandshake      = 256 << 10
)

// kexMethods begin the names of the key exchange methods whose replies are known to begin
// with the host key. Replies of others, such as GSS-API and RSA, could have it elsewhere.
var kexMethods = []string{"curve25519-sha256", "curve448-sha512", "ecdh-sha2-", "diffie-hellman-group", "sntrup761x25519-sha512", "sntrup4591761x25519-sha512", "mlkem768x25519-sha256", "mlkem768nistp256-sha256", "mlkem1024nistp384-sha384"}

// groupExchange begins the names of the methods in which message 31 has no host key.
const groupExchange = "diffie-hellman-group-exchange-"

// handshake follows both directions until the server's keys are in use.
type handshake struct {
	verify func(ssh.PublicKey) error

	client, server side
	verified       bool // the server's reply had a key that verify accepts
}

// side is the state of one side's data.
type side struct {
	held       []byte // bytes that are incomplete, or may not pass yet
	total      int
	identified bool
	kex        []string // the methods it offers; nil until its offer is complete
	done       bool     // the rest passes unchecked
	pass       []byte   // bytes that the other side may receive
}

// take returns the bytes that may pass, or nil if none is left and all later bytes pass
// unchecked.
func (s *side) take() []byte {
	pass := s.pass
	s.pass = nil
	if pass == nil && !s.done {
		pass = []byte{}
	}
	return pass
}

// fromServer takes bytes of the server and returns those that the client may receive.
func (h *handshake) fromServer(data []byte) ([]byte, error) {
	if err := h.server.follow(data, "server", h.serverMessage); err != nil {
		return nil, err
	}
	return h.server.take(), nil
}

// fromClient takes bytes of the client. Those that the server may receive are in
// client.take.
func (h *handshake) fromClient(data []byte) error {
	if h.client.done {
		return nil
	}
	return h.client.follow(data, "client", h.clientMessage)
}

// follow takes the next bytes of a side, and passes each message to message.
func (s *side) follow(data []byte, name string, message func(payload []byte) error) error {
	s.held = append(s.held, data...)
	for !s.done {
		length, err := s.next()
		if err != nil {
			return fmt.Errorf("the %s %w", name, err)
		}
		if length == 0 {
			return nil
		}
		if s.total += length; s.total > maxHandshake {
			return fmt.Errorf("the %s sent more than %d bytes before its keys were in use", name, maxHandshake)
		}
		if s.identified {
			err = message(s.held[5 : length-int(s.held[4])])
		}
		if err != nil {
			return err
		}
		s.identified = true
		s.pass, s.held = append(s.pass, s.held[:length]...), s.held[length:]
	}
	s.pass, s.held = append(s.pass, s.held...), nil
	return nil
}

// next returns the length of the first complete unit in the held bytes: the identification
// with the lines before it, or a packet. It is 0 if none is complete.
func (s *side) next() (int, error) {
	if !s.identified {
		return identification(s.held)
	}
	if len(s.held) < 5 {
		return 0, nil
	}
	length, padding := binary.BigEndian.Uint32(s.held), int(s.held[4])
	switch {
	case length > maxPacket:
		return 0, fmt.Errorf("sent a packet with more than %d bytes", maxPacket)
	case (length+4)%8 != 0 || padding < 4 || int(length) < 1+padding+1:
		return 0, errors.New("sent a packet that is not one of SSH")
	case len(s.held) < 4+int(length):
		return 0, nil
	}
	return 4 + int(length), nil
}

// identification returns the length of the lines up to the identification, or 0 if they are
// not complete.
func identification(data []byte) (int, error) {
	for at := 0; ; {
		line, rest, complete := bytes.Cut(data[at:], []byte("\n"))
		switch {
		case isIdentification(line) && complete && len(line) < maxIdentification:
			return at + len(line) + 1, nil
		case bytes.HasPrefix(line, []byte("SSH-")) && complete, at+len(line) > maxPreamble, bytes.HasPrefix(line, []byte("SSH-")) && len(line) >= maxIdentification:
			return 0, errors.New("does not identify itself with a version of SSH 2")
		case !complete:
			return 0, nil
		}
		at = len(data) - len(rest)
	}
}

func isIdentification(line []byte) bool {
	return bytes.HasPrefix(line, []byte("SSH-2.0-")) || bytes.HasPrefix(line, []byte("SSH-1.99-"))
}

// clientMessage checks a message of the client. After its offer, the rest can pass.
func (h *handshake) clientMessage(payload []byte) (err error) {
	switch payload[0] {
	case msgKexInit:
		h.client.kex, err = kexOffer(payload)
		h.client.done = err == nil
	case msgDisconnect, msgIgnore, msgUnimplemented, msgDebug:
	default:
		err = fmt.Errorf("the client sent message %d before it offered a key exchange", payload[0])
	}
	return err
}

// serverMessage checks a message of the server. After its keys are in use, the rest can
// pass.
func (h *handshake) serverMessage(payload []byte) (err error) {
	switch kind := payload[0]; {
	case kind == msgKexInit && h.server.kex == nil:
		h.server.kex, err = kexOffer(payload)
		return err
	case kind == msgDisconnect || kind == msgIgnore || kind == msgUnimplemented || kind == msgDebug:
		return nil
	case kind == msgNewKeys && h.verified:
		h.server.done = true
		return nil
	case kind == msgKexReply || kind == msgGexReply:
		method, err := h.method()
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(method, groupExchange) && kind == msgKexReply:
			return nil // the group
		case strings.HasPrefix(method, groupExchange) == (kind == msgGexReply) && !h.verified:
			return h.reply(payload)
		}
	}
	return fmt.Errorf("the server sent message %d, which does not belong there, before its keys were in use", payload[0])
}

// method returns the key exchange method: the client's first one that the server offers,
// too (RFC 4253, section 7.1).
func (h *handshake) method() (string, error) {
	if h.client.kex == nil || h.server.kex == nil {
		return "", errors.New("the server sent its key before both sides offered a key exchange")
	}
	for _, method := range h.client.kex {
		if !slices.Contains(h.server.kex, method) {
			continue
		}
		if !slices.ContainsFunc(kexMethods, func(known string) bool { return strings.HasPrefix(method, known) }) {
			return "", fmt.Errorf("the host key cannot be checked with the key exchange method %q", method)
		}
		return method, nil
	}
	return "", errors.New("the client and the server have no key exchange method in common")
}

// reply checks the host key in the server's reply.
func (h *handshake) reply(payload []byte) error {
	in := cryptobyte.String(payload[1:])
	blob, ok := readString(&in)
	if !ok {
		return errors.New("the server sent a reply without a host key")
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return fmt.Errorf("the server sent a host key that cannot be read: %w", err)
	}
	if err := h.verify(key); err != nil {
		return err
	}
	h.verified = true
	return nil
}

// kexOffer returns the methods in a KEXINIT message.
func kexOffer(payload []byte) ([]string, error) {
	in := cryptobyte.String(payload[1:])
	const cookie = 16
	if !in.Skip(cookie) {
		return nil, errors.New("an offer of a key exchange is incomplete")
	}
	names, ok := readString(&in)
	if !ok || len(names) == 0 {
		return nil, errors.New("an offer of a key exchange has no methods")
	}
	return strings.Split(string(names), ","), nil
}

// readString reads a string of RFC 4251, section 5.
func readString(in *cryptobyte.String) ([]byte, bool) {
	var length uint32
	var text []byte
	ok := in.ReadUint32(&length) && int64(length) <= int64(len(*in)) && in.ReadBytes(&text, int(length))
	return text, ok
}
