package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/client"
)

// A sandbox removes itself when it ends, so the daemon may be removing it already. In each of
// these orders one of the two removals gives up, and the sandbox must not stay.
func TestContainerThatTheDaemonIsRemovingDoesNotStay(t *testing.T) {
	for name, answers := range map[string][]string{
		"it ended while it was killed": {"Could not kill running container, cannot remove - Container 0 is not running"},
		"the daemon is removing it":    {"removal of container 0 is already in progress"},
		"first the one, then the other": {
			"removal of container 0 is already in progress", "Container 0 is not running",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for failure, status := range map[string]int{
				`{"message":"gave up"}`: http.StatusInternalServerError,
				`{"StatusCode":137,"Error":{"Message":"device or resource busy"}}`: http.StatusOK,
			} {
				testRemoval(t, answers, failure, status)
			}
		})
	}
}

// testRemoval destroys a sandbox at a daemon that answers requests for its removal with
// these errors, and whose own removal fails.
func testRemoval(t *testing.T, answers []string, failure string, status int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		waits := strings.HasSuffix(r.URL.Path, "/wait")
		if !waits {
			asked++
		}
		switch {
		case waits:
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, failure)
		case asked <= len(answers):
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprintf(w, `{"message":%q}`, answers[asked-1])
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	api, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	doomed := &sandbox{backend: new(Backend), api: api, id: "0"}
	if err := doomed.Destroy(t.Context()); err != nil || asked != len(answers)+1 {
		t.Errorf("the wait ends with %s: after %d requests: %v", failure, asked, err)
	}
}
