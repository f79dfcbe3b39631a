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
	"sync/atomic"
	"time"

	"aibox/internal/fault"
	"aibox/internal/peer"
	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
)

// localServer is a model server that users run on their own machine.
type localServer struct {
	name string
	root string
	path string // answers JSON without a key
	key  string // a key of that JSON
}

func localServers() []localServer {
	return []localServer{
		{"Ollama", ollamaRoot, "/api/version", "version"},
		{"LM Studio", "http://127.0.0.1:1234", "/v1/models", "data"},
		{"llama.cpp", "http://127.0.0.1:8080", "/v1/models", "data"},
		{"vLLM", "http://127.0.0.1:8000", "/v1/models", "data"},
	}
}

// Detect is Parse for "auto" (or ""): the first of Local; else a *Loading if a
// server is running but not ready; else the first hosted vendor that env has a key for;
// else a fault with hints. Any other value goes to Parse. admits is the upstream's
// Admits. It takes at most half a second.
func Detect(ctx context.Context, value string, env func(string) (string, bool), admits func(Owner) bool, providers ...Provider) (Server, error) {
	if value != "auto" && value != "" {
		u, err := Parse(value, env, providers...)
		u.Admits = admits
		return u, err
	}
	return detect(ctx, serversToProbe(env), env, admits, providers...)
}

// Local returns which of Ollama, LM Studio, llama.cpp and vLLM answer on this machine's
// loopback, in this order, and may be used. It takes at most half a second.
func Local(ctx context.Context, env func(string) (string, bool), admits func(Owner) bool) []Server {
	return detectLocal(ctx, serversToProbe(env), env, admits).found
}

// serversToProbe lists the servers to look for. OLLAMA_HOST moves Ollama.
func serversToProbe(env func(string) (string, bool)) []localServer {
	all := localServers()
	if u, err := ollama(env); err == nil {
		all[0].root = u.URL.String()
	}
	return all
}

// detection is the result of the search for servers on this machine.
type detection struct {
	found   []Server // those that answer and may be used
	loading *Loading // the first that is running and may be used, but is not ready; nil for none
	skipped []Owner  // the owners of those that may not be used
}

// detectLocal searches for candidates.
func detectLocal(ctx context.Context, servers []localServer, env func(string) (string, bool), admits func(Owner) bool) (p detection) {
	probes := make([]probe, len(servers))
	var wait sync.WaitGroup
	for i, server := range servers {
		wait.Go(func() { probes[i] = server.probe(ctx) })
	}
	wait.Wait()
	for i, server := range servers {
		owner, state := probes[i].owner, probes[i].state
		if state == absent {
			continue
		}
		u, err := server.upstream(env)
		if u.Admits = admits; err != nil {
			continue
		}
		switch {
		case owner.Address != "" && !u.admits(owner):
			p.skipped = append(p.skipped, owner)
		case state == ready:
			u.Skipped = p.skipped
			p.found = append(p.found, u)
		case p.loading == nil:
			p.loading = &Loading{Server: server.name + " on " + u.Address(), Reported: state == saysLoading}
			if server.name != "Ollama" && state != saysLoading { // the port alone does not identify the program
				p.loading.Server = "the server on " + u.Address()
			}
		}
	}
	return p
}

func (l localServer) upstream(env func(string) (string, bool)) (Server, error) {
	if l.name == "Ollama" {
		root, err := url.Parse(l.root)
		return Server{Kind: OllamaHost, Name: "ollama", URL: root, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}}, err
	}
	u, err := compatible(l.root, env)
	u.Name = l.name + " on " + strings.TrimPrefix(l.root, "http://")
	return u, err
}

func detect(ctx context.Context, servers []localServer, env func(string) (string, bool), admits func(Owner) bool, providers ...Provider) (Server, error) {
	local := detectLocal(ctx, servers, env, admits)
	skipped := local.skipped
	switch {
	case len(local.found) > 0:
		return local.found[0], nil
	case local.loading != nil: // code must not leave the machine because its server starts slowly
		return Server{}, local.loading
	}
	for _, v := range vendors() {
		if u, err := v.upstream(env, providers...); err == nil {
			u.Skipped, u.Fallback = skipped, true
			return u, nil
		}
	}
	if len(skipped) > 0 {
		return Server{}, foreignError{skipped[0]}.fault()
	}
	f := fault.New(fault.Environment, "there is no model to use: no model server answers on this machine, and no key is set").
		Hint("ollama serve   # or LM Studio, llama.cpp, vLLM on their usual ports")
	for _, v := range vendors() {
		f = f.Hint("export %s=…", v.keyNames[0])
	}
	return Server{}, f.Hint("aibox run --inference scripted …   # no model at all: plays a built-in script")
}

// state is the state of a server on this machine. The zero value means that there is none.
type state uint8

const (
	absent      state = iota
	ready             // it answers like the expected server
	quiet             // it listens, or accepts connections, and does not answer
	saysLoading       // it reports that it is loading its model
)

// probe is the result of probing a server's address. A server on another machine has an
// owner without an address.
type probe struct {
	owner Owner
	state state
}

// probeTime is how long a server on this machine has to answer.
const probeTime = 500 * time.Millisecond

// probe asks the server. It does not follow the user's proxy settings: this is loopback.
func (l localServer) probe(ctx context.Context) probe {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.root+l.path, nil)
	if err != nil {
		return probe{}
	}
	var owner Owner
	var connected atomic.Bool // after owner is set; a dial can outlive its request
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil && peer.Local(conn) {
				owner = ownerOf(conn, address)
			}
			connected.Store(err == nil)
			return conn, err
		},
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		transport.CloseIdleConnections()
		switch {
		// On Ollama's own port, a server that closes the connection counts as starting,
		// too: it may be Docker's proxy.
		case connected.Load() && (ctx.Err() != nil || l.name == "Ollama"):
			return probe{owner, quiet}
		case ctx.Err() != nil: // a busy machine, or a server that others keep busy
			if owner, ok := listener(r.URL.Host); ok {
				return probe{owner, quiet}
			}
		}
		return probe{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var body map[string]json.RawMessage
	_ = json.Unmarshal(text, &body)
	_, ok := body[l.key]
	switch {
	// A server that requires a key is running, too.
	case ok, response.StatusCode == http.StatusUnauthorized && l.key == "data":
		return probe{owner, ready}
	case failure.IsLoading(response.StatusCode, string(text)):
		return probe{owner, saysLoading}
	case err != nil && ctx.Err() != nil, l.name == "Ollama" && response.StatusCode >= 500:
		return probe{owner, quiet}
	}
	return probe{}
}
