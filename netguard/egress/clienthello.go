package egress

import (
	"bufio"
	"bytes"
	"encoding/binary"

	"golang.org/x/crypto/cryptobyte"

	"aibox/netguard"
)

// Parts of TLS (RFC 8446, sections 4 and 5.1).
const (
	recordChangeCipherSpec = 20
	recordAlert            = 21
	recordHandshake        = 22
	recordApplicationData  = 23
	messageClientHello     = 1
	nameTypeHost           = 0

	extensionServerName           = 0
	extensionEarlyData            = 42
	extensionEncryptedClientHello = 0xfe0d // RFC 9849
	extensionEncryptedServerName  = 0xffce // drafts of it
)

// Bounds of a ClientHello. Post-quantum key shares make one of about 2 KiB; a session ticket
// may add some.
const (
	maxHello       = 32 << 10
	maxRecord      = 1<<14 + 256
	maxHelloPieces = 64
)

// clientHello has the parts of a ClientHello that the proxy checks.
type clientHello struct {
	serverName    string // as sent
	hasServerName bool
	encrypted     bool // there is also an encrypted one, or a placeholder for one
	earlyData     bool // application data may follow at once
}

// readClientHello consumes and returns the records of a whole ClientHello, which may arrive
// in many records and segments. The error is a *refusal if they are not a ClientHello.
func readClientHello(r *bufio.Reader) (raw []byte, hello clientHello, err error) {
	var message []byte
	for range maxHelloPieces {
		header, err := r.Peek(5)
		if err != nil {
			return nil, hello, err
		}
		length := int(binary.BigEndian.Uint16(header[3:]))
		if header[0] != recordHandshake || header[1] != 3 || length == 0 || length > maxRecord {
			return nil, hello, badHello()
		}
		record, err := r.Peek(5 + length)
		if err != nil {
			return nil, hello, err
		}
		raw, message = append(raw, record...), append(message, record[5:]...)
		if _, err := r.Discard(len(record)); err != nil {
			return nil, hello, err
		}
		if len(message) > maxHello {
			return nil, hello, badHello()
		}
		complete, rest, ok := splitHello(message)
		switch {
		case !ok || complete != nil && len(rest) > 0:
			return nil, hello, badHello()
		case complete != nil:
			hello, ok := parseClientHello(complete)
			if !ok {
				return nil, hello, badHello()
			}
			return raw, hello, nil
		}
	}
	return nil, hello, badHello()
}

func badHello() *refusal {
	return forbid("bad-hello", "the tunnel does not begin with one TLS ClientHello of at most %d bytes", maxHello)
}

// splitHello returns the body of the ClientHello that message begins with, or nil if it is
// not complete, and the bytes after it. It reports false if message begins with anything
// else.
func splitHello(message []byte) (body, rest []byte, ok bool) {
	if len(message) > 0 && message[0] != messageClientHello {
		return nil, nil, false
	}
	if len(message) < 4 {
		return nil, nil, true
	}
	length := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
	if length > maxHello {
		return nil, nil, false
	}
	if len(message) < 4+length {
		return nil, nil, true
	}
	return message[4 : 4+length], message[4+length:], true
}

// parseClientHello reads the body of a ClientHello. It is strict: every length must fit, no
// extension may be repeated, and a server name is one host name. Unknown extensions and
// values, such as those of GREASE (RFC 8701), are ignored.
//
// The parser of crypto/tls cannot be called by itself: GetConfigForClient runs it inside a
// server's handshake, which does not expose extensions with encrypted names and rejects
// anything that the server does not support. A fuzz test compares the two.
func parseClientHello(body []byte) (hello clientHello, ok bool) {
	in := cryptobyte.String(body)
	var session, suites, compressions, extensions cryptobyte.String
	if !in.Skip(2+32) || !in.ReadUint8LengthPrefixed(&session) || !in.ReadUint16LengthPrefixed(&suites) ||
		!in.ReadUint8LengthPrefixed(&compressions) {
		return hello, false
	}
	if in.Empty() {
		return hello, true // TLS 1.2 without extensions
	}
	if !in.ReadUint16LengthPrefixed(&extensions) || !in.Empty() {
		return hello, false
	}
	seen := map[uint16]bool{}
	for !extensions.Empty() {
		var kind uint16
		var data cryptobyte.String
		if !extensions.ReadUint16(&kind) || !extensions.ReadUint16LengthPrefixed(&data) || seen[kind] {
			return hello, false
		}
		seen[kind] = true
		switch kind {
		case extensionServerName:
			if hello.serverName, ok = parseServerName(data); !ok {
				return hello, false
			}
			hello.hasServerName = true
		case extensionEncryptedClientHello, extensionEncryptedServerName:
			hello.encrypted = true
		case extensionEarlyData:
			hello.earlyData = true
		}
	}
	return hello, true
}

// parseServerName reads the server_name extension (RFC 6066, section 3).
func parseServerName(data cryptobyte.String) (string, bool) {
	var list, name cryptobyte.String
	var kind uint8
	if !data.ReadUint16LengthPrefixed(&list) || !data.Empty() ||
		!list.ReadUint8(&kind) || kind != nameTypeHost || !list.ReadUint16LengthPrefixed(&name) || !list.Empty() {
		return "", false
	}
	return string(name), len(name) > 0 && !bytes.ContainsRune(name, 0)
}

// check returns a refusal unless the ClientHello is for the host of the tunnel. An address
// has no server name (RFC 6066 forbids it), and a name must have one.
//
// An encrypted server name is refused, because the server would use it instead of the one
// that was checked, and the two can be of different owners. A placeholder (GREASE ECH) is
// made to look the same, so it is refused, too. Browsers send one by default; curl, git,
// Node.js, Python, Go, Java and Rust's tools do not.
func (h clientHello) check(to netguard.Destination) *refusal {
	_, isAddress := to.Host.Address()
	switch {
	case h.encrypted:
		return forbid("encrypted-server-name", "the TLS connection has an encrypted server name (ECH), which the proxy cannot check").
			withHint("turn off Encrypted Client Hello in the program, for Chromium with --disable-features=EncryptedClientHello")
	case isAddress && h.hasServerName:
		return forbid("wrong-server-name", "the tunnel is for an address, but the TLS server name is %s", printable(clip(h.serverName, 100)))
	case isAddress:
		return nil
	case !h.hasServerName:
		return forbid("no-server-name", "the TLS connection names no server (SNI)")
	case lowerASCII(h.serverName) != to.Host.Name():
		return forbid("wrong-server-name", "the tunnel is for %s, but the TLS server name is %s", to.Host, printable(clip(h.serverName, 100)))
	}
	return nil
}

// lowerASCII returns text with the ASCII letters in lower case. strings.ToLower would map
// other characters to ASCII letters.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}
