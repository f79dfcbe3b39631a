package schema

import "fmt"

// Dialect is an API that agents speak to models. The zero value is none.
type Dialect uint8

// The dialects.
const (
	OpenAI    Dialect = iota + 1 // chat completions, responses: /v1/…
	Anthropic                    // messages: /v1/messages
	Gemini                       // generateContent: /v1beta/…
	Ollama                       // Ollama's own: /api/…
)

// String returns the dialect's name, which is also its URL prefix on the gateway.
func (d Dialect) String() string {
	switch d {
	case OpenAI:
		return "openai"
	case Anthropic:
		return "anthropic"
	case Gemini:
		return "gemini"
	case Ollama:
		return "ollama"
	default:
		return ""
	}
}

// MarshalText writes the name; no dialect is empty.
func (d Dialect) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a name; empty means no dialect.
func (d *Dialect) UnmarshalText(text []byte) error {
	for dialect := range Ollama + 1 {
		if dialect.String() == string(text) {
			*d = dialect
			return nil
		}
	}
	return fmt.Errorf("unknown dialect %q", text)
}
