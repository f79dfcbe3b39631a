package mcp

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A page that rebinds its name has the server's own origin, and old browsers send no Origin
// with some requests of other pages.
func TestNoWebPageCanUseTheServer(t *testing.T) {
	h := &Handler{Tenant: func(*http.Request) (string, bool) { return "", false }}
	for _, c := range []struct {
		name, value string
		want        int
	}{
		{"X-Other", "y", http.StatusUnauthorized}, // a program, without a token
		{"Origin", "https://evil.example", http.StatusForbidden},
		{"Origin", "http://aibox.example", http.StatusForbidden},
		{"Origin", "null", http.StatusForbidden},
		{"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"Sec-Fetch-Site", "same-site", http.StatusForbidden},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://aibox.example/mcp", strings.NewReader("{}"))
		request.Header.Set(c.name, c.value)
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, request); answer.Code != c.want {
			t.Errorf("%s: %s: %d instead of %d", c.name, c.value, answer.Code, c.want)
		}
	}
}

// begin is the body of a request that begins a session of the protocol.
const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// beginRequest returns a request that begins a session.
func beginRequest(ctx context.Context, body string) *http.Request {
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://aibox.example/mcp", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	return request
}

func TestATenantsSessionsThatBeginAtOnceKeepToTheirLimit(t *testing.T) {
	const more = 3
	var lock sync.Mutex
	together := make(chan struct{})
	came := 0 // requests that were refused or are about to begin a session
	arrive := func() {
		lock.Lock()
		defer lock.Unlock()
		if came++; came == maxSessions+more {
			close(together)
		}
	}
	h := &Handler{Config: func(string) Config { return Config{Version: "1"} }}
	type requestKey struct{}
	h.Tenant = func(r *http.Request) (string, bool) {
		// The first call comes before the limit is checked, the next one after it.
		calls := r.Context().Value(requestKey{}).(*int)
		*calls++
		if *calls == 2 {
			arrive()
			<-together
		}
		return "a", true
	}
	answers := make(chan *httptest.ResponseRecorder, maxSessions+more)
	var all sync.WaitGroup
	for range maxSessions + more {
		all.Go(func() {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, beginRequest(context.WithValue(t.Context(), requestKey{}, new(int)), begin))
			if answer.Code == http.StatusTooManyRequests {
				arrive()
			}
			answers <- answer
		})
	}
	all.Wait()
	close(answers)
	codes := map[int]int{}
	for answer := range answers {
		codes[answer.Code]++
	}
	if codes[http.StatusOK] != maxSessions || codes[http.StatusTooManyRequests] != more {
		t.Errorf("requests by the status of their answers: %v", codes)
	}
	for session := range h.server("a").Sessions() {
		_ = session.Close()
		break
	}
	for _, body := range []string{"{", begin} { // a request that begins no session keeps no place
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, beginRequest(context.WithValue(t.Context(), requestKey{}, new(int)), body))
		if answer.Code == http.StatusTooManyRequests {
			t.Errorf("%q: after the end of a session there is no place for another", body)
		}
	}
}

// The id of a session of the protocol cannot be made by anyone else, or used by another tenant.
func FuzzSessionID(f *testing.F) {
	h := &Handler{key: [sha256.Size]byte{7}}
	const text = "XYZ"
	genuine := text + "." + h.code("a", text)
	f.Add("a", genuine)
	f.Add("b", genuine)
	f.Add("a\x00XYZ", "."+h.code("a", text))
	f.Add("a", genuine+".")
	f.Add("a", strings.ToUpper(genuine))
	f.Fuzz(func(t *testing.T, tenant, id string) {
		if h.owns(tenant, id) && (tenant != "a" || id != genuine) {
			t.Errorf("%q belongs to %q", id, tenant)
		}
	})
}
