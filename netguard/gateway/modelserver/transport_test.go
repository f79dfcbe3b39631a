package modelserver

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"testing"
	"time"

	"aibox/netguard/gateway/schema"
)

// The library's own bounds are 4 MiB for an answer and 1 GiB for all of a connection.
func TestAnswersThatTheAgentDoesNotReadTakeLittleMemory(t *testing.T) {
	transport, err := (Server{Kind: Hosted, URL: &url.URL{Scheme: "https", Host: "example.org"}}).Transport(0, 32)
	if err != nil {
		t.Fatal(err)
	}
	base := transport.(authorized).base
	if base.HTTP2 == nil || base.HTTP2.MaxReceiveBufferPerStream != 512<<10 || base.HTTP2.MaxReceiveBufferPerConnection != 16<<20 {
		t.Errorf("%+v", base.HTTP2)
	}
}

func TestAnswersThatTheAgentDoesNotReadStopNoOther(t *testing.T) {
	const most, size = 32, 2 << 20
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size)) // waits until it is read
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	root, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := (Server{Kind: Hosted, URL: root, AnyOwner: true}).Transport(0, most)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(upstream.Certificate())
	transport.(authorized).base.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}
	connections := 0
	answer := func() io.ReadCloser {
		ctx := httptrace.WithClientTrace(WithCall(t.Context(), Call{Dialect: schema.OpenAI}), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				connections++
			}
		}})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		if response.ProtoMajor != 2 {
			t.Fatal(response.Proto)
		}
		return response.Body
	}
	for range most - 1 {
		_ = answer()
	}
	read := make(chan int64)
	go func() { n, _ := io.Copy(io.Discard, answer()); read <- n }()
	select {
	case n := <-read:
		if n != size || connections != 1 {
			t.Errorf("%d bytes of %d, over %d connections", n, size, connections)
		}
	case <-time.After(time.Minute):
		t.Errorf("%d answers that are not read stop the others", most-1)
	}
}
