package inspect

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
)

func host(t *testing.T, text string) netguard.Host {
	t.Helper()
	h, err := netguard.ParseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func authorityOf(t *testing.T, hosts ...string) *authority {
	t.Helper()
	var patterns []netguard.Pattern
	for _, text := range hosts {
		patterns = append(patterns, pattern(t, text))
	}
	a, err := newAuthority(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// extension returns an extension of a certificate.
func extension(t *testing.T, c *x509.Certificate, id ...int) (critical bool) {
	t.Helper()
	for _, e := range c.Extensions {
		if e.Id.Equal(asn1.ObjectIdentifier(id)) {
			return e.Critical
		}
	}
	t.Fatalf("the certificate has no extension %v", id)
	return false
}

// lasts reports whether a certificate is valid for this duration from now on, and was valid
// a moment ago.
func lasts(c *x509.Certificate, life time.Duration) bool {
	before, after := time.Since(c.NotBefore), time.Until(c.NotAfter)
	return before > 4*time.Minute && before < 10*time.Minute && after < life+time.Minute && after > life-time.Hour
}

func TestTheAuthorityCanOnlySignCertificatesOfServersForAWeek(t *testing.T) {
	a := authorityOf(t, "api.example.org")
	c := a.certificate
	if name := c.Subject.String(); name != "CN=aibox session authority,O=aibox" {
		t.Errorf("its name is %q", name)
	}
	if !c.IsCA || c.MaxPathLen != 0 || !c.MaxPathLenZero {
		t.Errorf("CA %v, path length %d: it can sign other authorities", c.IsCA, c.MaxPathLen)
	}
	if c.KeyUsage != x509.KeyUsageCertSign {
		t.Errorf("the key usage is %b", c.KeyUsage)
	}
	if !extension(t, c, 2, 5, 29, 30) {
		t.Error("a program that does not know name constraints ignores them")
	}
	if !lasts(c, 7*24*time.Hour) {
		t.Errorf("it is valid from %v to %v", c.NotBefore, c.NotAfter)
	}
	b := authorityOf(t, "api.example.org").certificate
	if b.SerialNumber.Cmp(c.SerialNumber) == 0 || b.PublicKey.(*ecdsa.PublicKey).Equal(c.PublicKey) {
		t.Error("two sessions have the same authority")
	}
}

func TestACertificateIsOfOneServerForADay(t *testing.T) {
	a := authorityOf(t, "*.example.org", "9.9.9.9")
	serials, keys := map[string]bool{}, []*ecdsa.PublicKey{a.certificate.PublicKey.(*ecdsa.PublicKey)}
	for i := range 40 {
		leaf, err := a.leaf(host(t, fmt.Sprintf("n%d.example.org", i)))
		if err != nil {
			t.Fatal(err)
		}
		c := leaf.Leaf
		if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature || !slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
			t.Errorf("CA %v, key usage %b, extended %v", c.IsCA, c.KeyUsage, c.ExtKeyUsage)
		}
		if name := c.Subject.String(); name != "O=aibox" {
			t.Errorf("its name is %q", name)
		}
		if !slices.Equal(c.DNSNames, []string{fmt.Sprintf("n%d.example.org", i)}) || len(c.IPAddresses) > 0 {
			t.Errorf("it is for %q and %v", c.DNSNames, c.IPAddresses)
		}
		if !lasts(c, 24*time.Hour) {
			t.Errorf("it is valid from %v to %v", c.NotBefore, c.NotAfter)
		}
		if c.SerialNumber.Sign() <= 0 || c.SerialNumber.BitLen() > 127 || serials[c.SerialNumber.String()] {
			t.Errorf("the serial number is %d", c.SerialNumber)
		}
		serials[c.SerialNumber.String()] = true
		key := c.PublicKey.(*ecdsa.PublicKey)
		if slices.ContainsFunc(keys, func(other *ecdsa.PublicKey) bool { return other.Equal(key) }) {
			t.Error("two certificates have the same key")
		}
		keys = append(keys, key)
	}
	long := 0
	for range 200 {
		if bits := serial().BitLen(); bits > 64 {
			long++
		}
	}
	if long < 199 { // CA/Browser Forum, Baseline Requirements, 7.1: at least 64 random bits
		t.Errorf("%d of 200 serial numbers have more than 64 bits", long)
	}
	leaf, err := a.leaf(host(t, "9.9.9.9"))
	if err != nil || len(leaf.Leaf.DNSNames) > 0 || len(leaf.Leaf.IPAddresses) != 1 {
		t.Errorf("the certificate of an address: %v, %v", leaf, err)
	}
}

func TestACertificateIsRenewedAnHourBeforeItExpires(t *testing.T) {
	a := authorityOf(t, "api.example.org")
	api := host(t, "api.example.org")
	first, err := a.leaf(api)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := a.leaf(api); again != first {
		t.Error("a certificate is made for each connection")
	}
	first.Leaf.NotAfter = time.Now().Add(61 * time.Minute)
	if again, _ := a.leaf(api); again != first {
		t.Error("it is renewed too early")
	}
	first.Leaf.NotAfter = time.Now().Add(59 * time.Minute)
	if again, _ := a.leaf(api); again == first {
		t.Error("it is not renewed")
	}
}

func TestCertificatesOfAWildcardAreBounded(t *testing.T) {
	a := authorityOf(t, "*.example.org")
	for i := range 300 {
		if _, err := a.leaf(host(t, fmt.Sprintf("n%d.example.org", i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.leaves); n > 256 {
		t.Errorf("%d certificates are held", n)
	}
}

func TestConnectionsThatBeginAtOnceShareACertificate(t *testing.T) {
	a := authorityOf(t, "*.example.org")
	for i := range 200 {
		name, begin := host(t, fmt.Sprintf("n%d.example.org", i)), make(chan struct{})
		var leaves [8]*tls.Certificate
		var wait sync.WaitGroup
		for j := range leaves {
			wait.Go(func() {
				<-begin
				leaf, err := a.leaf(name)
				if err != nil {
					t.Error(err)
				}
				leaves[j] = leaf
			})
		}
		close(begin)
		wait.Wait()
		for _, leaf := range leaves {
			if leaf != leaves[0] {
				t.Fatalf("connections to %v have several certificates", name)
			}
		}
	}
	if n := len(a.leaves); n != 200 {
		t.Errorf("%d certificates are held", n)
	}
}

func TestACertificateThatCannotBeMadeIsNotKept(t *testing.T) {
	a, name := authorityOf(t, "api.example.org"), host(t, "api.example.org")
	a.key = authorityOf(t, "api.example.org").key
	if leaf, err := a.leaf(name); leaf != nil || err == nil || !strings.Contains(err.Error(), name.Name()) || len(a.leaves) != 0 {
		t.Errorf("%v, %v, %d are held", leaf, err, len(a.leaves))
	}
}
