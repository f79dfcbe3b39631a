package modelserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway/schema"
)

const realKey = "sk-real-CANARY-0123456789abcdef"

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestInferenceValueSelectsAnUpstream(t *testing.T) {
	env := environment("OPENAI_API_KEY", "sk-11111\n", "ANTHROPIC_API_KEY", "sk-22222", "GOOGLE_API_KEY", "g-333333", "OPENROUTER_API_KEY", "r-444444", "AIBOX_INFERENCE_KEY", "k-555555", "OLLAMA_HOST", "0.0.0.0:7000")
	for value, want := range map[string]struct {
		kind     Kind
		url, key string
		dialects []schema.Dialect
	}{
		"scripted":                       {Scripted, "", "", []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}},
		"scripted:demo.toml":             {Scripted, "", "", []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}},
		"ollama":                         {OllamaHost, "http://127.0.0.1:7000", "", []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}},
		"openai":                         {Hosted, "https://api.openai.com", "sk-11111", []schema.Dialect{schema.OpenAI}},
		"anthropic":                      {Hosted, "https://api.anthropic.com", "sk-22222", []schema.Dialect{schema.Anthropic}},
		"gemini":                         {Hosted, "https://generativelanguage.googleapis.com", "g-333333", []schema.Dialect{schema.Gemini}},
		"openrouter":                     {Hosted, "https://openrouter.ai/api", "r-444444", []schema.Dialect{schema.OpenAI, schema.Anthropic}},
		"http://127.0.0.1:1234/v1":       {Compatible, "http://127.0.0.1:1234", "k-555555", []schema.Dialect{schema.OpenAI, schema.Anthropic}},
		"http://127.0.0.1:1234/":         {Compatible, "http://127.0.0.1:1234", "k-555555", []schema.Dialect{schema.OpenAI, schema.Anthropic}},
		"https://llm.example/team/a/v1/": {Compatible, "https://llm.example/team/a", "k-555555", []schema.Dialect{schema.OpenAI, schema.Anthropic}},
		"http://[::1]:9000/v1":           {Compatible, "http://[::1]:9000", "k-555555", []schema.Dialect{schema.OpenAI, schema.Anthropic}},
		"http://192.168.1.5:11434":       {OllamaHost, "http://192.168.1.5:11434", "k-555555", []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}},
		"http://127.0.0.1:1234/v1beta":   {Compatible, "http://127.0.0.1:1234", "k-555555", []schema.Dialect{schema.Gemini}},
		"http://127.0.0.1:11434/v1beta/": {Compatible, "http://127.0.0.1:11434", "k-555555", []schema.Dialect{schema.Gemini}},
		"https://llm.example/a/v1beta":   {Compatible, "https://llm.example/a", "k-555555", []schema.Dialect{schema.Gemini}},
		"https://api.anthropic.com/v1":   {Hosted, "https://api.anthropic.com", "k-555555", []schema.Dialect{schema.Anthropic}},
	} {
		u, err := Parse(value, env)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		got := ""
		if u.URL != nil {
			got = u.URL.String()
		}
		if u.Kind != want.kind || got != want.url || u.Key.Reveal() != want.key || !slices.Equal(u.Dialects, want.dialects) {
			t.Errorf("%s: %v %s %v", value, u.Kind, got, u.Dialects)
		}
	}
}

func TestInvalidInferenceValueIsExplained(t *testing.T) {
	for value, want := range map[string]struct {
		kind fault.Kind
		text string
	}{
		"openai":                      {fault.Environment, "OPENAI_API_KEY is not set"},
		"olama":                       {fault.Usage, "unknown model server"},
		"localhost:8000":              {fault.Usage, "unknown model server"},
		"auto":                        {fault.Usage, "unknown model server"},
		"scripted:":                   {fault.Usage, "names no file"},
		"ftp://x/":                    {fault.Usage, "not the URL"},
		"http://":                     {fault.Usage, "not the URL"},
		"http://x/v1?key=sk-secret":   {fault.Usage, "not the URL"},
		"https://user:sk-secret@x/v1": {fault.Usage, "must not hold"},
		"http://x:port/":              {fault.Usage, "not the URL"},
		"\x1b[31mevil://x":            {fault.Usage, "not the URL"},
	} {
		_, err := Parse(value, environment())
		if fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) || len(fault.Hints(err)) == 0 {
			t.Errorf("%q: %v %q %v", value, fault.KindOf(err), err, fault.Hints(err))
		}
		if text := err.Error() + strings.Join(fault.Hints(err), " "); strings.Contains(text, "\x1b") || strings.Contains(value, "user:") && strings.Contains(text, "sk-secret") {
			t.Errorf("%q: %q", value, text)
		}
	}
}

func TestAutoPrefersALocalServer(t *testing.T) {
	serve := func(path, body string) string {
		program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(program.Close)
		return program.URL
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	ollama, other, page := serve("/api/version", `{"version":"0.14"}`), serve("/v1/models", `{"data":[]}`), serve("/", "<html>")
	env := environment("OPENAI_API_KEY", "sk-11111")
	for _, test := range []struct {
		servers []localServer
		want    string
	}{
		{[]localServer{{"Ollama", ollama, "/api/version", "version"}, {"vLLM", other, "/v1/models", "data"}}, "ollama"},
		{[]localServer{{"Ollama", closed.URL, "/api/version", "version"}, {"vLLM", other, "/v1/models", "data"}}, "vLLM on " + strings.TrimPrefix(other, "http://")},
		{[]localServer{{"Ollama", closed.URL, "/api/version", "version"}, {"llama.cpp", page, "/v1/models", "data"}}, "openai"},
	} {
		u, err := detect(context.Background(), test.servers, env, nil)
		if err != nil || u.Name != test.want || u.URL == nil {
			t.Errorf("%q, %v; want %q", u.Name, err, test.want)
		}
	}
	_, err := detect(context.Background(), nil, environment(), nil)
	if fault.KindOf(err) != fault.Environment || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--inference scripted") {
		t.Errorf("%v %v", err, fault.Hints(err))
	}
}

func TestPreflightListsModelsOrGivesAHint(t *testing.T) {
	for _, test := range []struct {
		name       string
		kind       Kind
		dialects   []schema.Dialect
		status     int
		body, path string
		want, text string
	}{
		{"openai", Compatible, []schema.Dialect{schema.OpenAI}, 200, `{"data":[{"id":"a"},{"id":"b"}]}`, "/v1/models", "a b", ""},
		{"anthropic", Compatible, []schema.Dialect{schema.Anthropic}, 200, `{"data":[{"id":"a"}]}`, "/v1/models", "a", ""},
		{"gemini", Hosted, []schema.Dialect{schema.Gemini}, 200, `{"models":[{"name":"models/g"}]}`, "/v1beta/models", "g", ""},
		{"http://127.0.0.1:1234/v1beta", Compatible, []schema.Dialect{schema.Gemini}, 200, `{"models":[{"name":"models/g"}]}`, "/v1beta/models", "g", ""},
		{"ollama", OllamaHost, []schema.Dialect{schema.Ollama}, 200, `{"models":[{"name":"q:7b"}]}`, "/api/tags", "q:7b", ""},
		{"no models", OllamaHost, []schema.Dialect{schema.Ollama}, 200, `{"models":[]}`, "/api/tags", "", "has no model yet"},
		{"refused", Compatible, []schema.Dialect{schema.OpenAI}, 401, realKey, "/v1/models", "", "refused the key in SOME_KEY"},
		{"no list", Compatible, []schema.Dialect{schema.OpenAI}, 404, "", "/v1/models", "", ""},
		{"failing", Compatible, []schema.Dialect{schema.OpenAI}, 500, realKey, "/v1/models", "", "status 500"},
		{"a page", Compatible, []schema.Dialect{schema.OpenAI}, 200, "<html>", "/v1/models", "", "does not answer as a model server"},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != test.path {
					t.Errorf("asked %s", r.URL.Path)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			})
			program := httptest.NewServer(handler)
			defer program.Close()
			root, _ := url.Parse(program.URL)
			upstream := Server{Kind: test.kind, Name: "x", URL: root, Dialects: test.dialects, Key: secret.New(realKey), KeyName: "SOME_KEY"}
			models, err := Preflight(context.Background(), upstream)
			var ids []string
			for _, model := range models {
				ids = append(ids, model.ID)
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("%q", got)
			}
			if (err == nil) != (test.text == "") || err != nil && (!strings.Contains(err.Error(), test.text) || len(fault.Hints(err)) == 0) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error()+strings.Join(fault.Hints(err), ""), realKey) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
	_, err := Preflight(context.Background(), Server{Kind: Compatible, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Dialects: []schema.Dialect{schema.OpenAI}})
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "nothing answers on 127.0.0.1:1") {
		t.Errorf("%v", err)
	}
}

func TestAValueThatNamesNoModelServerIsInvalidWithoutAKeyOrTheNetwork(t *testing.T) {
	for _, value := range []string{"", "auto", "ollama", "openai", "gemini", "scripted", "scripted:hello.txt", "http://127.0.0.1:1/v1", "https://api.openai.com"} {
		if err := Validate(value); err != nil {
			t.Errorf("%q is invalid: %v", value, err)
		}
	}
	for _, value := range []string{"xyz", "localhost:8000", "scripted:", "ftp://127.0.0.1", "http://user:key@127.0.0.1"} {
		_, want := Parse(value, func(string) (string, bool) { return "", false })
		if err := Validate(value); fault.KindOf(err) != fault.Usage || err.Error() != want.Error() {
			t.Errorf("%q: %v instead of %v", value, err, want)
		}
	}
}

func TestAMisspelledModelServerIsSuggested(t *testing.T) {
	for value, want := range map[string]string{"olama": "ollama", "antropic": "anthropic", "wrk": "work"} {
		_, err := Parse(value, environment(), Provider{Name: "work"})
		if hints := fault.Hints(err); len(hints) == 0 || hints[0] != "did you mean "+want+"?" {
			t.Errorf("%q: %q", value, hints)
		}
	}
}

func TestAServerThatHostsEveryShellIsKnown(t *testing.T) {
	for address, want := range map[string]bool{
		"https://openrouter.ai/api": true, "https://eu.openrouter.ai/api/v1": true,
		"https://api.openai.com": false, "https://openrouter.ai.example.com": false, "http://127.0.0.1:11434": false,
	} {
		u, err := Parse(address, func(string) (string, bool) { return "", false })
		if err != nil || u.HostsShells() != want {
			t.Errorf("%s: %t, %v", address, u.HostsShells(), err)
		}
	}
}

func TestAServerThatStoresChatsIsKnown(t *testing.T) {
	for address, want := range map[string]bool{
		"openai": true, "https://api.openai.com/v1": true, "https://eu.api.openai.com/v1": true,
		"https://openrouter.ai/api": false, "https://api.openai.com.example.com": false, "http://127.0.0.1:11434": false,
	} {
		u, err := Parse(address, func(string) (string, bool) { return "sk-key-of-a-test", true })
		if err != nil || u.StoresChats() != want {
			t.Errorf("%s: %t, %v", address, u.StoresChats(), err)
		}
	}
}

// Otherwise each request of an agent that gives up early would ask the user of a password manager again.
func TestOneCommandAtATimePrintsAKey(t *testing.T) {
	begun, answer := make(chan struct{}, 4), make(chan error)
	keys := newKeySource(func(ctx context.Context) (Credential, error) {
		begun <- struct{}{}
		return Credential{}, errors.Join(<-answer, ctx.Err())
	})
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	for range 3 {
		if _, err := keys.credential(givenUp); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was given up waits: %v", err)
		}
	}
	answer <- errors.New("locked") // the command that the first one needed was not ended
	if _, err := keys.credential(givenUp); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-begun
	if n := len(begun); n > 1 { // the last request can have begun another one
		t.Errorf("%d more commands were run", n)
	}
	close(answer)
}
