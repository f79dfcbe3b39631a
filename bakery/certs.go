package bakery

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// Cert is a certificate of an authority that the host trusts.
type Cert struct {
	Fingerprint string // SHA-256 of its DER form, hex
	PEM         []byte // one CERTIFICATE block and nothing else
}

// maxCerts bounds the certificates that a build gets, in case the host's bundle is
// unusually large.
const maxCerts = 400

// anchors are the folders in which administrators put their own authorities, one for each
// family of distributions. stock is where Debian and its derivatives keep the public ones,
// which the image has anyway.
var (
	anchors = []string{"usr/local/share/ca-certificates", "etc/pki/ca-trust/source/anchors", "etc/ca-certificates/trust-source/anchors"}
	stock   = "usr/share/ca-certificates"
)

// readCerts collects the host's own authorities: those of the anchor folders and those in
// the extra bundles (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS), without the distribution's.
// Everything that is not a certificate is left out, above all private keys. root is the
// host's file system.
func readCerts(root fs.FS, bundles []string) []Cert {
	found := map[string][]byte{}
	for _, dir := range anchors {
		collectDir(root, dir, found)
	}
	public := map[string][]byte{}
	for _, bundle := range bundles {
		if !path.IsAbs(bundle) {
			continue
		}
		if len(public) == 0 {
			collectDir(root, stock, public)
		}
		collectFile(root, strings.TrimPrefix(path.Clean(bundle), "/"), found)
	}
	var certs []Cert
	for fingerprint, der := range found {
		if _, known := public[fingerprint]; known {
			continue
		}
		// Parsing takes most of the time, so it comes last and only for the remaining ones.
		if _, err := x509.ParseCertificate(der); err == nil {
			certs = append(certs, Cert{Fingerprint: fingerprint, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})})
		}
	}
	sort.Slice(certs, func(i, j int) bool { return certs[i].Fingerprint < certs[j].Fingerprint })
	return certs[:min(len(certs), maxCerts)]
}

// collectDir adds the certificates in the files of dir to found, as DER by fingerprint.
func collectDir(root fs.FS, dir string, found map[string][]byte) {
	_ = fs.WalkDir(root, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // an absent or unreadable folder has no certificates
		}
		switch path.Ext(name) {
		case ".crt", ".pem", ".cer":
			if !entry.IsDir() {
				collectFile(root, name, found)
			}
		}
		return nil
	})
}

func collectFile(root fs.FS, name string, found map[string][]byte) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return
		}
		if block.Type == "CERTIFICATE" {
			sum := sha256.Sum256(block.Bytes)
			found[hex.EncodeToString(sum[:])] = block.Bytes
		}
	}
}
