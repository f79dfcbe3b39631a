package gateway

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// endpoint is one call that passes: everything else an inference server offers
// (pulling, deleting and creating models, files, stored conversations, keys) is
// for its owner, not for an agent.
type endpoint struct {
	dialect Dialect
	method  string // GET stands for HEAD too
	path    *regexp.Regexp
}

// name matches a model's id in a path.
const name = `[A-Za-z0-9][A-Za-z0-9._:@+-]*(?:/[A-Za-z0-9][A-Za-z0-9._:@+-]*)*`

func endpoints() []endpoint {
	call := func(dialect Dialect, method, path string) endpoint {
		return endpoint{dialect, method, regexp.MustCompile("^" + path + "$")}
	}
	return []endpoint{
		call(OpenAI, http.MethodPost, `/v1/(?:chat/completions|completions|responses|responses/compact|responses/input_tokens|embeddings)`),
		call(OpenAI, http.MethodGet, `/v1/models(?:/`+name+`)?`),
		call(Anthropic, http.MethodPost, `/v1/messages(?:/count_tokens)?`),
		call(Anthropic, http.MethodGet, `/v1/models(?:/`+name+`)?`),
		call(Gemini, http.MethodPost, `/v1(?:beta1?)?/(?:publishers/google/)?(?:models|tunedModels)/`+name+`:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)`),
		call(Gemini, http.MethodGet, `/v1(?:beta1?)?/models(?:/[A-Za-z0-9._-]+)?`),
		call(Ollama, http.MethodPost, `/api/(?:chat|generate|embed|embeddings|show)`),
		call(Ollama, http.MethodGet, `/api/(?:tags|version|ps)`),
	}
}

// queries are the query parameters that pass. A key is not among them.
func queries() []string {
	return []string{"alt", "beta", "limit", "after", "after_id", "before_id", "pageSize", "pageToken"}
}

// target is where a request goes: its dialect, and the path an upstream of that
// dialect has it under. The dialect is known, as well as it can be, even for a
// path that does not pass.
func target(r *http.Request) (Dialect, string) {
	path := r.URL.Path
	for _, dialect := range []Dialect{OpenAI, Anthropic, Gemini, Ollama} {
		rest, ok := strings.CutPrefix(path, "/"+dialect.String()+"/")
		if !ok {
			continue
		}
		rest = "/" + rest
		if dialect == OpenAI && !strings.HasPrefix(rest, "/v1/") {
			rest = "/v1" + rest // clients differ in whether the base URL ends in /v1
		}
		return dialect, rest
	}
	switch {
	case strings.HasPrefix(path, "/api/"):
		return Ollama, path
	case strings.HasPrefix(path, "/v1beta"), strings.HasPrefix(path, "/v1/") && strings.Contains(path, "enerateContent"):
		return Gemini, path
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/v1/models") && r.Header.Get("Anthropic-Version") != "":
		return Anthropic, path
	default:
		return OpenAI, path
	}
}

// passes reports whether the call is on the list.
func (g *Gateway) passes(dialect Dialect, method, path string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, e := range g.endpoints {
		if e.dialect == dialect && e.method == method && e.path.MatchString(path) && !strings.Contains(path, "..") {
			return true
		}
	}
	return false
}

// modelInPath is the model that a Gemini path names; empty for all others.
func modelInPath(dialect Dialect, path string) string {
	if dialect != Gemini {
		return ""
	}
	_, rest, _ := strings.Cut(path, "odels/")
	model, _, _ := strings.Cut(rest, ":")
	return model
}

func cleanQuery(query url.Values) string {
	clean := url.Values{}
	for _, name := range queries() {
		if values := query[name]; len(values) == 1 {
			clean.Set(name, values[0])
		}
	}
	return clean.Encode()
}

// requestHeaders are what an upstream gets to see of the agent's headers: a list
// of what passes, so that no credential, cookie or forwarding header does.
func requestHeaders() []string {
	return []string{
		"Accept", "Content-Type", "Content-Encoding", "User-Agent",
		"Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "X-Goog-Api-Client", "Http-Referer", "X-Title",
	}
}
