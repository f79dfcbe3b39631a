package mcp

import (
	"crypto/sha256"
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
