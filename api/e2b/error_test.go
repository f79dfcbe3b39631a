package e2b

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// Calls inside a sandbox have the header X-Access-Token.
func TestOnlyTheControlPlaneBlamesItsHeaderForATokenThatIsNotValid(t *testing.T) {
	refused := apiFault(connect.CodeUnauthenticated, kindUnauthenticated, "the token is not valid")
	for where, err := range map[string]error{"the control plane": refused, "a sandbox": (&backend{}).insideError(t.Context(), refused)} {
		w := httptest.NewRecorder()
		writeError(w, err)
		blamed := strings.Contains(w.Body.String(), "X-API-KEY")
		if w.Code != http.StatusUnauthorized || blamed != (where == "the control plane") || strings.Contains(w.Body.String(), "hint") {
			t.Errorf("%s: %d %s", where, w.Code, w.Body)
		}
	}
}
