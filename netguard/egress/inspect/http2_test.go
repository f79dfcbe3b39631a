package inspect

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// sendFields sends a request of HTTP/2 with exactly these fields, names and values in turn,
// and a body that is a request of HTTP/1.1. It returns the status of the response, or "" if
// there is none.
func (w *world) sendFields(fields ...string) (status string) {
	w.t.Helper()
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for ; len(fields) > 0; fields = fields[2:] {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[0], Value: fields[1]})
	}
	conn := w.tls(api, "h2")
	defer conn.Close()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers.Bytes(), EndHeaders: true})
	_ = framer.WriteData(1, true, []byte("GET /admin HTTP/1.1\r\nHost: api.example.org\r\n\r\n"))
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return status
		}
		if answer, ok := frame.(*http2.MetaHeadersFrame); ok && status == "" {
			status = answer.PseudoValue("status")
		}
		if h := frame.Header(); h.StreamID == 1 && (h.Type == http2.FrameRSTStream || h.Flags.Has(http2.FlagDataEndStream)) {
			return status
		}
	}
}

// A client of HTTP/2 can send characters that end a line or a request in HTTP/1.1.
func TestNothingIsSmuggledFromHTTP2ToHTTP1(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{onlyGET, "POST https://api.example.org/repos/**"}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, false, "api.example.org")},
	})
	for _, changed := range [][]string{
		{":path", "/repos/a?x HTTP/1.1\r\nHost: other.example.org\r\n\r\nDELETE /admin"},
		{":path", "/repos/a?x HTTP/1.1"},
		{":path", "/repos/a b"},
		{":path", "https://api.example.org/repos/a"},
		{":method", "GET /admin HTTP/1.1\r\nX: "},
		{":authority", "api.example.org\r\nX: y"},
		{"host", "other.example.org"},
		{"transfer-encoding", "chunked"},
		{"content-length", "0"},
		{"content-length", "3", "content-length", "4"},
		{"x", "y\r\nTransfer-Encoding: chunked"},
		{"x\r\nTransfer-Encoding", "chunked"},
		{"connection", "close"},
		{"upgrade", "h2c"},
	} {
		fields := []string{":method", "POST", ":scheme", "https", ":authority", "api.example.org", ":path", "/repos/a"}
		if at := slices.Index(fields, changed[0]); at >= 0 {
			fields[at+1] = changed[1]
		} else {
			fields = append(fields, changed...)
		}
		w.sendFields(fields...)
		for _, r := range s.requests {
			if r.Method != "POST" || r.Host != "api.example.org" || strings.TrimPrefix(r.RequestURI, "/repos/a") != "" || r.Header.Get("X") != "" {
				t.Fatalf("%q: the server received %s %s%s %v", fields, r.Method, r.Host, r.RequestURI, r.Header)
			}
		}
	}
}

// The host's requests are not restricted: the policy allows every method and path.
func TestATargetOfHTTP2IsAPathOfVisibleCharacters(t *testing.T) {
	for _, outside := range []bool{false, true} {
		s := &seen{}
		w := newWorld(t, setup{
			allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
			servers: map[string]*httptest.Server{api: secureServer(t, s.handler, outside, "api.example.org")},
		})
		for _, c := range []struct {
			status string
			fields []string
		}{
			{"403", []string{":method", "CONNECT", ":authority", "api.example.org:443"}},
			{"403", []string{":method", "CONNECT", ":authority", "other.example.org:443"}},
			{"400", []string{":method", "GET", ":scheme", "https", ":authority", "api.example.org", ":path", "/a b"}},
			{"400", []string{":method", "GET", ":scheme", "https", ":authority", "api.example.org", ":path", "/\xc3\xa4"}},
			{"400", []string{":method", "GET", ":scheme", "https", ":authority", "api.example.org", ":path", "/a?b c"}},
		} {
			if status := w.sendFields(c.fields...); status != c.status || s.count() > 0 {
				t.Errorf("HTTP/2 %v, %q: %q, and the server received %d requests", outside, c.fields, status, s.count())
			}
		}
		if status := w.sendFields(":method", "GET", ":scheme", "https", ":authority", "api.example.org", ":path", "/a"); status != "200" || s.count() != 1 {
			t.Errorf("HTTP/2 %v: %q", outside, status)
		}
	}
}

// Their fields are not redacted.
func TestInterimResponsesDoNotReachTheSandbox(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		for _, status := range []int{http.StatusProcessing, http.StatusEarlyHints} {
			w.Header().Set("Link", canary)
			w.WriteHeader(status)
		}
		w.Header().Del("Link")
		fmt.Fprint(w, "done")
	}
	for _, inside := range []bool{false, true} {
		for _, outside := range []bool{false, true} {
			w := newWorld(t, setup{
				allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, secrets: []string{"T=api.example.org:X-Key"},
				servers: map[string]*httptest.Server{api: secureServer(t, handler, outside, "api.example.org")},
			})
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
				t.Errorf("HTTP/2 %v, %v: %d %v", inside, outside, status, header)
				return nil
			}})
			request, err := http.NewRequestWithContext(ctx, "GET", "https://api.example.org/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := w.client(inside).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if have := dump(t, response); response.StatusCode != http.StatusOK || !strings.HasSuffix(have, "done") || strings.Contains(have, canary) {
				t.Errorf("HTTP/2 %v, %v: %q", inside, outside, have)
			}
		}
	}
}
