package workspace

import (
	"bytes"
	"regexp"
)

// largestKey bounds the files that are looked at as private keys, in bytes.
const largestKey = 64 << 10

// pemKey is the first line of a private key as OpenSSL, OpenSSH, PuTTY and GnuPG write it.
var pemKey = regexp.MustCompile(`(?m)^-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)

// isPrivateKey reports whether a file is a private key: it begins as such a file does, so
// that a program with a key for its tests in it is none. A chain of certificates that
// ends with a key is one.
func isPrivateKey(content []byte) bool {
	if len(content) > largestKey {
		return false
	}
	content = bytes.TrimLeft(bytes.TrimPrefix(content, []byte("\uFEFF")), " \t\r\n")
	switch {
	case bytes.HasPrefix(content, []byte("PuTTY-User-Key-File-")):
		return true
	case bytes.HasPrefix(content, []byte("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----")):
		return true
	case bytes.HasPrefix(content, []byte("-----BEGIN ")), bytes.HasPrefix(content, []byte("Bag Attributes")):
		return pemKey.Match(content)
	}
	return false
}
