package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Otherwise everyone could fill the memory of the server with one small message.
func TestMessagesToHealthAndReflectionAreBounded(t *testing.T) {
	s := newSite(t, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // streams in both directions need it
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	message := func(size int) []byte { // its field 1 is a text in all of these methods
		return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), strings.Repeat("x", size))
	}
	packed := func(message []byte) []byte {
		var out bytes.Buffer
		in := gzip.NewWriter(&out)
		_, _ = in.Write(message)
		_ = in.Close()
		return out.Bytes()
	}
	// status returns what a call of gRPC with one message is answered.
	status := func(path string, flags byte, message []byte) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		body := append(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(message))), message...)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/grpc+proto"}, "Grpc-Encoding": {"gzip"}}
		if !strings.HasPrefix(path, "/grpc.health") {
			r.Header.Set("Authorization", "Bearer "+s.token("a"))
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.Trailer.Get("Grpc-Status") + answer.Header.Get("Grpc-Status")
	}
	const exhausted, large = "8", 1 << 20
	for _, path := range []string{"/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"} {
		if got := status(path, 1, packed(message(large))); got != exhausted {
			t.Errorf("%s, compressed: %q", path, got)
		}
		if got := status(path, 0, message(large)); got != exhausted {
			t.Errorf("%s: %q", path, got)
		}
		if got := status(path, 1, packed(message(100))); got == exhausted || got == "" {
			t.Errorf("%s, a small message: %q", path, got)
		}
	}
}
