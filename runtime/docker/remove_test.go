package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docker/docker/client"
)

// A sandbox removes itself when it ends, so the daemon is at it when it is asked to. In
// each of these orders one of the two gives up, and the sandbox must not stay.
func TestContainerThatTheDaemonIsRemovingDoesNotStay(t *testing.T) {
	for name, answers := range map[string][]string{
		"it ended while it was killed": {"Could not kill running container, cannot remove - Container 0 is not running"},
		"the daemon is at it":          {"removal of container 0 is already in progress"},
		"first the one, then the other": {
			"removal of container 0 is already in progress", "Container 0 is not running",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				waits := strings.HasSuffix(r.URL.Path, "/wait")
				if !waits {
					asked++
				}
				switch {
				case waits: // the other removal fails
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = fmt.Fprint(w, `{"message":"gave up"}`)
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
			doomed := &sandbox{api: api, id: "0"}
			if err := doomed.Destroy(t.Context()); err != nil || asked != len(answers)+1 {
				t.Errorf("after %d requests: %v", asked, err)
			}
		})
	}
}
