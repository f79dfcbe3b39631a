package modelserver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aibox/internal/fault"
	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
)

// Model is one model that an upstream offers. The values come from the server. They are
// bounded and checked, but still untrusted: its id holds no control characters and does not
// look like a flag.
type Model struct {
	ID string `json:"id"`
	// Context is how many tokens fit into one request with the server's configuration; 0 if
	// it does not report that.
	Context int `json:"context,omitempty"`
	// Limit is how many tokens the model supports, which may be more; 0 if unknown.
	Limit int   `json:"limit,omitempty"`
	Size  int64 `json:"size,omitempty"` // bytes on the server's disk; 0 when unknown
	// Remote is the host that the server forwards the model's requests to, escaped; empty
	// if it runs the model itself or does not report that.
	Remote string `json:"remote,omitempty"`

	program program // the program whose list it is from
}

// Window returns the best known number of tokens that fit into one request; 0 if unknown.
func (m Model) Window() int { return cmp.Or(m.Context, m.Limit) }

const (
	askTimeout  = 10 * time.Second // for all requests of one call
	maxModels   = 5000             // of one server; the rest is left out
	maxPages    = 10               // of one list
	maxModelID  = 256              // bytes; a longer one is left out
	pageSize    = "1000"           // the maximum of Anthropic and Gemini
	maxListing  = 8 << 20          // bytes of one answer
	maxDetails  = 64               // number of Ollama's models that are queried one by one
	asksAtATime = 8
	maxCount    = 1 << 40 // a larger number of tokens or bytes is nonsense
)

// Preflight asks the upstream for its models (bounded by ctx and 10 s), which proves that
// it is reachable and accepts the key. Errors are faults with hints. For a server that
// lists no models by design, or does not show its list to this key, it returns nil.
// Scripted upstreams are called through their Handler. Sizes are set only if the list
// itself has them: see Models and Describe.
func Preflight(ctx context.Context, u Server) ([]Model, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask, err := u.newClient()
	if err != nil {
		return nil, err
	}
	defer ask.close()
	if u.cloud != nil {
		return nil, ask.cloud(ctx)
	}
	key := make(chan error, 1)
	go func() { key <- ask.verifyKey(ctx) }()
	models, err := ask.pages(ctx)
	if keyErr := <-key; err == nil {
		err = keyErr
	}
	switch {
	case err != nil:
		return nil, err
	case models != nil && len(models) == 0 && u.Kind == OllamaHost:
		return nil, fault.New(fault.Environment, "Ollama on %s has no model yet", u.Base().Host).Hint("ollama pull qwen3-coder")
	}
	return models, nil
}

// Models is Preflight with the sizes of contexts wherever the server reports them, even if
// that takes a request for each model.
func Models(ctx context.Context, u Server) ([]Model, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	models, err := Preflight(ctx, u)
	if err != nil || len(models) == 0 {
		return models, err
	}
	return u.describe(ctx, models), nil
}

// Describe returns model with the size of its context, if the server reports it within
// ctx. It never fails: what the server does not report stays unchanged.
func Describe(ctx context.Context, u Server, model Model) Model {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if better := u.describe(ctx, []Model{model}); len(better) == 1 {
		return better[0]
	}
	return model
}

// cloud checks that there is a credential and, where that is possible without cost, that
// the provider accepts it. It returns no list, since clouds list all their models and not
// those that the user may use.
func (a client) cloud(ctx context.Context) error {
	if _, err := a.u.credential(ctx); err != nil {
		return keyError{err}.fault()
	}
	if _, ok := a.u.cloud.(azure); !ok {
		return nil
	}
	response, err := a.get(ctx, schema.OpenAI, "/v1/models", nil)
	if err != nil {
		return a.u.Explain(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusTooManyRequests {
		return nil
	}
	return a.refusal(response)
}

// pages reads a list to its end. Nil means that there is none.
func (a client) pages(ctx context.Context) ([]Model, error) {
	dialect, path := a.u.models()
	query := url.Values{}
	switch dialect {
	case schema.Anthropic:
		query.Set("limit", pageSize)
	case schema.Gemini:
		query.Set("pageSize", pageSize)
	}
	var models []Model
	for range maxPages {
		page, err := a.page(ctx, dialect, path, query)
		if page == nil || err != nil {
			return models, err
		}
		models = page.add(models)
		switch {
		case len(models) >= maxModels:
			return models, nil
		case dialect == schema.Gemini && page.NextPageToken != "":
			query.Set("pageToken", page.NextPageToken)
		case dialect == schema.Anthropic && page.HasMore && page.LastID != "":
			query.Set("after_id", page.LastID)
		default:
			return models, nil
		}
	}
	return models, nil
}

// page reads one page; nil if the server has no list for this key.
func (a client) page(ctx context.Context, dialect schema.Dialect, path string, query url.Values) (*listing, error) {
	response, err := a.get(ctx, dialect, path, query)
	if err != nil {
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && a.u.nearby() {
			return nil, &Loading{Server: a.u.Name}
		}
		return nil, a.u.Explain(err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusTooManyRequests:
		return nil, nil //nolint:nilnil // the server is reachable; some never list their models, or not always
	case status != http.StatusOK:
		return nil, a.refusal(response)
	}
	page := new(listing)
	if !decode(response.Body, page) || page.Data == nil && page.Models == nil {
		return nil, fault.New(fault.Environment, "%s does not answer as a model server does", a.u.Name).
			Hint("check the URL: it should be the one that ends before /chat/completions, /messages or /models")
	}
	return page, nil
}

// refusal returns the reason why there is no list, or nil if only the list is refused.
func (a client) refusal(response *http.Response) error {
	u, status, why := a.u, response.StatusCode, ""
	if text := failure.Reason(response.Body, u.Secrets()); text != "" {
		why = ": " + text
	}
	switch {
	case failure.IsLoading(status, why):
		return &Loading{Server: u.Name, Reported: true}
	case status == http.StatusForbidden && strings.Contains(strings.ToLower(why), "scope"):
		return nil // OpenAI's restricted keys may be valid for answers but not for lists
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest && u.Speaks(schema.Gemini):
		if u.Key.Empty() && u.keys == nil {
			return fault.New(fault.Environment, "%s wants a key%s", u.Name, why).Hint("export %s=…", keyOfURL)
		}
		return fault.New(fault.Environment, "%s refused the key in %s%s", u.Name, u.keySource(), why).Hint("%s", u.keyHint())
	default:
		return fault.New(fault.Environment, "%s answered with status %d when asked for its models%s", u.Name, status, why).Hint("look at the model server's own log")
	}
}

// models returns the URL at which the upstream lists its models.
func (u Server) models() (schema.Dialect, string) {
	switch {
	case u.Kind == OllamaHost:
		return schema.Ollama, "/api/tags"
	case u.Speaks(schema.OpenAI):
		return schema.OpenAI, "/v1/models"
	case u.Speaks(schema.Gemini):
		return schema.Gemini, "/v1beta/models"
	default:
		return schema.Anthropic, "/v1/models"
	}
}

// add appends the usable models of a page.
func (l *listing) add(models []Model) []Model {
	entries := l.Data
	if len(entries) == 0 {
		entries = l.Models // llama.cpp sends both, Ollama and Gemini this one
	}
	models = slices.Grow(models, len(entries))
	if models == nil {
		models = []Model{}
	}
	for _, entry := range entries {
		model := entry.model()
		if len(models) < maxModels && usableID(model.ID) && entry.generates() {
			models = append(models, model)
		}
	}
	return models
}

// usableID refuses ids that could not be typed, printed or passed on.
func usableID(id string) bool {
	return id != "" && len(id) <= maxModelID && utf8.ValidString(id) && id[0] != '-' &&
		strings.IndexFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
