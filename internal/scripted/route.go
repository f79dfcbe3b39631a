package scripted

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// A route defines the answer for a path: a turn of a conversation (play), its size in
// tokens (play and count), or facts about the server.
type route struct {
	play  dialect
	count bool
	facts http.HandlerFunc
}

// endings maps the ends of paths to routes.
var endings = []struct {
	path  string
	route route
}{
	{"/chat/completions", route{play: openAIChat{}}},
	{"/responses/input_tokens", route{play: openAIResponses{}, count: true}},
	{"/responses", route{play: openAIResponses{}}},
	{"/messages/count_tokens", route{play: anthropic{}, count: true}},
	{"/messages", route{play: anthropic{}}},
	{":generateContent", route{play: gemini{}}},
	{":streamGenerateContent", route{play: gemini{}}},
	{":countTokens", route{play: gemini{}, count: true}},
	{"/api/chat", route{play: ollamaChat{}}},
	{"/api/generate", route{play: ollamaGenerate{}}},
	{"/models", route{facts: models}},
	{"/api/tags", route{facts: ollamaTags}},
	{"/api/ps", route{facts: ollamaTags}},
	{"/api/show", route{facts: ollamaShow}},
	{"/api/pull", route{facts: ollamaPull}},
	{"/api/version", route{facts: ollamaVersion}},
}

// routeOf returns the route of a request.
func routeOf(r *http.Request) route {
	path := strings.TrimSuffix(r.URL.Path, "/")
	for _, ending := range endings {
		if strings.HasSuffix(path, ending.path) {
			return ending.route
		}
	}
	if at := strings.LastIndex(path, "/models/"); at >= 0 {
		return route{facts: models}
	}
	return route{facts: notFound}
}

// notFound answers every path that no dialect has, such as Claude's HEAD /api/hello.
func notFound(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		_, _ = io.WriteString(w, "aibox scripted inference is running\n")
		return
	}
	reply(w, http.StatusNotFound, openAIChat{}.failure(http.StatusNotFound, "there is nothing at this path"))
}

// models lists or shows the one model in the shape of the client's dialect: Gemini by
// the version in the path, Anthropic by its header, else OpenAI.
func models(w http.ResponseWriter, r *http.Request) {
	_, name, one := strings.Cut(r.URL.Path, "/models/")
	name = strings.Trim(name, "/")
	if !one || name == "" {
		name, one = Model, false
	}
	var model any
	list := map[string]any{}
	switch {
	case strings.Contains(r.URL.Path, "/v1beta"):
		model = geminiModel(name)
		list["models"] = []any{model}
	case r.Header.Get("Anthropic-Version") != "":
		model = map[string]any{
			"type": "model", "id": name, "display_name": name, "created_at": created.Format(wireTime),
		}
		list = map[string]any{"data": []any{model}, "has_more": false, "first_id": name, "last_id": name}
	default:
		model = map[string]any{"id": name, "object": "model", "created": created.Unix(), "owned_by": "aibox"}
		list = map[string]any{"object": "list", "data": []any{model}}
	}
	if one {
		reply(w, http.StatusOK, model)
		return
	}
	reply(w, http.StatusOK, list)
}

// wireTime is the layout of times in all dialects.
const wireTime = "2006-01-02T15:04:05Z07:00"

func geminiModel(name string) map[string]any {
	return map[string]any{
		"name": "models/" + name, "displayName": name, "version": "1",
		"inputTokenLimit": contextLength, "outputTokenLimit": 8192,
		"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"},
	}
}

// contextLength is the context window that the server reports, in tokens.
const contextLength = 131_072

func ollamaModel() map[string]any {
	return map[string]any{
		"name": Model, "model": Model, "modified_at": created.Format(wireTime),
		"size": 0, "digest": strings.Repeat("0", 64), "details": ollamaDetails(),
	}
}

func ollamaDetails() map[string]any {
	return map[string]any{
		"format": "script", "family": "aibox", "families": []string{"aibox"},
		"parameter_size": "0B", "quantization_level": "none",
	}
}

func ollamaTags(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"models": []any{ollamaModel()}})
}

func ollamaVersion(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"version": "0.14.0"})
}

// ollamaPull reports that the model is already present.
func ollamaPull(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"status": "success"})
}

func ollamaShow(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !json.Valid(body) {
		reply(w, http.StatusBadRequest, map[string]any{"error": "the request is not JSON"})
		return
	}
	reply(w, http.StatusOK, map[string]any{
		"modelfile": "", "parameters": "", "template": "", "details": ollamaDetails(),
		"model_info": map[string]any{
			"general.architecture": "aibox", "aibox.context_length": contextLength,
		},
		"capabilities": []string{"completion", "tools"}, "modified_at": created.Format(wireTime),
	})
}
