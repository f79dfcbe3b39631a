package egress

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Bulk data passes unchanged in both directions at the same time. The end of one direction
// does not end the other, and the record has the bytes of both, and of the resolved name.
func TestBulkPassesUnchangedAndIsCountedInBothDirections(t *testing.T) {
	const size = 8 << 20
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	copy(content, record(recordApplicationData, []byte{0})) // no ClientHello can follow
	received := make(chan [32]byte, 1)
	server := serveEach(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, len(goodTLS)))
		upload := make(chan struct{})
		go func() {
			defer close(upload)
			sum := sha256.New()
			_, _ = io.Copy(sum, conn)
			received <- [32]byte(sum.Sum(nil))
		}()
		_, _ = conn.Write(content[:size/2])
		<-upload // after the end of the other direction
		_, _ = conn.Write(content[size/2:])
	})
	w, _ := tunnelWorld(t, nil)
	w.Route("good.example.org", 443, server.Addr().String())
	conn := w.connect("good.example.org:443")
	go func() {
		_, _ = conn.Write(goodTLS)
		_, _ = conn.Write(content)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	down, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(down, content) {
		t.Errorf("%d bytes came down: %v", len(down), err)
	}
	if <-received != sha256.Sum256(content) {
		t.Error("other bytes went up")
	}
	if closed := waitFor(t, w, Closed); closed.Up != size+int64(len(goodTLS)+2*len("good.example.org")) || closed.Down != size {
		t.Errorf("recorded are %d bytes up and %d down", closed.Up, closed.Down)
	}
}
