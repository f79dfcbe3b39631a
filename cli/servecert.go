package cli

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"sync"
	"time"

	"aibox/internal/fault"

	"golang.org/x/sys/unix"
)

// serverCertificate is the certificate of the server. It is read again when its files have changed, so
// that a renewed certificate needs no restart, which would end the streams of all clients. It is safe for
// concurrent use.
type serverCertificate struct {
	cert, key string
	warn      func(error) // reports why changed files cannot be used; the earlier certificate stays

	mu   sync.Mutex
	pair *tls.Certificate
	seen [2]fileVersion // the files when they were read last
}

// fileVersion changes when a file is replaced or written. Its zero value is that of no file.
type fileVersion struct {
	device, inode uint64
	size          int64
	changed       unix.Timespec
}

func versionOf(path string) (v fileVersion) {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return v
	}
	return fileVersion{stat.Dev, stat.Ino, stat.Size, stat.Ctim}
}

// openCertificate reads the certificate and its key from PEM files.
func openCertificate(cert, key string, warn func(error)) (*serverCertificate, error) {
	c := &serverCertificate{cert: cert, key: key, warn: warn}
	c.seen = c.versions()
	var err error
	c.pair, err = c.load()
	return c, err
}

func (c *serverCertificate) versions() [2]fileVersion {
	return [2]fileVersion{versionOf(c.cert), versionOf(c.key)}
}

// load reads the files.
func (c *serverCertificate) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return nil, fault.New(fault.Usage, "the certificate cannot be used: %w", err)
	}
	key, err := readServerKey(c.key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err == nil && pair.Leaf == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "the certificate cannot be used: %w", err)
	}
	if now := time.Now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		return nil, fault.New(fault.Usage, "the certificate is valid from %s to %s, so no client would accept it",
			pair.Leaf.NotBefore.Format(time.DateOnly), pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &pair, nil
}

// readServerKey reads a private key, and refuses one that all users of this machine can read or write.
func readServerKey(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "the certificate's key cannot be used: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fault.New(fault.Usage, "the certificate's key cannot be used: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o006 != 0 {
		return nil, fault.New(fault.Refused, "all users of this machine can use the certificate's key %s, whose mode is %04o", path, mode).Hint("chmod 600 %s", path)
	}
	return io.ReadAll(file)
}

// names returns the names and addresses of the certificate.
func (c *serverCertificate) names() []string {
	names := c.pair.Leaf.DNSNames
	for _, ip := range c.pair.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// config returns the settings of TLS with the certificate.
func (c *serverCertificate) config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}

// current returns the certificate. It reads files that have changed once: a renewal replaces one of them
// after the other, and the first alone is of no use.
func (c *serverCertificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.versions(); now != c.seen {
		c.seen = now
		if pair, err := c.load(); err != nil {
			c.warn(err)
		} else {
			c.pair = pair
		}
	}
	return c.pair
}
