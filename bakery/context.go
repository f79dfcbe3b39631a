package bakery

import (
	"archive/tar"
	"bytes"
	"maps"
	"slices"
	"time"
)

// buildContext packs all files that a build can see: its Dockerfile, its lock as lock/FILE
// and, for the base, the certificates as ca/FINGERPRINT.crt. The same recipe gives the same
// bytes.
func buildContext(r Recipe) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	epoch := time.Unix(0, 0)
	file := func(name string, data []byte) error {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data)), ModTime: epoch}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	if err := file(r.Name+suffix, []byte(r.Dockerfile)); err != nil {
		return nil, err
	}
	// The folders exist even if they are empty, since COPY would fail without them.
	for _, dir := range []string{"ca/", lockDir} {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755, ModTime: epoch}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Lock)) {
		if err := file(lockDir+name, []byte(r.Lock[name])); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Certs {
		if err := file("ca/aibox-"+c.Fingerprint[:16]+".crt", c.PEM); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}
