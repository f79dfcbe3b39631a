package inspect

import (
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestASecretReachesItsHostAlone(t *testing.T) {
	s, other, plain := &seen{}, &seen{}, &seen{}
	w := newWorld(t, setup{
		allow: []string{"*.example.org", "*.example.org:8443"}, inspect: []string{"*.example.org", "*.example.org:8443"},
		secrets: []string{"T=api.example.org:Authorization", "T=api.example.org:X-Key", "T=http://plain.example.org:X-Key"},
		servers: map[string]*httptest.Server{
			api:                     secureServer(t, s.handler, true, "api.example.org"),
			"api.example.org:8443":  secureServer(t, other.handler, true, "api.example.org"),
			"www.example.org:443":   secureServer(t, other.handler, true, "www.example.org"),
			"api.example.org:80":    httptest.NewServer(http.HandlerFunc(other.handler)),
			"plain.example.org:80":  httptest.NewServer(http.HandlerFunc(plain.handler)),
			"plain.example.org:443": secureServer(t, other.handler, true, "plain.example.org"),
		},
	})
	for _, http2 := range []bool{false, true} {
		request, _ := http.NewRequest("GET", "https://api.example.org/", nil)
		request.Header = http.Header{"Authorization": {"Bearer of-the-sandbox", "second"}, "X-Key": {"of-the-sandbox"}, "Connection": {"Authorization, X-Key"}}
		if http2 {
			request.Header.Del("Connection")
		}
		response, err := w.client(http2).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		w.findCanary(dump(t, response))
		if have := s.last(t).Header; fmt.Sprint(have["Authorization"], have["X-Key"]) != fmt.Sprintf("[Bearer %s] [%s]", canary, canary) {
			t.Errorf("%v", have)
		}
		for _, url := range []string{"https://api.example.org:8443/", "https://www.example.org/", "http://api.example.org/", "https://plain.example.org/", "http://plain.example.org/"} {
			response, err := w.client(http2).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			w.findCanary(dump(t, response))
		}
	}
	if len(other.requests) != 8 || len(plain.requests) != 2 {
		t.Errorf("%d and %d requests", len(other.requests), len(plain.requests))
	}
	for _, r := range other.requests {
		w.findCanary(fmt.Sprint(r.Host, r.Header))
	}
	if key := plain.last(t).Header.Get("X-Key"); key != canary {
		t.Errorf("plain HTTP: %q", key)
	}
}

func TestARedirectTakesNoSecretAlong(t *testing.T) {
	other := &seen{}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://www.example.org/?"+url.QueryEscape(r.Header.Get("Authorization")), http.StatusTemporaryRedirect)
	}
	w := newWorld(t, setup{
		allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{"T=api.example.org:Authorization"},
		servers: map[string]*httptest.Server{
			api:                   secureServer(t, redirect, true, "api.example.org"),
			"www.example.org:443": secureServer(t, other.handler, true, "www.example.org"),
		},
	})
	for _, http2 := range []bool{false, true} {
		response, err := w.client(http2).Get("https://api.example.org/")
		if err != nil {
			t.Fatal(err)
		}
		have := dump(t, response)
		w.findCanary(have)
		w.findCanary(fmt.Sprint(other.last(t).Header, other.last(t).RequestURI))
	}
}

// An echoing server returns a secret in every part of a response.
func TestAnEchoedSecretIsRedacted(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		value := r.Header.Get("Authorization")
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%v", r.Header)
		}
		w.Header().Set("Link", "<"+value+">; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Trailer")
		w.Header().Set("X-Echo", value)
		for i := range value { // in pieces
			fmt.Fprint(w, value[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Trailer", value)
	}
	for _, rule := range []string{"T=api.example.org:Authorization", "T=api.example.org:git"} {
		for _, outside := range []bool{false, true} {
			w := newWorld(t, setup{
				allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{rule},
				servers: map[string]*httptest.Server{api: secureServer(t, echo, outside, "api.example.org")},
			})
			for _, http2 := range []bool{false, true} {
				response, err := w.client(http2).Get("https://api.example.org/")
				if err != nil {
					t.Fatal(err)
				}
				have := dump(t, response)
				w.findCanary(have)
				if encoded := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + canary)); strings.Contains(have, encoded[len(encoded)-4:]) || !strings.Contains(have, "****") || response.Trailer.Get("X-Trailer") == "" {
					t.Errorf("%s: %q", rule, have)
				}
				raw, _ := http.NewRequest("TRACE", "https://api.example.org/", nil)
				if response, err := w.client(http2).Do(raw); err != nil || response.StatusCode != http.StatusMethodNotAllowed {
					t.Errorf("TRACE: %v, %v", response, err)
				}
			}
		}
	}
}

// Nothing is redacted in a compressed answer.
func TestAnAnswerInWhichNothingCanBeRedactedIsRefused(t *testing.T) {
	encoding := "gzip"
	compress := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		if r.Method == http.MethodHead {
			return
		}
		if encoding != "gzip" {
			fmt.Fprint(w, r.Header.Get("Authorization"))
			return
		}
		writer := gzip.NewWriter(w)
		fmt.Fprint(writer, r.Header.Get("Authorization"))
		_ = writer.Close()
	}
	for _, outside := range []bool{false, true} {
		w := newWorld(t, setup{
			allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{"T=api.example.org:Authorization"},
			servers: map[string]*httptest.Server{
				api:                   secureServer(t, compress, outside, "api.example.org"),
				"www.example.org:443": secureServer(t, compress, outside, "www.example.org"),
			},
		})
		for _, http2 := range []bool{false, true} {
			for sent, want := range map[string]int{"gzip": 502, "X-Gzip": 502, "identity, br": 502, canary: 502, "Identity": 200, "": 200} {
				encoding = sent
				response, err := w.client(http2).Get("https://api.example.org/")
				if err != nil {
					t.Fatal(err)
				}
				have := dump(t, response)
				w.findCanary(have)
				if response.StatusCode != want || want == 502 && !strings.Contains(have, "cannot redact the secret") {
					t.Errorf("%q: %s", sent, have)
				}
			}
			encoding = "gzip"
			if response, err := w.client(http2).Head("https://api.example.org/"); err != nil || response.StatusCode != 200 {
				t.Errorf("an answer without a body: %v, %v", response, err)
			}
			if response, err := w.client(http2).Get("https://www.example.org/"); err != nil || response.StatusCode != 200 {
				t.Errorf("a host without a secret: %v, %v", response, err)
			}
		}
	}
}

// gRPC and Connect compress each message of a body by itself, and name that in headers of their own.
func TestAnAnswerOfCompressedMessagesIsRefused(t *testing.T) {
	for accepts, names := range map[string]string{"Grpc-Accept-Encoding": "Grpc-Encoding", "Connect-Accept-Encoding": "Connect-Content-Encoding"} {
		obeys := true
		compress := func(w http.ResponseWriter, r *http.Request) {
			if obeys && r.Header.Get(accepts) != "gzip" {
				w.Header().Set(names, "identity")
				fmt.Fprint(w, r.Header.Get("Authorization"))
				return
			}
			w.Header().Set(names, "gzip")
			writer := gzip.NewWriter(w)
			fmt.Fprint(writer, r.Header.Get("Authorization"))
			_ = writer.Close()
		}
		w := newWorld(t, setup{
			allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{"T=api.example.org:Authorization"},
			servers: map[string]*httptest.Server{
				api:                   secureServer(t, compress, true, "api.example.org"),
				"www.example.org:443": secureServer(t, compress, true, "www.example.org"),
			},
		})
		for _, c := range []struct {
			host  string
			obeys bool
			want  int
		}{{"api.example.org", true, 200}, {"api.example.org", false, 502}, {"www.example.org", true, 200}, {"www.example.org", false, 200}} {
			obeys = c.obeys
			request, _ := http.NewRequest(http.MethodPost, "https://"+c.host+"/", strings.NewReader("x"))
			request.Header.Set(accepts, "gzip")
			response, err := w.client(true).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			have := dump(t, response)
			w.findCanary(have)
			if response.StatusCode != c.want || c.want == 502 && !strings.Contains(have, "cannot redact the secret") {
				t.Errorf("%s, %+v: %s", names, c, have)
			}
			if compressed := response.Header.Get(names) == "gzip"; compressed != (c.host == "www.example.org") {
				t.Errorf("%s, %+v: compressed %v", names, c, compressed)
			}
		}
	}
}

// A part of an answer can begin within the secret.
func TestNoPartOfAnAnswerIsRequestedFromAHostWithASecret(t *testing.T) {
	ignoresAll := false
	parts := func(w http.ResponseWriter, r *http.Request) {
		value := r.Header.Get("Authorization")
		if ignoresAll {
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, value[len(value)/2:])
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(value))
	}
	w := newWorld(t, setup{
		allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{"T=api.example.org:Authorization"},
		servers: map[string]*httptest.Server{
			api:                   secureServer(t, parts, true, "api.example.org"),
			"www.example.org:443": secureServer(t, parts, true, "www.example.org"),
		},
	})
	get := func(host string) (int, string) {
		t.Helper()
		request, _ := http.NewRequest(http.MethodGet, "https://"+host+"/", nil)
		request.Header.Set("Range", "bytes=2-")
		response, err := w.client(false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, dump(t, response)
	}
	if code, have := get("api.example.org"); code != http.StatusOK || !strings.Contains(have, "****") {
		t.Errorf("the whole answer is %d: %s", code, have)
	}
	ignoresAll = true
	if code, have := get("api.example.org"); code != http.StatusBadGateway || !strings.Contains(have, "a part of an answer") {
		t.Errorf("a part is %d: %s", code, have)
	}
	if code, have := get("www.example.org"); code != http.StatusPartialContent {
		t.Errorf("without a secret, a part is %d: %s", code, have)
	}
}

func TestAWebSocketToAHostWithASecretIsRefused(t *testing.T) {
	for entry, want := range map[string]int{"T=api.example.org:Authorization": 502, "T=www.example.org:Authorization": 101} {
		w := newWorld(t, setup{
			allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, secrets: []string{entry},
			servers: map[string]*httptest.Server{api: secureServer(t, func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n%s", r.Header.Get("Authorization"))
			}, false, "api.example.org")},
		})
		status, body := w.raw("api.example.org:443", "GET / HTTP/1.1\r\nHost: api.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		w.findCanary(body)
		if status != want || want == 502 && !strings.Contains(body, "cannot redact the secret") {
			t.Errorf("%s: %d %q", entry, status, body)
		}
	}
}

// The error of an answer that is not HTTP quotes it.
func TestAnAnswerThatCannotBeReadIsRedacted(t *testing.T) {
	for _, answer := range []string{"%s\r\n\r\n", "HTTP/%s 200 OK\r\n\r\n", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 200 OK\r\n%s\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n"} {
		echo := func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, answer, r.Header.Get("X-Key"))
		}
		plain := httptest.NewServer(http.HandlerFunc(echo))
		t.Cleanup(plain.Close)
		w := newWorld(t, setup{
			allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, secrets: []string{"T=api.example.org:X-Key", "T=http://api.example.org:X-Key"},
			servers: map[string]*httptest.Server{api: secureServer(t, echo, false, "api.example.org"), "api.example.org:80": plain},
		})
		for _, target := range []string{"https://api.example.org/", "http://api.example.org/"} {
			for _, http2 := range []bool{false, true} {
				response, err := w.client(http2).Get(target)
				if err != nil {
					t.Fatal(err)
				}
				have := dump(t, response)
				w.findCanary(have)
				if response.StatusCode != http.StatusBadGateway || !strings.Contains(have, "*****") {
					t.Errorf("%q, %s: %s", answer, target, have)
				}
			}
		}
	}
}

// The proxy announces the names of trailers before the body.
func TestTheNameOfATrailerIsRedacted(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-"+r.Header.Get("X-Key"))
		fmt.Fprint(w, "body")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-"+r.Header.Get("X-Key"), "value")
	}
	for _, outside := range []bool{false, true} {
		w := newWorld(t, setup{
			allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, secrets: []string{"T=api.example.org:X-Key"},
			servers: map[string]*httptest.Server{api: secureServer(t, echo, outside, "api.example.org")},
		})
		for _, http2 := range []bool{false, true} {
			response, err := w.client(http2).Get("https://api.example.org/")
			if err != nil {
				t.Fatal(err)
			}
			announced := fmt.Sprint(response.Trailer)
			have := announced + dump(t, response)
			if strings.Contains(strings.ToLower(have), canary[2:]) || !strings.Contains(have, "body") || !strings.Contains(have, ": value") {
				t.Errorf("HTTP/2 %v, %v: %q", http2, outside, have)
			}
		}
	}
}

// Names of headers have no letter case: a server, HTTP/2 and Go each change it.
func TestTheNameOfAHeaderIsRedactedInAnyLetterCase(t *testing.T) {
	const mixed = "Canary-7b1E-xY9c55-Zq"
	echo := func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		w.Header().Set("Trailer", "X-T-"+key)
		w.Header()["x-h-"+key] = []string{"value"}
		w.Header()["x-u-"+strings.ToUpper(key)] = []string{"value"}
		w.Header()["x-b-"+base64.RawURLEncoding.EncodeToString([]byte(key))] = []string{"value"}
		fmt.Fprint(w, "body")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-T-"+key, "value")
		w.Header().Set(http.TrailerPrefix+"X-N-"+key, "value")
	}
	for _, outside := range []bool{false, true} {
		w := newWorld(t, setup{
			allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, secrets: []string{"T=api.example.org:X-Key"}, value: mixed,
			servers: map[string]*httptest.Server{api: secureServer(t, echo, outside, "api.example.org")},
		})
		for _, http2 := range []bool{false, true} {
			response, err := w.client(http2).Get("https://api.example.org/")
			if err != nil {
				t.Fatal(err)
			}
			have := strings.ToLower(fmt.Sprint(response.Trailer) + dump(t, response))
			for _, part := range []string{mixed[:8], mixed[len(mixed)-8:], base64.RawURLEncoding.EncodeToString([]byte(mixed))[4:16]} {
				if strings.Contains(have, strings.ToLower(part)) {
					t.Errorf("HTTP/2 %v, %v: %q has %q", http2, outside, have, part)
				}
			}
			if strings.Count(have, "*: value") != 5 {
				t.Errorf("HTTP/2 %v, %v: %q", http2, outside, have)
			}
		}
	}
}
