package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"aibox/session"
)

// FuzzQueriesOfStreams sends any path and query to the routes of REST that are not generated
// from the schema. Each answer is a result, or an error of the caller in the one shape.
func FuzzQueriesOfStreams(f *testing.F) {
	for _, seed := range [][3]string{
		{"00001-sandbox", "1", "from_seq=1&format=proto"},
		{"00001-sandbox", "-1", "from_seq=-1"},
		{"00001-sandbox", "1", "from_seq=9223372036854775808&mode=-1&length=9223372036854775808"},
		{"../00001-sandbox", "99999999999", ""},
		{"00001-sandbox", "0x1", "offset=-1&length=1e3&path=/etc/passwd"},
		{"00001-sandbox", "1", "mode=999999999999&path=%00&user=root&name=.."},
		{"", "", "%zz=1;x"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	s := newSite(f, nil)
	token := s.token("a")
	if _, err := s.m.StartProcess(f.Context(), session.ID(s.sandbox("a")), waiting); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sandbox, process, query string) {
		base := "/v1/sandboxes/" + url.PathEscape(sandbox)
		for _, call := range []struct{ method, path string }{
			{http.MethodGet, base + "/processes/" + url.PathEscape(process) + "/ws"},
			{http.MethodGet, base + "/files/content"},
			{http.MethodPut, base + "/files/content"},
			{http.MethodPut, base + "/files/archive"},
		} {
			r := httptest.NewRequestWithContext(t.Context(), call.method, "http://localhost/", strings.NewReader("x"))
			r.URL.Path, r.URL.RawQuery = call.path, query
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code < 400 || w.Code == http.StatusUpgradeRequired { // the right query of a WebSocket
				continue
			}
			var shown struct {
				Error struct{ Kind, Message, ID string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &shown); err != nil || shown.Error.Kind == "" || shown.Error.Kind == "internal" || shown.Error.ID == "" {
				t.Errorf("%s %s?%s: %d %q", call.method, call.path, query, w.Code, w.Body)
			}
		}
	})
}
