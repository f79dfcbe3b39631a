package inspect

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawHTTP2 returns a server for api.example.org whose connections of HTTP/2 serve serves.
func rawHTTP2(t *testing.T, serve func(*http2.Framer)) *httptest.Server {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{*certificate(t, time.Now().Add(time.Hour), "api.example.org")}, NextProtos: []string{http2.NextProtoTLS}} //nolint:gosec // a test
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface)))
				framer := http2.NewFramer(conn, conn)
				_ = framer.WriteSettings()
				serve(framer)
			}()
		}
	}()
	return &httptest.Server{Listener: listener, TLS: config}
}

// answerRaw answers each request with exactly these fields, names and values in turn, and body.
func answerRaw(framer *http2.Framer, body string, fields []string) {
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		request, ok := frame.(*http2.HeadersFrame)
		if !ok {
			continue
		}
		headers.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: request.StreamID, BlockFragment: headers.Bytes(), EndHeaders: true})
		_ = framer.WriteData(request.StreamID, true, []byte(body))
	}
}

// responseWorld has a server of HTTP/2 that sends exactly that response to each request.
func responseWorld(t *testing.T, body string, fields ...string) *world {
	t.Helper()
	return newWorld(t, setup{
		allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: rawHTTP2(t, func(framer *http2.Framer) { answerRaw(framer, body, fields) })},
	})
}

func TestAStatusThatHTTPDoesNotHaveIsRefused(t *testing.T) {
	const secret = "1234567890123" // it would be a status in HTTP/2
	for _, status := range []string{"0", "99", "-1", "1000", secret} {
		for _, inside := range []bool{false, true} {
			response, err := responseWorld(t, "body", ":status", status).client(inside).Get("https://api.example.org/")
			if err != nil {
				t.Errorf("HTTP/2 %v, %s: %v", inside, status, err)
				continue
			}
			if text := dump(t, response); response.StatusCode != http.StatusBadGateway || !strings.Contains(text, "a status that HTTP does not have") || strings.Contains(text, secret) {
				t.Errorf("HTTP/2 %v, %s: %s", inside, status, text)
			}
			_ = response.Body.Close()
		}
	}
}

// HTTP/2 does not need these fields, so Go passes on any of them.
func TestALengthThatHTTP2DoesNotNeedIsNotPassedOnToHTTP1(t *testing.T) {
	const hidden = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for _, fields := range [][]string{
		{"content-length", "3", "content-length", "4"},
		{"content-length", "+3"},
		{"content-length", "3, 3"},
		{"content-length", "0", "content-length", "0", "transfer-encoding", "chunked"},
	} {
		w := responseWorld(t, hidden, append([]string{":status", "200"}, fields...)...)
		for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
			conn := w.tls(api)
			fmt.Fprintf(conn, "GET / %s\r\nHost: api.example.org\r\n\r\n", version)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s, %v: %v", version, fields, err)
				continue
			}
			if body, err := io.ReadAll(response.Body); string(body) != hidden || err != nil || response.Header["Content-Length"] != nil {
				t.Errorf("%s, %v: %q, %v, %v", version, fields, body, err, response.Header)
			}
		}
		head := w.tls(api)
		fmt.Fprint(head, "HEAD / HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
		if response, err := http.ReadResponse(bufio.NewReader(head), &http.Request{Method: http.MethodHead}); err != nil || response.Header["Content-Length"] != nil {
			t.Errorf("HEAD, %v: %v, %v", fields, response, err)
		}
	}
}
