package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/netguard/gateway/schema"
)

// endpoint is one call that passes: everything else an inference server offers (pulling,
// deleting and creating models, files, stored conversations, keys) is only for its owner,
// not for an agent.
type endpoint struct {
	dialect schema.Dialect
	method  string // GET includes HEAD
	path    *lazyregexp.Regexp
	body    schema.Endpoint // the schema of its body; 0 for a call without one
}

// name matches a model's id in a path.
const name = `[A-Za-z0-9][A-Za-z0-9._:@+-]*(?:/[A-Za-z0-9][A-Za-z0-9._:@+-]*)*`

func endpoints() []endpoint {
	ask := func(dialect schema.Dialect, path string, body schema.Endpoint) endpoint {
		return endpoint{dialect, http.MethodPost, lazyregexp.New("^" + path + "$"), body}
	}
	look := func(dialect schema.Dialect, path string) endpoint {
		return endpoint{dialect, http.MethodGet, lazyregexp.New("^" + path + "$"), 0}
	}
	gemini := `/v1(?:beta1?)?/(?:publishers/google/)?(?:models|tunedModels)/` + name
	return []endpoint{
		ask(schema.OpenAI, `/v1/chat/completions`, schema.ChatCompletions),
		ask(schema.OpenAI, `/v1/completions`, schema.Completions),
		ask(schema.OpenAI, `/v1/responses`, schema.Responses),
		ask(schema.OpenAI, `/v1/responses/compact`, schema.CompactResponse),
		ask(schema.OpenAI, `/v1/responses/input_tokens`, schema.CountResponse),
		ask(schema.OpenAI, `/v1/embeddings`, schema.Embeddings),
		look(schema.OpenAI, `/v1/models(?:/`+name+`)?`),
		ask(schema.Anthropic, `/v1/messages`, schema.Messages),
		ask(schema.Anthropic, `/v1/messages/count_tokens`, schema.CountMessages),
		look(schema.Anthropic, `/v1/models(?:/`+name+`)?`),
		ask(schema.Gemini, gemini+`:(?:generateContent|streamGenerateContent)`, schema.GenerateContent),
		ask(schema.Gemini, gemini+`:countTokens`, schema.CountContent),
		ask(schema.Gemini, gemini+`:embedContent`, schema.EmbedContent),
		ask(schema.Gemini, gemini+`:batchEmbedContents`, schema.BatchEmbedContents),
		look(schema.Gemini, `/v1(?:beta1?)?/models(?:/[A-Za-z0-9._-]+)?`),
		ask(schema.Ollama, `/api/chat`, schema.OllamaChat),
		ask(schema.Ollama, `/api/generate`, schema.OllamaGenerate),
		ask(schema.Ollama, `/api/embed`, schema.OllamaEmbed),
		ask(schema.Ollama, `/api/embeddings`, schema.OllamaEmbeddings),
		ask(schema.Ollama, `/api/show`, schema.OllamaShow),
		look(schema.Ollama, `/api/(?:tags|version|ps)`),
	}
}

// queries returns the query parameters that pass. A key is not among them.
func queries() []string {
	return []string{"alt", "beta", "limit", "after", "after_id", "before_id", "pageSize", "pageToken"}
}

// target returns the dialect of a request, and its path on an upstream of that dialect. It
// determines the dialect, as far as possible, even for a path that does not pass.
func target(r *http.Request) (schema.Dialect, string) {
	path := r.URL.Path
	for _, dialect := range []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama} {
		rest, ok := strings.CutPrefix(path, "/"+dialect.String()+"/")
		if !ok {
			continue
		}
		rest = "/" + rest
		if dialect == schema.OpenAI && !strings.HasPrefix(rest, "/v1/") {
			rest = "/v1" + rest // clients differ in whether the base URL ends in /v1
		}
		return dialect, rest
	}
	switch {
	case strings.HasPrefix(path, "/api/"):
		return schema.Ollama, path
	case strings.HasPrefix(path, "/v1beta"), strings.HasPrefix(path, "/v1/") && strings.Contains(path, "enerateContent"):
		return schema.Gemini, path
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/v1/models") && r.Header.Get("Anthropic-Version") != "":
		return schema.Anthropic, path
	default:
		return schema.OpenAI, path
	}
}

// endpoint returns the listed call that matches a request, or nil.
func (g *Gateway) endpoint(dialect schema.Dialect, method, path string) *endpoint {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i, e := range g.endpoints {
		if e.dialect == dialect && e.method == method && e.path.MatchString(path) && !strings.Contains(path, "..") {
			return &g.endpoints[i]
		}
	}
	return nil
}

// modelInPath returns the model that a path names: a Gemini call's, and that of a question
// about one model. It is empty for all others. A model's name may have slashes, so what follows
// the first "/models/" or "/tunedModels/" is all of it.
func modelInPath(dialect schema.Dialect, path string) string {
	before, model, ok := strings.Cut(path, "/models/")
	if dialect != schema.Gemini {
		return model
	}
	if _, tuned, found := strings.Cut(path, "/tunedModels/"); found && (!ok || strings.Contains(before+"/", "/tunedModels/")) {
		model, ok = "tunedModels/"+tuned, true
	}
	if !ok {
		return ""
	}
	if at := strings.LastIndex(model, ":"); at >= 0 {
		model = model[:at]
	}
	return model
}

// valueLimit bounds each header field and query parameter that passes, in bytes.
const valueLimit = 256

// passedHead is what goes upstream of a request besides its path and body.
type passedHead struct {
	header  http.Header
	query   string
	leftOut []string // what was left out of them, for Event.LeftOut
}

func (g *Gateway) passHead(r *http.Request) passedHead {
	h := passedHead{header: http.Header{}}
	var leftOut []string
	h.query, h.leftOut = cleanQuery(r.URL.Query())
	for _, name := range requestHeaders() {
		values := r.Header[name]
		if name == "Accept" {
			values, leftOut = readableTypes(values)
			h.leftOut = append(h.leftOut, leftOut...)
		}
		switch {
		case len(values) == 0:
		case sizeOf(values) > valueLimit:
			h.leftOut = append(h.leftOut, strings.ToLower(name))
		default:
			h.header[name] = values
		}
	}
	name, value, leftOut := betaHeader(r.Header, g.serverTools)
	if name != "" {
		h.header.Set(name, value)
	}
	h.leftOut = append(h.leftOut, leftOut...)
	return h
}

// size returns the bytes of the head that the agent has chosen.
func (h *passedHead) size() int64 {
	size := len(h.query)
	for _, values := range h.header {
		size += sizeOf(values)
	}
	return int64(size)
}

func sizeOf(values []string) (size int) {
	for _, value := range values {
		size += len(value)
	}
	return size
}

// cleanQuery returns the part of a query that passes, and the parameters that do not although they are
// listed.
func cleanQuery(query url.Values) (passed string, leftOut []string) {
	clean := url.Values{}
	for _, name := range queries() {
		values := query[name]
		switch {
		case len(values) != 1:
		case len(values[0]) > valueLimit, name == "alt" && values[0] != "sse" && values[0] != "json":
			leftOut = append(leftOut, "?"+name)
		default:
			clean.Set(name, values[0])
		}
	}
	return clean.Encode(), leftOut
}

// readableTypes returns the media types of Accept in which package usage can read an answer, and those
// that are left out. Google's servers also answer in protocol buffers, of which nobody could
// count the tokens.
func readableTypes(values []string) (pass, leftOut []string) {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "":
			case "*/*", "application/*", "application/json", "application/x-ndjson", "text/*", "text/event-stream", "text/plain":
				pass = append(pass, strings.TrimSpace(one))
			default:
				leftOut = append(leftOut, "accept="+truncate(strings.TrimSpace(one), 64))
			}
		}
	}
	if len(pass) > 0 {
		pass = []string{strings.Join(pass, ", ")}
	}
	return pass, leftOut
}

// requestHeaders returns the agent's headers that are passed to an upstream. Only listed
// ones are, so that no credential, cookie or forwarding header is.
func requestHeaders() []string {
	return []string{
		"Accept", "User-Agent", "Anthropic-Version", "X-Goog-Api-Client", "Http-Referer", "X-Title",
	}
}
