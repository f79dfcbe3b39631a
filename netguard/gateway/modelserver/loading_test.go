package modelserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/netguard/gateway/schema"
)

// always returns a server with the same answer to every request.
func always(t *testing.T, status int, body string) string {
	t.Helper()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(program.Close)
	return program.URL
}

// deaf accepts connections and never answers, like a server that is starting.
func deaf(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

// hangsUp accepts connections and closes them.
func hangsUp(t *testing.T) string {
	t.Helper()
	program := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(program.Close)
	return program.URL
}

// Code must not leave the machine because its own model server starts slowly.
func TestAutoDoesNotUseAProviderWhileALocalServerStarts(t *testing.T) {
	const llamaLoading = `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`
	ollama := func(root string) localServer { return localServer{"Ollama", root, "/api/version", "version"} }
	llama := func(root string) localServer { return localServer{"llama.cpp", root, "/v1/models", "data"} }
	ready := llama(always(t, 200, `{"data":[]}`))
	env := environment("OPENAI_API_KEY", "sk-11111")
	for name, test := range map[string]struct {
		servers []localServer
		name    string // of the chosen server
		why     string // it is not ready
	}{
		"Ollama that does not answer":      {[]localServer{ollama(deaf(t))}, "", "does not answer yet"},
		"Ollama that hangs up":             {[]localServer{ollama(hangsUp(t))}, "", "does not answer yet"},
		"Ollama that fails":                {[]localServer{ollama(always(t, 502, "bad gateway"))}, "", "does not answer yet"},
		"llama.cpp that loads":             {[]localServer{llama(always(t, 503, llamaLoading))}, "", "is still loading its model"},
		"llama.cpp that does not answer":   {[]localServer{llama(deaf(t))}, "", "does not answer yet"},
		"one that loads, one that is up":   {[]localServer{llama(always(t, 503, llamaLoading)), ready}, "llama.cpp on ", ""},
		"another program that hangs up":    {[]localServer{llama(hangsUp(t))}, "openai", ""},
		"another program that fails":       {[]localServer{llama(always(t, 503, "<h1>maintenance</h1>"))}, "openai", ""},
		"another program on Ollama's port": {[]localServer{ollama(always(t, 404, "<html>"))}, "openai", ""},
	} {
		u, err := detect(context.Background(), test.servers, env, nil)
		var loading *Loading
		switch {
		case test.why == "":
			if err != nil || !strings.HasPrefix(u.Name, test.name) || u.Fallback != (test.name == "openai") {
				t.Errorf("%s: %q %t, %v", name, u.Name, u.Fallback, err)
			}
		case !errors.As(err, &loading) || !strings.Contains(err.Error(), test.why) || fault.KindOf(err) != fault.Environment || len(fault.Hints(err)) != 2:
			t.Errorf("%s: %q, %v, hints %q", name, u.Name, err, fault.Hints(err))
		case loading.Loads() != strings.Contains(test.why, "loading"):
			t.Errorf("%s: %+v", name, loading)
		}
	}
}

// On a busy machine, the time for an answer can be over before the server is asked.
func TestAutoDoesNotUseAProviderBecauseTheMachineIsBusy(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	env := environment("OPENAI_API_KEY", "sk-11111")
	up := strings.TrimPrefix(always(t, 200, `{"data":[]}`), "http://")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	var loading *Loading
	if u, err := detect(late, []localServer{{"llama.cpp", "http://" + up, "/v1/models", "data"}}, env, nil); !errors.As(err, &loading) {
		t.Errorf("with a server: %q, %v", u.Name, err)
	}
	if u, err := detect(late, []localServer{{"llama.cpp", "http://" + free.Addr().String(), "/v1/models", "data"}}, env, nil); u.Name != "openai" {
		t.Errorf("where nothing listens: %q, %v", u.Name, err)
	}
}

// A server that the user names is not ready, either, while it loads.
func TestLoadingServerIsNotReportedAsBroken(t *testing.T) {
	for body, want := range map[string]bool{`{"error":{"message":"Loading model"}}`: true, `{"error":"down"}`: false} {
		root, _ := url.Parse(always(t, 503, body))
		_, err := Preflight(context.Background(), Server{Kind: Compatible, Name: "x", URL: root, Dialects: []schema.Dialect{schema.OpenAI}, AnyOwner: true})
		var loading *Loading
		if got := errors.As(err, &loading) && loading.Loads(); err == nil || got != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}
