package modelserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/peer/peertest"
	"aibox/netguard/gateway/schema"
)

func TestMain(m *testing.M) { peertest.Main(m) }

// otherUsersServer returns candidates, among them an Ollama of another user.
func otherUsersServer(t *testing.T) (server *peertest.Server, servers []localServer) {
	server = peertest.Start(t)
	return server, []localServer{{"Ollama", "http://" + server.Address.String(), "/api/version", "version"}}
}

func TestAnotherUsersServerIsSkipped(t *testing.T) {
	server, servers := otherUsersServer(t)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[]}`)) }))
	t.Cleanup(own.Close)
	with := append(servers, localServer{"vLLM", own.URL, "/v1/models", "data"})
	u, err := detect(t.Context(), with, environment(), nil)
	if err != nil || !strings.HasPrefix(u.Name, "vLLM on ") || len(u.Skipped) != 1 || u.Skipped[0].Address != server.Address.String() {
		t.Errorf("with a server of the user's: %+v, %v", u, err)
	}
	u, err = detect(t.Context(), servers, environment("OPENAI_API_KEY", "sk-11111"), nil)
	if err != nil || u.Name != "openai" || len(u.Skipped) != 1 {
		t.Errorf("with a key: %+v, %v", u, err)
	}
	_, err = detect(t.Context(), servers, environment(), nil)
	if fault.KindOf(err) != fault.Refused || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--inference http://"+server.Address.String()) {
		t.Errorf("with nothing else: %v %q", err, fault.Hints(err))
	}
	admits := func(o Owner) bool { return o.Address == server.Address.String() && o.UID > 0 }
	if u, err = detect(t.Context(), servers, environment(), admits); err != nil || u.Name != "ollama" || len(u.Skipped) != 0 {
		t.Errorf("admitted: %+v, %v", u, err)
	}
}

// The server that answered the search may later be replaced by another one.
func TestEveryConnectionIsChecked(t *testing.T) {
	server, _ := otherUsersServer(t)
	root, _ := url.Parse("http://" + server.Address.String())
	admitted := true
	u := Server{Kind: OllamaHost, Name: "ollama", URL: root, Dialects: []schema.Dialect{schema.OpenAI}, Admits: func(Owner) bool { return admitted }}
	if models, err := Preflight(t.Context(), u); err != nil || len(models) != 1 {
		t.Fatalf("admitted: %+v, %v", models, err)
	}
	before := len(server.Requests())
	admitted = false
	_, err := Preflight(t.Context(), u)
	if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), "another user of this machine") {
		t.Errorf("not admitted any more: %v", err)
	}
	u.Admits = nil
	if _, err := Preflight(t.Context(), u); fault.KindOf(err) != fault.Refused {
		t.Errorf("never admitted: %v", err)
	}
	if after := len(server.Requests()); after != before {
		t.Errorf("it was asked %d more times", after-before)
	}
	u.AnyOwner = true
	if _, err := Preflight(t.Context(), u); err != nil {
		t.Errorf("by its address: %v", err)
	}
	if owner, other := OtherOwner(t.Context(), u); !other || owner.UID <= 0 {
		t.Errorf("its owner is %+v, %t", owner, other)
	}
}

func TestOwnersTrustedWithoutConfirmation(t *testing.T) {
	me := int64(os.Getuid())
	for name, test := range map[string]struct {
		owner Owner
		kind  Kind
		want  bool
	}{
		"the user":                    {Owner{UID: me}, Compatible, true},
		"root":                        {Owner{UID: 0, Name: "root"}, Compatible, true},
		"another user":                {Owner{UID: me + 1, Name: "bob"}, Compatible, false},
		"Ollama's account":            {Owner{UID: 998, Name: "ollama"}, OllamaHost, true},
		"Ollama's account, elsewhere": {Owner{UID: 998, Name: "ollama"}, Compatible, false},
		"a user named ollama":         {Owner{UID: 60001, Name: "ollama"}, OllamaHost, false},
		"another service":             {Owner{UID: 33, Name: "www-data"}, OllamaHost, false},
		"nobody":                      {Owner{UID: 65534, Name: "nobody"}, OllamaHost, false},
		"unknown":                     {Owner{UID: unknownOwner}, OllamaHost, false},
	} {
		if got := test.owner.trusted(test.kind); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (Server{Admits: func(Owner) bool { return true }}).admits(Owner{UID: unknownOwner}) {
		t.Error("an unknown owner was admitted")
	}
}

func TestForeignNamesTheServerToConfirm(t *testing.T) {
	server, _ := otherUsersServer(t)
	env := environment("OLLAMA_HOST", server.Address.String())
	if owner, ok := UntrustedOwner(context.Background(), "ollama", env, nil); !ok || owner.Address != server.Address.String() {
		t.Errorf("%+v, %t", owner, ok)
	}
	if owner, ok := UntrustedOwner(context.Background(), "ollama", env, func(Owner) bool { return true }); ok {
		t.Errorf("admitted: %+v", owner)
	}
	for _, value := range []string{"openai", "scripted", "http://" + server.Address.String()} {
		if owner, ok := UntrustedOwner(context.Background(), value, env, nil); ok {
			t.Errorf("%s: %+v", value, owner)
		}
	}
	var foreign foreignError
	u, _ := Parse("ollama", env)
	if _, err := u.dial(t.Context(), "tcp", server.Address.String()); !errors.As(err, &foreign) {
		t.Errorf("dialed: %v", err)
	}
}
