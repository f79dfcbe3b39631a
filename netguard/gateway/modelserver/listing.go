package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// listing is one page of a list of models, in the form of any of these servers:
//
//   - OpenAI, vLLM, LM Studio, llama.cpp, OpenRouter: data
//   - Anthropic: data with has_more and last_id
//   - Gemini: models with nextPageToken
//   - Ollama: models
type listing struct {
	Data          entries `json:"data"`
	Models        entries `json:"models"`
	HasMore       bool    `json:"has_more"`
	LastID        string  `json:"last_id"`
	NextPageToken string  `json:"nextPageToken"`
}

// entry is one model of a list; each server fills a few of the fields.
type entry struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Model   string `json:"model"`
	OwnedBy string `json:"owned_by"`
	Type    string `json:"type"`        // LM Studio: llm, vlm, embeddings
	Size    count  `json:"size"`        // Ollama
	Remote  string `json:"remote_host"` // Ollama, of a model that it forwards

	MaxModelLen     count `json:"max_model_len"`         // vLLM
	LoadedContext   count `json:"loaded_context_length"` // LM Studio
	MaxContext      count `json:"max_context_length"`    // LM Studio, Mistral
	ContextLength   count `json:"context_length"`        // OpenRouter; Ollama's /api/ps
	ContextWindow   count `json:"context_window"`        // Groq
	MaxInputTokens  count `json:"max_input_tokens"`      // Anthropic
	InputTokenLimit count `json:"inputTokenLimit"`       // Gemini
	Meta            struct {
		Context  count `json:"n_ctx"`
		Training count `json:"n_ctx_train"`
		Size     count `json:"size"`
	} `json:"meta"` // llama.cpp
	Methods []string `json:"supportedGenerationMethods"` // Gemini
}

func (e entry) model() Model {
	name := e.ID
	for _, other := range []string{e.Name, e.Model} {
		if name == "" {
			name = strings.TrimPrefix(other, "models/")
		}
	}
	m := Model{ID: name, Remote: remoteHost(e.Remote), program: e.program()}
	for _, answer := range []count{e.LoadedContext, e.MaxModelLen, e.Meta.Context, e.ContextLength, e.ContextWindow, e.MaxInputTokens, e.InputTokenLimit} {
		m.Context = max(m.Context, int(answer))
	}
	m.Limit = int(max(e.MaxContext, e.Meta.Training))
	m.Size = int64(max(e.Size, e.Meta.Size))
	return m
}

// generates reports whether the model answers prompts, as far as the list shows.
func (e entry) generates() bool {
	return e.Type != "embeddings" && (e.Methods == nil || slices.Contains(e.Methods, "generateContent"))
}

// program is a program that serves models.
type program uint8

const (
	serverUnknown program = iota
	lmStudio
	llamaCpp
)

// program returns the program that lists its models this way.
func (e entry) program() program {
	switch e.OwnedBy {
	case "organization_owner":
		return lmStudio
	case "llamacpp":
		return llamaCpp
	default:
		return serverUnknown
	}
}

// entries is a list of at most maxModels elements, so that a hostile answer of a few
// megabytes does not take hundreds of megabytes of memory.
type entries []entry

// UnmarshalJSON reads an array and skips elements that are not models.
func (e *entries) UnmarshalJSON(data []byte) error {
	in := json.NewDecoder(bytes.NewReader(data))
	if start, err := in.Token(); err != nil || start != json.Delim('[') {
		return nil //nolint:nilerr // anything but a list counts as an empty one
	}
	*e = entries{}
	for in.More() && len(*e) < maxModels {
		var next entry
		err := in.Decode(&next)
		var wrong *json.UnmarshalTypeError
		if err != nil && !errors.As(err, &wrong) {
			return err
		}
		*e = append(*e, next)
	}
	return nil
}

// count is a number that some servers write as a text or with a fraction. Anything else,
// and a negative or absurd number, counts as 0.
type count int64

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(data []byte) error {
	number, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && number >= 1 && number < maxCount {
		*c = count(number)
	}
	return nil
}

// decode reads one JSON object of bounded size and reports whether it was one.
// Fields of another type than expected stay empty.
func decode(in io.Reader, value any) bool {
	err := json.NewDecoder(io.LimitReader(in, maxListing)).Decode(value)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong) && wrong.Field != ""
}
