package supervisor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
)

// countedServer counts the requests for its only model, of which the first ones fail.
type countedServer struct {
	Inference
	failing int
	asked   int
}

func (s *countedServer) Model(context.Context, string) (Model, error) {
	s.asked++
	if s.asked <= s.failing {
		return Model{}, errors.New("down")
	}
	return Model{ID: "m"}, nil
}

// A request of the sandbox must not become a request to the model server with the user's key.
func TestRequestsOfASandboxAskTheServerOnceForItsModel(t *testing.T) {
	agent, err := agents.Builtin().Find("shell")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := &countedServer{failing: 2}
		own := ownModels{find: func() ([]string, error) {
			return sessionModels(t.Context(), server, agent, func() (Model, error) { return Model{}, nil })
		}}
		for asked := 1; asked <= server.failing; asked++ {
			for range 50 {
				if models := own.list(); models != nil {
					t.Errorf("the models are %q", models)
				}
			}
			if server.asked != asked {
				t.Errorf("the server was asked %d times, not %d", server.asked, asked)
			}
			time.Sleep(modelRetry)
		}
		var requests sync.WaitGroup
		for range 50 {
			requests.Go(func() {
				if models := own.list(); !slices.Equal(models, []string{"m"}) {
					t.Errorf("the models are %q", models)
				}
			})
		}
		requests.Wait()
		time.Sleep(time.Hour)
		if own.list(); server.asked != server.failing+1 {
			t.Errorf("the server was asked %d times", server.asked)
		}
	})
}
