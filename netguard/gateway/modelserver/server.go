// Package modelserver describes the model server that a session uses: it reads the
// value of --inference, detects servers on this machine, lists their models, and checks
// which user runs a server before any prompt is sent. It holds the real key and never
// passes it to the agent.
package modelserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aibox/internal/secret"
	"aibox/netguard/gateway/schema"
)

// Kind is the kind of an inference server. The zero value is none.
type Kind uint8

// The kinds.
const (
	Scripted   Kind = iota + 1 // in process; the caller sets Handler
	OllamaHost                 // Ollama: its own API, OpenAI's and Anthropic's
	Compatible                 // any server with OpenAI's, Anthropic's or Gemini's API
	Hosted                     // a vendor's cloud, with a key
)

// Server is a model server: the upstream of the gateway.
type Server struct {
	Kind     Kind
	Name     string           // as the user named it: "ollama", "openai", "http://127.0.0.1:1234/v1"
	URL      *url.URL         // the server's root without /v1; nil when Scripted
	Dialects []schema.Dialect // the dialects that it speaks
	Key      secret.Value     // the real credential; empty for none
	KeyName  string           // the environment variable that the key comes from; empty for none
	Script   string           // file of scripted:FILE; empty means the built-in script
	Handler  http.Handler     // answers in process when Scripted
	// AnyOwner permits a server on this machine that runs as any user, since the user named
	// it by its address.
	AnyOwner bool
	// Admits decides about a server on this machine that another user runs, from any
	// goroutine. Nil admits none. It is not called for servers of this user, root and
	// Ollama's own account.
	Admits func(Owner) bool
	// Fallback reports that the user named no server and none was found on this machine:
	// prompts and code leave it.
	Fallback bool
	// Skipped are the owners of servers that were found first and not admitted.
	Skipped []Owner

	cloud      cloud      // nil for a server with the usual paths and credentials
	keys       *keySource // in place of Key; nil for none
	keyPlace   string     // where the key comes from, if not from KeyName: a noun
	vendorName string     // the server's operator, if its name and URL do not show that

	// Proxy chooses the proxy of a request; nil means that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// vendor is a server that can be selected by its own name.
type vendor struct {
	name     string
	title    string // for users
	url      string
	dialects []schema.Dialect
	keyNames []string // variables with the key, of which the first one that is set is used
}

func vendors() []vendor {
	return []vendor{
		{"anthropic", "Anthropic", "https://api.anthropic.com", []schema.Dialect{schema.Anthropic}, []string{"ANTHROPIC_API_KEY"}},
		{"openai", "OpenAI", "https://api.openai.com", []schema.Dialect{schema.OpenAI}, []string{"OPENAI_API_KEY"}},
		{"gemini", "Google Gemini", "https://generativelanguage.googleapis.com", []schema.Dialect{schema.Gemini}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{"openrouter", "OpenRouter", "https://openrouter.ai/api", []schema.Dialect{schema.OpenAI, schema.Anthropic}, []string{"OPENROUTER_API_KEY"}},
	}
}

// Vendor is a hosted model server.
type Vendor struct {
	Name     string // the value of --inference
	Title    string // for users
	Dialects []schema.Dialect
	KeyNames []string // variables with the key, of which the first one that is set is used
}

// Vendors returns the hosted model servers.
func Vendors() []Vendor {
	var all []Vendor
	for _, v := range vendors() {
		all = append(all, Vendor{v.name, v.title, v.dialects, v.keyNames})
	}
	return all
}

// keyOfURL is the environment variable with the key of a server given by URL.
const keyOfURL = "AIBOX_INFERENCE_KEY"

const ollamaRoot = "http://127.0.0.1:11434"

// KeyNames returns the environment variables that Parse looks up.
func KeyNames() []string {
	names := []string{keyOfURL, "OLLAMA_HOST"}
	for _, v := range vendors() {
		names = append(names, v.keyNames...)
	}
	return append(names, cloudVariables...)
}

// cloudVariables are the variables of providers that need more than a key.
var cloudVariables = []string{
	"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_OPENAI_API_KEY",
	"GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION",
	"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
}

// Setting returns the value of --inference that selects a server on this machine.
func (u Server) Setting() string {
	if u.Kind == OllamaHost && u.Name == "ollama" || u.URL == nil {
		return u.Name
	}
	return u.URL.String() + "/v1"
}

// Address returns the server's host and port; empty when it runs in process.
func (u Server) Address() string {
	if u.URL == nil {
		return ""
	}
	return u.URL.Host
}

// KeyVariable returns the environment variable that a key for this server comes from, or would
// come from; empty if it needs none.
func (u Server) KeyVariable() string {
	if u.KeyName == "" && u.keyPlace == "" && u.Kind == Compatible {
		return keyOfURL
	}
	return u.KeyName
}

func (u Server) Speaks(dialect schema.Dialect) bool { return slices.Contains(u.Dialects, dialect) }

// StreamsUsage reports whether the server accepts OpenAI's stream_options. Mistral's
// refuses them, and reports its usage without them.
func (u Server) StreamsUsage() bool { return u.Base().Hostname() != "api.mistral.ai" }

// StoresChats reports whether the server stores the answers of chat completions by default.
func (u Server) StoresChats() bool {
	return u.vendor() == "openai" || strings.HasSuffix(u.Base().Hostname(), ".api.openai.com") // of a region
}

// HostsShells reports whether the server executes the commands of every shell tool itself.
func (u Server) HostsShells() bool {
	return u.vendor() == "openrouter" || strings.HasSuffix(u.Base().Hostname(), ".openrouter.ai")
}

// DialectNames lists the dialects for a sentence.
func (u Server) DialectNames() string {
	var names []string
	for _, dialect := range u.Dialects {
		names = append(names, dialect.String())
	}
	return strings.Join(names, " or ")
}

func (u Server) Base() *url.URL {
	if u.URL == nil {
		return &url.URL{Scheme: "http", Host: "scripted.aibox.internal"}
	}
	return u.URL
}
