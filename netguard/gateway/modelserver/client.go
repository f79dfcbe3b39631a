package modelserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"aibox/internal/fault"
	"aibox/netguard/gateway/schema"
)

// client queries a model server about itself. It follows no redirect and makes no
// request that costs money or changes the server.
type client struct {
	u         Server
	transport http.RoundTripper
}

func (u Server) newClient() (client, error) {
	transport, err := u.Transport(0, asksAtATime)
	return client{u, transport}, err
}

func (a client) close() {
	if t, ok := a.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (a client) get(ctx context.Context, dialect schema.Dialect, path string, query url.Values) (*http.Response, error) {
	return a.send(ctx, http.MethodGet, dialect, path, query, nil)
}

func (a client) send(ctx context.Context, method string, dialect schema.Dialect, path string, query url.Values, body []byte) (*http.Response, error) {
	address := *a.u.Base()
	address.Path = strings.TrimSuffix(address.Path, "/") + path
	address.RawQuery = query.Encode()
	ctx = WithCall(ctx, Call{Dialect: dialect})
	r, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "aibox")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept-Encoding", "identity")
	response, err := a.transport.RoundTrip(r)
	if err == nil {
		response.Body = a.u.Secrets().Reader(response.Body) // names of models reach the agent
	}
	return response, err
}

// fetch reads a JSON answer into value and reports whether there was one.
func (a client) fetch(ctx context.Context, method, path string, body []byte, value any) bool {
	response, err := a.send(ctx, method, a.u.Dialects[0], path, nil, body)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK && decode(response.Body, value)
}

// verifyKey checks whether the key is accepted, for servers with a public list of models,
// such as OpenRouter.
func (a client) verifyKey(ctx context.Context) error {
	if a.u.vendor() != "openrouter" || a.u.Kind != Hosted {
		return nil
	}
	response, err := a.get(ctx, schema.OpenAI, "/v1/key", nil)
	if err != nil {
		return nil // listing the models shows whether the server is reachable
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
		return nil
	}
	return fault.New(fault.Environment, "%s refused the key in %s", a.u.Name, a.u.keySource()).Hint("%s", a.u.keyHint())
}

// describe adds facts that the list does not have.
func (u Server) describe(ctx context.Context, models []Model) []Model {
	ask, err := u.newClient()
	if err != nil {
		return models
	}
	defer ask.close()
	switch {
	case u.Kind == OllamaHost:
		return ask.ollama(ctx, models)
	case models[0].program == lmStudio:
		return ask.lmStudio(ctx, models)
	case models[0].program == llamaCpp && len(models) == 1:
		return ask.llamaCpp(ctx, models)
	default:
		return models
	}
}

// lmStudio asks LM Studio's own API, which reports the size of the loaded context.
// https://lmstudio.ai/docs/developer/rest/endpoints
func (a client) lmStudio(ctx context.Context, models []Model) []Model {
	var answer listing
	if !a.fetch(ctx, http.MethodGet, "/api/v0/models", nil, &answer) {
		return models
	}
	known := map[string]entry{}
	for _, entry := range answer.Data {
		known[entry.ID] = entry
	}
	var better []Model
	for _, model := range models {
		entry, ok := known[model.ID]
		if ok && !entry.generates() {
			continue
		}
		if ok {
			model.Context, model.Limit = int(entry.LoadedContext), int(entry.MaxContext)
		}
		better = append(better, model)
	}
	return better
}

// llamaCpp asks llama.cpp's server for the size of a slot's context, since the list has the
// size that the model was trained with.
func (a client) llamaCpp(ctx context.Context, models []Model) []Model {
	var props struct {
		Settings struct {
			Context count `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if a.fetch(ctx, http.MethodGet, "/props", nil, &props) {
		models[0].Context = int(props.Settings.Context)
	}
	return models
}

// ollama asks for each model's settings, and for the loaded models. Only a loaded model
// shows the size of its context for certain: Ollama chooses it by the machine's memory
// unless the user has set it. https://docs.ollama.com/context-length
func (a client) ollama(ctx context.Context, models []Model) []Model {
	var loaded listing
	var wait sync.WaitGroup
	wait.Go(func() { a.fetch(ctx, http.MethodGet, "/api/ps", nil, &loaded) })
	talks := make([]bool, len(models))
	next := make(chan int)
	for range min(asksAtATime, len(models)) {
		wait.Go(func() {
			for i := range next {
				models[i], talks[i] = a.show(ctx, models[i])
			}
		})
	}
	for i := range models {
		if talks[i] = true; i < maxDetails {
			next <- i
		}
	}
	close(next)
	wait.Wait()
	var better []Model
	for i, model := range models {
		for _, entry := range loaded.Models {
			if sameOllama(entry.model().ID, model.ID) && entry.ContextLength > 0 {
				model.Context = int(entry.ContextLength)
			}
		}
		if talks[i] {
			better = append(better, model)
		}
	}
	return better
}

// show asks Ollama about one model, and whether it answers prompts.
func (a client) show(ctx context.Context, model Model) (Model, bool) {
	body, err := json.Marshal(map[string]string{"model": model.ID})
	if err != nil {
		return model, true
	}
	var answer struct {
		Parameters   string                     `json:"parameters"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	if !a.fetch(ctx, http.MethodPost, "/api/show", body, &answer) {
		return model, true
	}
	for key, value := range answer.Info {
		var size count
		if _ = size.UnmarshalJSON(value); strings.HasSuffix(key, ".context_length") && size > 0 {
			model.Limit = int(size)
		}
	}
	for line := range strings.Lines(answer.Parameters) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "num_ctx" {
			if size, err := strconv.ParseInt(words[1], 10, 32); err == nil && size > 0 {
				model.Context = int(size)
			}
		}
	}
	if hostedByOllama(model.ID) {
		model.Context = model.Limit // always the largest value there
	}
	if len(answer.Capabilities) == 0 {
		return model, true
	}
	for _, capability := range answer.Capabilities {
		if capability == "completion" {
			return model, true
		}
	}
	return model, false
}
