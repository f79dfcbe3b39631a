package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"aibox/internal/fault"
)

// Model is one model that an upstream offers.
type Model struct {
	ID string `json:"id"`
}

// Preflight asks the upstream for its models (bounded by ctx and 10 s): proof that
// it is there and takes the key. Errors are faults with a sentence a person can
// act on. A server that lists no models by design gives nil. Scripted upstreams
// are asked through their Handler.
func Preflight(ctx context.Context, u Upstream) ([]Model, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	transport, err := u.transport()
	if err != nil {
		return nil, err
	}
	if t, ok := transport.(*http.Transport); ok {
		defer t.CloseIdleConnections()
	}
	dialect, path := u.models()
	address := *u.base()
	address.Path += path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "aibox")
	u.authorize(r.Header, dialect)
	response, err := transport.RoundTrip(r)
	if err != nil {
		return nil, u.explain(err)
	}
	defer response.Body.Close()
	return u.read(response)
}

// models is where the upstream lists its models.
func (u Upstream) models() (Dialect, string) {
	switch {
	case u.Kind == OllamaHost:
		return Ollama, "/api/tags"
	case u.speaks(OpenAI):
		return OpenAI, "/v1/models"
	case u.speaks(Gemini):
		return Gemini, "/v1beta/models"
	default:
		return Anthropic, "/v1/models"
	}
}

func (u Upstream) read(response *http.Response) ([]Model, error) {
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest && u.speaks(Gemini):
		if u.Key.Empty() {
			return nil, fault.New(fault.Environment, "%s wants a key", u.Name).Hint("export %s=…", keyOfURL)
		}
		return nil, fault.New(fault.Environment, "%s refused the key in %s", u.Name, u.KeyName).Hint("export %s=…   # a key that %s takes", u.KeyName, u.Name)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return nil, nil // it is there; not every server lists its models
	case status != http.StatusOK:
		return nil, fault.New(fault.Environment, "%s answered with status %d when asked for its models", u.Name, status).Hint("look at the model server's own log")
	}
	var body struct {
		Data   []struct{ ID string }
		Models []struct{ Name, Model string }
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 16<<20)).Decode(&body); err != nil {
		return nil, fault.New(fault.Environment, "%s does not answer as a model server does", u.Name).Hint("check the URL: it should be the one that ends before /chat/completions or /messages")
	}
	models := []Model{}
	for _, model := range body.Data {
		models = append(models, Model{ID: model.ID})
	}
	for _, model := range body.Models {
		models = append(models, Model{ID: strings.TrimPrefix(cmp.Or(model.Name, model.Model), "models/")})
	}
	if len(models) == 0 && u.Kind == OllamaHost {
		return nil, fault.New(fault.Environment, "Ollama on %s has no model yet", u.base().Host).Hint("ollama pull qwen3-coder")
	}
	return models, nil
}
