package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
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
