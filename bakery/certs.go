package bakery

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"
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

// certReader reads the host's own authorities, and reads them again only if a file has changed:
// servers look up an image for each sandbox. It is safe for concurrent use.
type certReader struct {
	mu    sync.Mutex
	state string // of the files, when certs were read; empty if they were not, or not from all files
	certs []Cert
	left  int // how many more there are
}

// read collects the host's own authorities: those of the anchor folders and those in the extra
// bundles (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS), without the distribution's. Everything that is
// not a certificate is left out, above all private keys. root is the host's file system. left is how
// many certificates exceed maxCerts. The result is shared and must not be changed.
func (r *certReader) read(root fs.FS, bundles []string) (certs []Cert, left int) {
	var own, public []string
	for _, dir := range anchors {
		own = append(own, certFiles(root, dir)...)
	}
	for _, bundle := range bundles {
		if !path.IsAbs(bundle) {
			continue
		}
		if public == nil { // bundles usually repeat these
			public = certFiles(root, stock)
		}
		own = append(own, strings.TrimPrefix(path.Clean(bundle), "/"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if state := stateOf(root, own) + "\n" + stateOf(root, public); state != r.state {
		whole := false
		if certs, whole = readCerts(root, own, public); !whole { // such as with too many open files
			state = ""
		}
		kept := min(len(certs), maxCerts)
		r.state, r.certs, r.left = state, certs[:kept], len(certs)-kept
	}
	return r.certs, r.left
}

// stateOf describes files: any change of one of them changes the text.
func stateOf(root fs.FS, files []string) string {
	var state strings.Builder
	for _, name := range files {
		if info, err := fs.Stat(root, name); err == nil {
			fmt.Fprintf(&state, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return state.String()
}

// readCerts returns the certificates in the files own that are not in the files public. whole is
// unset if a file could not be read.
func readCerts(root fs.FS, own, public []string) (certs []Cert, whole bool) {
	found, allOwn := collect(root, own)
	known, allPublic := collect(root, public)
	for fingerprint, der := range found {
		if _, known := known[fingerprint]; known {
			continue
		}
		// Parsing takes most of the time, so it comes last and only for the remaining ones.
		if _, err := x509.ParseCertificate(der); err == nil {
			certs = append(certs, Cert{Fingerprint: fingerprint, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})})
		}
	}
	sort.Slice(certs, func(i, j int) bool { return certs[i].Fingerprint < certs[j].Fingerprint })
	return certs, allOwn && allPublic
}

// certFiles lists the files of dir whose names are those of certificates.
func certFiles(root fs.FS, dir string) (files []string) {
	_ = fs.WalkDir(root, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // an absent or unreadable folder has no certificates
		}
		switch path.Ext(name) {
		case ".crt", ".pem", ".cer":
			if !entry.IsDir() {
				files = append(files, name)
			}
		}
		return nil
	})
	return files
}

// collect returns the certificates in files, as DER by fingerprint. whole is unset if one of the
// files that exist could not be read.
func collect(root fs.FS, files []string) (found map[string][]byte, whole bool) {
	found, whole = map[string][]byte{}, true
	for _, name := range files {
		data, err := fs.ReadFile(root, name)
		whole = whole && (err == nil || errors.Is(err, fs.ErrNotExist))
		collectCerts(data, found)
	}
	return found, whole
}

func collectCerts(data []byte, found map[string][]byte) {
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
