// Package schema defines which parts of a request to a model go upstream. Each dialect has
// a file with a table: the fields that pass, and the values that pass in them. One small
// engine reads a body by its table and writes a new body from the listed parts. It leaves
// out parts that no table lists, and refuses, with the reason, parts that would make the
// model's server access more than the model.
//
// JSON Schema validators are not suitable: they accept or reject a whole document, decode
// it into maps (several times the size of a body of many megabytes), and cannot drop a
// field, replace an ID or collect the names that were left out.
//
// The package is pure: it opens no socket or file, and knows nothing of HTTP.
package schema

import (
	"fmt"
	"slices"
	"sync"

	"aibox/netguard"
)

// Endpoint is one call of a dialect that takes a body. The zero value is none.
type Endpoint uint8

// The endpoints.
const (
	ChatCompletions    Endpoint = iota + 1 // OpenAI: /v1/chat/completions
	Completions                            // OpenAI: /v1/completions
	Responses                              // OpenAI: /v1/responses
	CompactResponse                        // OpenAI: /v1/responses/compact
	CountResponse                          // OpenAI: /v1/responses/input_tokens
	Embeddings                             // OpenAI: /v1/embeddings
	Messages                               // Anthropic: /v1/messages
	CountMessages                          // Anthropic: /v1/messages/count_tokens
	GenerateContent                        // Gemini: :generateContent and :streamGenerateContent
	CountContent                           // Gemini: :countTokens
	EmbedContent                           // Gemini: :embedContent
	BatchEmbedContents                     // Gemini: :batchEmbedContents
	OllamaChat                             // Ollama: /api/chat
	OllamaGenerate                         // Ollama: /api/generate
	OllamaEmbed                            // Ollama: /api/embed
	OllamaEmbeddings                       // Ollama: /api/embeddings
	OllamaShow                             // Ollama: /api/show

	vertexMessages      // Messages at Vertex AI
	vertexCountMessages // CountMessages at Vertex AI
)

// Embeds reports whether a call asks for vectors, for which a model reads tokens and writes none.
func (e Endpoint) Embeds() bool {
	switch e {
	case Embeddings, EmbedContent, BatchEmbedContents, OllamaEmbed, OllamaEmbeddings:
		return true
	default:
		return false
	}
}

// tables are the rules that table has made. A package variable for each rule would delay the
// start of every command.
var tables [vertexCountMessages + 1]struct {
	once sync.Once
	rule rule
}

// table returns the rule for an endpoint's body; nil for an unknown endpoint.
func (e Endpoint) table() rule {
	if int(e) >= len(tables) {
		return nil
	}
	t := &tables[e]
	t.once.Do(func() { t.rule = e.makeTable() })
	return t.rule
}

func (e Endpoint) makeTable() rule {
	switch e {
	case ChatCompletions:
		return chatRequest()
	case Completions:
		return completionRequest()
	case Responses:
		return responsesRequest(true)
	case CompactResponse, CountResponse:
		return responsesRequest(false)
	case Embeddings:
		return embeddingsRequest()
	case Messages, CountMessages:
		return messagesRequest()
	case GenerateContent:
		return generateContentRequest()
	case CountContent:
		return countContentRequest()
	case EmbedContent:
		return embedContentRequest()
	case BatchEmbedContents:
		return batchEmbedContentsRequest()
	case OllamaChat:
		return ollamaChatRequest()
	case OllamaGenerate:
		return ollamaGenerateRequest()
	case OllamaEmbed, OllamaEmbeddings:
		return ollamaEmbedRequest()
	case OllamaShow:
		return ollamaShowRequest()
	case vertexMessages, vertexCountMessages:
		return vertexRequest(e == vertexMessages)
	default:
		return nil
	}
}

// Policy is what a session may request in addition to what every session may. Its zero
// value refuses every model and reference, and opens no server-side tool.
type Policy struct {
	// Model returns the upstream name of a model, and false if the model is not the
	// session's own.
	Model func(asked string) (name string, own bool)
	// Answered reports whether an answer of this session had the ID.
	Answered func(id string) bool
	// Alias replaces the ID of an item of a conversation, so that the ID of an item
	// that the user's account stores elsewhere refers to nothing. Without it IDs of items
	// are left out.
	Alias func(id string) string
	// Open are the kinds of server-side tools that the user has opened.
	Open []netguard.ServerTool
	// StreamUsage asks an OpenAI server to end each streamed answer with its usage, even if
	// the agent does not.
	StreamUsage bool
	// StoresChats is for a server that stores the answers of chat completions by default: OpenAI.
	// Others may refuse the field.
	// https://platform.openai.com/docs/guides/migrate-to-responses
	StoresChats bool
	// ModelInPath is for a server that reads the model of a Messages request from the path,
	// and the version of the API from the body: Vertex AI.
	// https://docs.anthropic.com/en/api/claude-on-vertex-ai
	ModelInPath bool
	// HostsShells is for a server that executes the commands of every shell tool itself, whatever
	// the request says: OpenRouter.
	// https://openrouter.ai/docs/guides/features/server-tools/shell
	HostsShells bool
}

func (p Policy) opens(tool netguard.ServerTool) bool { return slices.Contains(p.Open, tool) }

// Result is a request that may go upstream.
type Result struct {
	Body    [][]byte // the new body in pieces, some of them parts of the old one's memory
	Size    int64    // bytes of all pieces
	Copied  int64    // the part of Size that is not in the old body's memory
	Model   string   // the model in the body, as it goes upstream; empty when it names none
	Streams bool     // the answer will be streamed
	// MaxOutput is how many tokens all choices of the answer together have at most, as far
	// as the request limits them; 0 if it does not.
	MaxOutput int64
	// Choices is how many choices of the answer the request asks for, for all of its prompts
	// together; at least 1.
	Choices int64
	// MediaTokens estimates how many tokens the request's pictures and documents have besides one for
	// each byte.
	MediaTokens int64
	// Surcharge is the part of the request because of which the answer can cost more than Model
	// does, such as "service_tier=priority" or a second model; empty if there is none. It comes
	// from the agent, in printable ASCII.
	Surcharge string
	// Several reports that the request names different models, of which the server chooses one.
	Several bool
	// Fee is a server-side tool of the request for which the server charges more than its tokens; 0 if
	// there is none.
	Fee netguard.ServerTool
	// LeftOut are the places in the old body that are not in the new one, such as
	// "options.num_ctx" or "tools[].type=web_search": each once, at most 64, at most 128
	// bytes long. They come from the agent.
	LeftOut []string
}

// Refusal is the reason why a request must not go upstream.
type Refusal struct {
	Kind    Kind
	Message string // a sentence for the user of the agent, with what to do
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Kind is the kind of a refusal. The zero value is Malformed.
type Kind uint8

// The kinds.
const (
	Malformed Kind = iota // a strict parser does not accept the body
	Forbidden             // it requests something that sessions may not have
	NotOurs               // it requests a model that is not the session's own
)

func forbidden(format string, args ...any) error {
	return &Refusal{Forbidden, fmt.Sprintf(format, args...)}
}

// Filter reads body as a request to endpoint and returns the parts that may go upstream. It
// keeps a reference to body, which must not change until the result is sent. A request that
// is refused gives a *Refusal.
func Filter(endpoint Endpoint, body []byte, policy Policy) (Result, error) {
	listed := endpoint
	switch {
	case policy.ModelInPath && endpoint == Messages:
		listed = vertexMessages
	case policy.ModelInPath && endpoint == CountMessages:
		listed = vertexCountMessages
	}
	table := listed.table()
	if table == nil {
		return Result{}, forbidden("aibox has no list of what this call may hold")
	}
	w := newWalk(body, policy)
	w.streams = endpoint == OllamaChat || endpoint == OllamaGenerate // by default
	w.camel = endpoint >= GenerateContent && endpoint <= BatchEmbedContents
	if w.dec.PeekKind() != '{' {
		if _, err := w.dec.ReadToken(); err != nil {
			return Result{}, malformed(err)
		}
		return Result{}, &Refusal{Malformed, "the request's body is not a JSON object"}
	}
	if _, err := table.apply(w); err != nil {
		return Result{}, err
	}
	if err := w.end(); err != nil {
		return Result{}, err
	}
	if policy.ModelInPath && endpoint == Messages && w.model == "" {
		return Result{}, &Refusal{Malformed, "the request has no model"}
	}
	return Result{Body: w.out.pieces(), Size: w.out.size, Copied: w.out.size - w.out.referred, Model: w.model, Streams: w.streams, MaxOutput: w.maxOutput(), Choices: w.allChoices(), MediaTokens: w.mediaTokens, Surcharge: w.surcharge, Several: w.several, Fee: w.fee, LeftOut: w.leftOut}, nil
}
