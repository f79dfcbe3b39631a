package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"aibox/api/auth"
)

// Routes that make calls for their callers have limits of each tenant, too.
func TestAnAdmittedRequestCarriesItsCaller(t *testing.T) {
	s := newSite(t, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	ctx, done, err := s.Enter(r, s.token("a"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if got := auth.From(ctx).Tenant; got != "a" {
		t.Errorf("its tenant is %q", got)
	}
}
