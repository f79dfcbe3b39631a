package workspace

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// largestKey is the size, in bytes, up to which a file is checked for a private key.
const largestKey = 64 << 10

// pemKey is the first line of a private key as OpenSSL, OpenSSH, PuTTY and GnuPG write it.
var pemKey = lazyregexp.New(`(?m)^-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)

// keyExtensions are the extensions of files that programs write private keys to, and of copies.
var keyExtensions = []string{
	".asc", ".bak", ".cer", ".cert", ".crt", ".dsa", ".ec", ".ecdsa", ".ed25519", ".gpg", ".key", ".old", ".openssh", ".orig", ".p8", ".pem",
	".pgp", ".pk8", ".ppk", ".priv", ".private", ".rsa", ".sec", ".ssh", ".txt",
}

// isKeyName reports whether a file has a name that is usual for private keys: without an extension, or
// with one of theirs. Checking every file of a long history would take too long.
func isKeyName(file string) bool {
	extension := path.Ext(path.Base(file))
	return extension == "" || slices.Contains(keyExtensions, strings.ToLower(extension))
}

// isPrivateKey reports whether content begins like a private key file. A program that
// contains a test key does not count; a certificate chain that ends with a key does.
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
