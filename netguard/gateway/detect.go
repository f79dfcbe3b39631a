package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"aibox/internal/fault"
	"aibox/internal/peer"
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
// other value goes to ParseUpstream. admits is the upstream's Admits. It takes at
// most half a second.
func Detect(ctx context.Context, value string, env func(string) (string, bool), admits func(Owner) bool) (Upstream, error) {
	if value != "auto" && value != "" {
		u, err := ParseUpstream(value, env)
		u.Admits = admits
		return u, err
	}
	return detect(ctx, candidates(env), env, admits)
}

// Local is which of Ollama, LM Studio, llama.cpp and vLLM answer on this machine's
// loopback, in this order, and may be used. It takes at most half a second.
func Local(ctx context.Context, env func(string) (string, bool), admits func(Owner) bool) []Upstream {
	found, _ := present(ctx, candidates(env), env, admits)
	return found
}

// candidates are the servers to look for. OLLAMA_HOST moves Ollama.
func candidates(env func(string) (string, bool)) []local {
	all := locals()
	if u, err := ollama(env); err == nil {
		all[0].root = u.URL.String()
	}
	return all
}

// present are the candidates that answer: those that may be used, and the owners of
// those that may not.
func present(ctx context.Context, candidates []local, env func(string) (string, bool), admits func(Owner) bool) (found []Upstream, passed []Owner) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	owners := make([]*Owner, len(candidates))
	var wait sync.WaitGroup
	for i, candidate := range candidates {
		wait.Go(func() { owners[i] = candidate.answers(ctx) })
	}
	wait.Wait()
	for i, candidate := range candidates {
		if owners[i] == nil {
			continue
		}
		u, err := candidate.upstream(env)
		if u.Admits = admits; err != nil {
			continue
		}
		if owner := *owners[i]; owner.Address != "" && !u.admits(owner) {
			passed = append(passed, owner)
			continue
		}
		u.Passed = passed
		found = append(found, u)
	}
	return found, passed
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

func detect(ctx context.Context, candidates []local, env func(string) (string, bool), admits func(Owner) bool) (Upstream, error) {
	found, passed := present(ctx, candidates, env, admits)
	if len(found) > 0 {
		return found[0], nil
	}
	for _, v := range vendors() {
		if u, err := v.upstream(env); err == nil {
			u.Passed = passed
			return u, nil
		}
	}
	if len(passed) > 0 {
		return Upstream{}, foreignError{passed[0]}.fault()
	}
	f := fault.New(fault.Environment, "there is no model to use: no model server answers on this machine, and no key is set").
		Hint("ollama serve   # or LM Studio, llama.cpp, vLLM on their usual ports")
	for _, v := range vendors() {
		f = f.Hint("export %s=…", v.keyNames[0])
	}
	return Upstream{}, f.Hint("aibox run --inference scripted …   # no model at all: plays a built-in script")
}

// answers is who runs the server, or nil when it does not answer. A server on
// another machine has an owner without an address. It asks without following the
// user's proxy settings: this is loopback.
func (l local) answers(ctx context.Context) *Owner {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.root+l.path, nil)
	if err != nil {
		return nil
	}
	var owner Owner
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil && peer.Local(conn) {
				owner = ownerOf(conn, address)
			}
			return conn, err
		},
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var body map[string]json.RawMessage
	err = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&body)
	_, ok := body[l.key]
	// A server that wants a key is there too.
	if err == nil && ok || response.StatusCode == http.StatusUnauthorized && l.key == "data" {
		return &owner
	}
	return nil
}
