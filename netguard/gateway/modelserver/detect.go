package modelserver

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
	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
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

// Detect is ParseUpstream for "auto" (or ""): the first of Local; a *Loading when one
// is there that is not ready; else the first hosted vendor that env has a key for; else
// a fault that says what to do. Any other value goes to ParseUpstream. admits is the
// upstream's Admits. It takes at most half a second.
func Detect(ctx context.Context, value string, env func(string) (string, bool), admits func(Owner) bool) (Server, error) {
	if value != "auto" && value != "" {
		u, err := Parse(value, env)
		u.Admits = admits
		return u, err
	}
	return detect(ctx, candidates(env), env, admits)
}

// Local is which of Ollama, LM Studio, llama.cpp and vLLM answer on this machine's
// loopback, in this order, and may be used. It takes at most half a second.
func Local(ctx context.Context, env func(string) (string, bool), admits func(Owner) bool) []Server {
	return present(ctx, candidates(env), env, admits).found
}

// candidates are the servers to look for. OLLAMA_HOST moves Ollama.
func candidates(env func(string) (string, bool)) []local {
	all := locals()
	if u, err := ollama(env); err == nil {
		all[0].root = u.URL.String()
	}
	return all
}

// presence is what was found of the servers on this machine.
type presence struct {
	found   []Server // those that answer and may be used
	loading *Loading // the first of those that are there, may be used and are not ready; nil for none
	passed  []Owner  // the owners of those that may not be used
}

// present looks for candidates.
func present(ctx context.Context, candidates []local, env func(string) (string, bool), admits func(Owner) bool) (p presence) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	looks := make([]look, len(candidates))
	var wait sync.WaitGroup
	for i, candidate := range candidates {
		wait.Go(func() { looks[i] = candidate.look(ctx) })
	}
	wait.Wait()
	for i, candidate := range candidates {
		owner, state := looks[i].owner, looks[i].state
		if state == absent {
			continue
		}
		u, err := candidate.upstream(env)
		if u.Admits = admits; err != nil {
			continue
		}
		switch {
		case owner.Address != "" && !u.admits(owner):
			p.passed = append(p.passed, owner)
		case state == ready:
			u.Passed = p.passed
			p.found = append(p.found, u)
		case p.loading == nil:
			p.loading = &Loading{Server: candidate.name + " on " + u.Address(), Told: state == saysLoading}
			if candidate.name != "Ollama" && state != saysLoading { // the port alone tells little
				p.loading.Server = "what is on " + u.Address()
			}
		}
	}
	return p
}

func (l local) upstream(env func(string) (string, bool)) (Server, error) {
	if l.name == "Ollama" {
		root, err := url.Parse(l.root)
		return Server{Kind: OllamaHost, Name: "ollama", URL: root, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}}, err
	}
	u, err := compatible(l.root, env)
	u.Name = l.name + " on " + strings.TrimPrefix(l.root, "http://")
	return u, err
}

func detect(ctx context.Context, candidates []local, env func(string) (string, bool), admits func(Owner) bool) (Server, error) {
	local := present(ctx, candidates, env, admits)
	passed := local.passed
	switch {
	case len(local.found) > 0:
		return local.found[0], nil
	case local.loading != nil: // code must not leave the machine because its server starts slowly
		return Server{}, local.loading
	}
	for _, v := range vendors() {
		if u, err := v.upstream(env); err == nil {
			u.Passed, u.Fallback = passed, true
			return u, nil
		}
	}
	if len(passed) > 0 {
		return Server{}, foreignError{passed[0]}.fault()
	}
	f := fault.New(fault.Environment, "there is no model to use: no model server answers on this machine, and no key is set").
		Hint("ollama serve   # or LM Studio, llama.cpp, vLLM on their usual ports")
	for _, v := range vendors() {
		f = f.Hint("export %s=…", v.keyNames[0])
	}
	return Server{}, f.Hint("aibox run --inference scripted …   # no model at all: plays a built-in script")
}

// state is whether a server on this machine is there. The zero value is that it is not.
type state uint8

const (
	absent      state = iota
	ready             // it answers as the server that is looked for
	quiet             // it takes connections and does not answer
	saysLoading       // it says that it loads its model
)

// look is what there is at a server's address. A server on another machine has an
// owner without an address.
type look struct {
	owner Owner
	state state
}

// look asks the server. It does not follow the user's proxy settings: this is loopback.
func (l local) look(ctx context.Context) look {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.root+l.path, nil)
	if err != nil {
		return look{}
	}
	var owner Owner
	connected := false
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			connected = err == nil
			if err == nil && peer.Local(conn) {
				owner = ownerOf(conn, address)
			}
			return conn, err
		},
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		// On Ollama's own port one that hangs up starts, too, such as behind Docker's proxy.
		if transport.CloseIdleConnections(); connected && (ctx.Err() != nil || l.name == "Ollama") {
			return look{owner, quiet}
		}
		return look{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var body map[string]json.RawMessage
	_ = json.Unmarshal(text, &body)
	_, ok := body[l.key]
	switch {
	// A server that wants a key is there too.
	case ok, response.StatusCode == http.StatusUnauthorized && l.key == "data":
		return look{owner, ready}
	case failure.IsLoading(response.StatusCode, string(text)):
		return look{owner, saysLoading}
	case err != nil && ctx.Err() != nil, l.name == "Ollama" && response.StatusCode >= 500:
		return look{owner, quiet}
	}
	return look{}
}
