package agents

import "fmt"

// Dialect is the HTTP API through which an agent talks to a model. The zero value
// is none: the agent needs no model.
type Dialect int

// The dialects.
const (
	NoDialect Dialect = iota
	OpenAIChat
	OpenAIResponses
	Anthropic
	Gemini
)

var dialectNames = map[Dialect]string{
	NoDialect: "none", OpenAIChat: "openai-chat", OpenAIResponses: "openai-responses",
	Anthropic: "anthropic", Gemini: "gemini",
}

// String returns the dialect's name as JSON shows it.
func (d Dialect) String() string {
	if name, ok := dialectNames[d]; ok {
		return name
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// MarshalText writes the name.
func (d Dialect) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a name.
func (d *Dialect) UnmarshalText(text []byte) error {
	for dialect, name := range dialectNames {
		if name == string(text) {
			*d = dialect
			return nil
		}
	}
	return fmt.Errorf("unknown dialect %q", text)
}
