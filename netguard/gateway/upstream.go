package gateway

import (
	"context"
	"net/http"
	"net/url"

	"aibox/internal/secret"
)

// Dialect is an API that agents speak to models. The zero value is none.
type Dialect uint8

// The dialects.
const (
	OpenAI    Dialect = iota + 1 // chat completions, responses: /v1/…
	Anthropic                    // messages: /v1/messages
	Gemini                       // generateContent: /v1beta/…
	Ollama                       // Ollama's own: /api/…
)

// Kind is what sort of inference server an Upstream is. The zero value is none.
type Kind uint8

// The kinds.
const (
	Scripted   Kind = iota + 1 // in process; the caller sets Handler
	OllamaHost                 // an Ollama: its own API, OpenAI's and Anthropic's
	Compatible                 // any server with OpenAI's or Anthropic's API
	Hosted                     // a vendor's cloud, with a key
)

// Upstream is where inference really happens.
type Upstream struct {
	Kind     Kind
	Name     string       // as the user named it: "ollama", "openai", "http://127.0.0.1:1234/v1"
	URL      *url.URL     // the server's root without /v1; nil when Scripted
	Dialects []Dialect    // what it speaks
	Key      secret.Value // the real credential; empty for none
	Script   string       // file of scripted:FILE; empty means the built-in script
	Handler  http.Handler // answers in process when Scripted
}

// ParseUpstream reads the value of --inference: ollama, openai, anthropic, gemini,
// openrouter, scripted, scripted:FILE, or the URL of an OpenAI- or
// Anthropic-compatible server with or without /v1. env looks up environment
// variables (os.LookupEnv): OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY,
// OPENROUTER_API_KEY, and AIBOX_INFERENCE_KEY for a URL. Errors are faults. It
// does not touch the network and refuses "auto": see Detect.
func ParseUpstream(value string, env func(string) (string, bool)) (Upstream, error) {
	return parseUpstream(value, env)
}

// Detect is ParseUpstream for "auto" (or ""): the first that answers of Ollama,
// LM Studio, llama.cpp and vLLM on this machine's loopback, else the first hosted
// vendor that env has a key for, else a fault that says what to do. Any other
// value goes to ParseUpstream.
func Detect(ctx context.Context, value string, env func(string) (string, bool)) (Upstream, error) {
	return detect(ctx, value, env)
}

// Model is one model that an upstream offers.
type Model struct {
	ID string `json:"id"`
}

// Preflight asks the upstream for its models (bounded by ctx and 10 s): proof that
// it is there and takes the key. Errors are faults with a sentence a person can
// act on. Scripted upstreams are asked through their Handler.
func Preflight(ctx context.Context, u Upstream) ([]Model, error) { return preflight(ctx, u) }
