package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"aibox/internal/fault"
)

// local is a model server that people run on their own machine.
type local struct {
	name string
	root string
	path string // answers JSON without a key
	key  string // a key of that JSON
}

func locals() []local {
	return []local{
		{"Ollama", ollamaRoot, "/api/version", "version"},
		{"LM Studio", "http://127.0.0.1:1234", "/v1/models", "data"},
		{"llama.cpp", "http://127.0.0.1:8080", "/v1/models", "data"},
		{"vLLM", "http://127.0.0.1:8000", "/v1/models", "data"},
	}
}

// Detect is ParseUpstream for "auto" (or ""): the first of Local, else the first
// hosted vendor that env has a key for, else a fault that says what to do. Any
// other value goes to ParseUpstream. It takes at most half a second.
func Detect(ctx context.Context, value string, env func(string) (string, bool)) (Upstream, error) {
	if value != "auto" && value != "" {
		return ParseUpstream(value, env)
	}
	return detect(ctx, candidates(env), env)
}

// Local is which of Ollama, LM Studio, llama.cpp and vLLM answer on this machine's
// loopback, in this order. It takes at most half a second.
func Local(ctx context.Context, env func(string) (string, bool)) []Upstream {
	return present(ctx, candidates(env), env)
}

// candidates are the servers to look for. OLLAMA_HOST moves Ollama.
func candidates(env func(string) (string, bool)) []local {
	all := locals()
	if u, err := ollama(env); err == nil {
		all[0].root = u.URL.String()
	}
	return all
}

func present(ctx context.Context, candidates []local, env func(string) (string, bool)) []Upstream {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	there := make([]bool, len(candidates))
	var wait sync.WaitGroup
	for i, candidate := range candidates {
		wait.Go(func() { there[i] = candidate.answers(ctx) })
	}
	wait.Wait()
	var found []Upstream
	for i, candidate := range candidates {
		if !there[i] {
			continue
		}
		if u, err := candidate.upstream(env); err == nil {
			found = append(found, u)
		}
	}
	return found
}

func (l local) upstream(env func(string) (string, bool)) (Upstream, error) {
	if l.name == "Ollama" {
		root, err := url.Parse(l.root)
		return Upstream{Kind: OllamaHost, Name: "ollama", URL: root, Dialects: []Dialect{OpenAI, Anthropic, Ollama}}, err
	}
	u, err := compatible(l.root, env)
	u.Name = l.name + " on " + strings.TrimPrefix(l.root, "http://")
	return u, err
}

func detect(ctx context.Context, candidates []local, env func(string) (string, bool)) (Upstream, error) {
	if found := present(ctx, candidates, env); len(found) > 0 {
		return found[0], nil
	}
	for _, v := range vendors() {
		if u, err := v.upstream(env); err == nil {
			return u, nil
		}
	}
	f := fault.New(fault.Environment, "there is no model to use: no model server answers on this machine, and no key is set").
		Hint("ollama serve   # or LM Studio, llama.cpp, vLLM on their usual ports")
	for _, v := range vendors() {
		f = f.Hint("export %s=…", v.keyNames[0])
	}
	return Upstream{}, f.Hint("aibox run --inference scripted …   # no model at all: plays a built-in script")
}

// answers asks without following the user's proxy settings: this is loopback.
func (l local) answers(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.root+l.path, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var body map[string]json.RawMessage
	err = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&body)
	_, ok := body[l.key]
	// A server that wants a key is there too.
	return err == nil && ok || response.StatusCode == http.StatusUnauthorized && l.key == "data"
}
