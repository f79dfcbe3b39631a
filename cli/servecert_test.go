package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
)

// writeCertificate writes a certificate for a name and its key to files of a folder, each in place of
// an earlier one.
func writeCertificate(t *testing.T, dir, name string, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
	}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestARenewedCertificateIsUsedWithoutARestart(t *testing.T) {
	dir, tomorrow := t.TempDir(), time.Now().Add(24*time.Hour)
	cert, key := writeCertificate(t, dir, "first.test", tomorrow)
	var warnings []string
	c, err := openCertificate(cert, key, func(err error) { warnings = append(warnings, err.Error()) })
	if err != nil || !slices.Equal(c.names(), []string{"first.test"}) {
		t.Fatal(c, err)
	}
	serves := func(want string) {
		t.Helper()
		pair, err := c.config().GetCertificate(nil)
		if err != nil || pair.Leaf.DNSNames[0] != want {
			t.Errorf("the server has %v, %v, not %s", pair.Leaf.DNSNames, err, want)
		}
	}
	serves("first.test")
	writeCertificate(t, dir, "second.test", tomorrow)
	serves("second.test")
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	// Between the two steps of a renewal, and after one that failed, the earlier one stays.
	earlier, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir, "third.test", tomorrow)
	renewed, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	replaceFile(t, key, earlier)
	serves("second.test")
	serves("second.test")
	if len(warnings) != 1 || !strings.Contains(warnings[0], "does not match") {
		t.Errorf("with the earlier key: %q", warnings)
	}
	replaceFile(t, key, renewed)
	serves("third.test")
	writeCertificate(t, dir, "expired.test", time.Now().Add(-time.Hour))
	serves("third.test")
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	serves("third.test")
	if len(warnings) != 3 {
		t.Errorf("%q", warnings)
	}
}

func TestAKeyThatAllUsersCanReadIsRefused(t *testing.T) {
	cert, key := writeCertificate(t, t.TempDir(), "a.test", time.Now().Add(24*time.Hour))
	for mode, want := range map[os.FileMode]fault.Kind{0o400: 0, 0o640: 0, 0o644: fault.Refused, 0o602: fault.Refused} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		_, err := openCertificate(cert, key, nil)
		if (err != nil) != (want != 0) || err != nil && (fault.KindOf(err) != want || !strings.Contains(err.Error(), key)) {
			t.Errorf("with the mode %04o: %v", mode, err)
		}
	}
}

func TestAHostThatIsNoNameIsRefused(t *testing.T) {
	for _, name := range []string{"http://box.test", "box.test:8800", "a b", "", "*.box.test"} {
		o := serveOptions{hosts: []string{name}}
		if err := o.checkAddresses(nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--host") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"box.test", "Box", "192.0.2.1", "2001:db8::1"} {
		o := serveOptions{hosts: []string{name}}
		if err := o.checkAddresses(nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// replaceFile gives a file new content as a renewal does. A file that is written twice at the same
// moment looks unchanged on some kernels.
func replaceFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}
