package inspect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"aibox/netguard"
)

const (
	authorityLife = 7 * 24 * time.Hour
	leafLife      = 24 * time.Hour
	renewBefore   = time.Hour       // a leaf is replaced when less of its validity is left
	clockSkew     = 5 * time.Minute // certificates are valid this long before they are made
	maxLeaves     = 256             // a wildcard can have any number of names
)

// authority is a certificate authority for a few hosts. Its key exists only in memory.
// Safe for concurrent use.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[netguard.Host]*tls.Certificate
}

// newAuthority returns an authority whose certificate is valid only for the hosts of the
// patterns, so that a program in the sandbox trusts it only for these.
func newAuthority(hosts []netguard.Pattern) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:                serial(),
		Subject:                     pkix.Name{CommonName: "aibox session authority", Organization: []string{"aibox"}},
		NotBefore:                   now.Add(-clockSkew),
		NotAfter:                    now.Add(authorityLife),
		IsCA:                        true,
		MaxPathLenZero:              true,
		BasicConstraintsValid:       true,
		KeyUsage:                    x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true,
	}
	for _, pattern := range hosts {
		host, _ := pattern.Host()
		if addr, ok := host.Address(); ok {
			ip := net.IP(addr.AsSlice())
			template.PermittedIPRanges = append(template.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(addr.BitLen(), addr.BitLen())})
			continue
		}
		template.PermittedDNSDomains = append(template.PermittedDNSDomains, host.Name())
	}
	// A kind of name without a permitted one is not constrained at all (RFC 5280, 4.2.1.10).
	if len(template.PermittedIPRanges) == 0 {
		template.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	}
	if len(template.PermittedDNSDomains) == 0 {
		template.PermittedDNSDomains = []string{"invalid"}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key, leaves: map[netguard.Host]*tls.Certificate{}}, nil
}

// pem returns the authority's certificate.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// leaf returns a certificate for host, and its key.
func (a *authority) leaf(host netguard.Host) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if leaf, ok := a.leaves[host]; ok && time.Until(leaf.Leaf.NotAfter) > renewBefore {
		return leaf, nil
	}
	leaf, err := a.mint(host)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for %s: %w", host, err)
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	a.leaves[host] = leaf
	return leaf, nil
}

func (a *authority) mint(host netguard.Host) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{Organization: []string{"aibox"}},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if addr, ok := host.Address(); ok {
		template.IPAddresses = []net.IP{addr.AsSlice()}
	} else {
		template.DNSNames = []string{host.Name()}
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// serial returns a random serial number of 128 bits.
func serial() *big.Int {
	var number [16]byte
	_, _ = rand.Read(number[:]) // never fails
	number[0] &= 0x7f           // positive
	return new(big.Int).SetBytes(number[:])
}
