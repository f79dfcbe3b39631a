// Package sshkey checks the host keys of SSH servers in the connections of a sandbox
// against the user's known_hosts. A server whose key is not known, has changed or is
// revoked is cut off before the client can send a credential, and so is anything that is
// not SSH.
//
// It reads the beginning of the client's own connection, which is not encrypted: the
// identification lines, both key exchange offers, and the server's reply with its host key
// (RFC 4253, sections 4.2, 7 and 8). The client checks that the server holds that key, and
// this package checks that it is the right one. A separate handshake by the proxy would prove
// both, but only for its own connection: the next one may reach another server.
//
// It protects a client that follows the protocol. A client that cooperates with a server
// could ignore a false reply, but it could just as well send anything through TLS.
//
// golang.org/x/crypto/ssh reads the keys and known_hosts. It has no reader for a handshake
// between two other parties, so that is written here.
package sshkey

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"aibox/netguard"
)

// KnownHosts are the host keys that the user knows. It implements egress.HostKeys. The files
// are read for each connection, so that a key that the user adds is known at once.
type KnownHosts struct {
	files []string
}

// New returns the keys in these files of known_hosts. Files that do not exist are empty.
func New(files ...string) *KnownHosts { return &KnownHosts{files} }

// Files returns the files that OpenSSH reads for a user with this home folder.
func Files(home string) []string {
	return []string{
		filepath.Join(home, ".ssh", "known_hosts"), filepath.Join(home, ".ssh", "known_hosts2"),
		"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2",
	}
}

// Guard returns a connection that relays conn, a connection to d. If the server does not
// prove to be d, the client receives a message with the reason, and then refuse is called
// with it, once, and the connection ends.
func (k *KnownHosts) Guard(d netguard.Destination, conn net.Conn, refuse func(error)) net.Conn {
	return &guardedConn{Conn: conn, refuse: refuse, handshake: handshake{verify: func(key ssh.PublicKey) error { return k.Check(d, key) }}}
}

// Check returns an error with the reason unless key is known as a host key of d.
func (k *KnownHosts) Check(d netguard.Destination, key ssh.PublicKey) error {
	check, err := k.load()
	if err != nil {
		return err
	}
	err = check(address(d), noAddr{}, key)
	var wrong *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	presented := fmt.Sprintf("%s %s", key.Type(), ssh.FingerprintSHA256(key))
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return fmt.Errorf("the host key of %s (%s) is revoked in your known_hosts", d, presented)
	case !errors.As(err, &wrong):
		return fmt.Errorf("the host key of %s (%s) is not accepted: %w", d, presented, err)
	case len(wrong.Want) == 0:
		return fmt.Errorf("the host key of %s (%s) is not in your known_hosts: connect to it yourself once, with: %s", d, presented, command(d))
	case !slices.ContainsFunc(wrong.Want, func(known knownhosts.KnownKey) bool { return known.Key.Type() == key.Type() }):
		return fmt.Errorf("your known_hosts has other kinds of keys for %s (%s) than the server presented (%s): connect to it yourself once, with: %s -o HostKeyAlgorithms=%s",
			d, kinds(wrong.Want), presented, command(d), key.Type())
	default:
		return fmt.Errorf("the host key of %s has changed (%s): it is not the server that your known_hosts knows, at %s:%d",
			d, presented, wrong.Want[0].Filename, wrong.Want[0].Line)
	}
}

// Lines returns the known keys of d as lines of known_hosts, without hashes: for a client in
// the sandbox, which needs them, too. Certificate authorities are not among them.
func (k *KnownHosts) Lines(d netguard.Destination) ([]string, error) {
	check, err := k.load()
	if err != nil {
		return nil, err
	}
	var lines []string
	var wrong *knownhosts.KeyError
	if err := check(address(d), noAddr{}, noKey{}); errors.As(err, &wrong) {
		for _, known := range wrong.Want {
			lines = append(lines, knownhosts.Line([]string{address(d)}, known.Key))
		}
	}
	return lines, nil
}

// load reads the files.
func (k *KnownHosts) load() (ssh.HostKeyCallback, error) {
	var files []string
	for _, file := range k.files {
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("your known_hosts cannot be read: %w", err)
		}
	}
	check, err := readKnown(files)
	if err != nil {
		return nil, fmt.Errorf("your known_hosts cannot be read: %w", err)
	}
	return check, nil
}

func address(d netguard.Destination) string {
	return net.JoinHostPort(d.Host.String(), strconv.Itoa(int(d.Port)))
}

// command returns the command with which the user connects to d.
func command(d netguard.Destination) string {
	if d.Port == 22 {
		return "ssh " + d.Host.String()
	}
	return fmt.Sprintf("ssh -p %d %s", d.Port, d.Host)
}

// kinds returns the types of keys.
func kinds(known []knownhosts.KnownKey) string {
	var all []string
	for _, k := range known {
		all = append(all, k.Key.Type())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// noAddr is a placeholder for the address of a server, since known_hosts is searched by name.
type noAddr struct{}

func (noAddr) Network() string { return "tcp" }
func (noAddr) String() string  { return "0.0.0.0:0" }

// noKey is a key that no server has. It is used to find the known keys of a host.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }
