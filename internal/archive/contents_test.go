package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// pieces counts the writes of at least half of contentsSize, and all others.
type pieces struct {
	bytes.Buffer
	large, small int
}

func (p *pieces) Write(data []byte) (int, error) {
	if len(data) >= contentsSize/2 {
		p.large++
	} else {
		p.small++
	}
	return p.Buffer.Write(data)
}

func TestALargeFileIsReadInLargePieces(t *testing.T) {
	const size = 8 * contentsSize
	file := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	var out pieces
	if err := Pack(&out, file, nil); err != nil {
		t.Fatal(err)
	}
	if out.large != size/contentsSize {
		t.Errorf("%d large and %d small pieces", out.large, out.small)
	}
}

func TestContentsOfFilesOfAllSizesAreCopied(t *testing.T) {
	var c contents
	for _, size := range []int64{0, 1, 100, contentsSize, 3*contentsSize + 7, 5} {
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		if err := w.WriteHeader(&tar.Header{Name: "f", Size: size}); err != nil {
			t.Fatal(err)
		}
		if n, err := c.copy(w, io.LimitReader(zeros{}, size), size); n != size || err != nil {
			t.Errorf("%d of %d bytes were packed: %v", n, size, err)
		}
		in := tar.NewReader(&packed)
		if _, err := in.Next(); err != nil {
			t.Fatal(err)
		}
		if n, err := c.copy(io.Discard, in, size); n != size || err != nil {
			t.Errorf("%d of %d bytes were extracted: %v", n, size, err)
		}
	}
}
