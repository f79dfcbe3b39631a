package netguard

import (
	"fmt"
	"strings"
)

// ServerTool is a kind of tool that a model server runs itself. A request for one makes that
// server access more than the model: the web, another server, stored files. The inference
// gateway therefore rejects every kind that the user's settings do not allow. The zero value
// is invalid: it prints as "invalid" and allows nothing.
type ServerTool uint8

// The kinds.
const (
	WebSearch ServerTool = iota + 1
	WebFetch
	CodeExecution
	FileSearch
	MCP
	ImageGeneration
	ComputerUse
)

// serverTools has the name of each kind and what it allows.
var serverTools = [...]struct{ name, opens string }{
	WebSearch:       {"web-search", "The model's server sends search queries that the agent words to a search engine, and reads the pages that are found."},
	WebFetch:        {"web-fetch", "The model's server fetches any URL that the agent names, with whatever the agent puts into it."},
	CodeExecution:   {"code-execution", "The model's server runs the agent's code on a machine of its own, which may have a network and files that last."},
	FileSearch:      {"file-search", "The model's server searches the files and vector stores of your account there, also those of other work."},
	MCP:             {"mcp", "The model's server connects to any MCP server that the agent names, with what the agent tells it to send."},
	ImageGeneration: {"image-generation", "The model's server makes images, with another model than the one that the session uses."},
	ComputerUse:     {"computer-use", "The model's server drives a browser or desktop of its own, wherever it can go."},
}

// ServerTools lists every kind.
func ServerTools() []ServerTool {
	return []ServerTool{WebSearch, WebFetch, CodeExecution, FileSearch, MCP, ImageGeneration, ComputerUse}
}

// ParseServerTool parses the name of a kind.
func ParseServerTool(name string) (ServerTool, error) {
	var names []string
	for _, tool := range ServerTools() {
		if tool.String() == name {
			return tool, nil
		}
		names = append(names, tool.String())
	}
	return 0, fmt.Errorf("unknown server-side tool %q: want %s", name, strings.Join(names, ", "))
}

func (t ServerTool) valid() bool { return t > 0 && int(t) < len(serverTools) }

// String returns the kind's name in settings.
func (t ServerTool) String() string {
	if !t.valid() {
		return "invalid"
	}
	return serverTools[t].name
}

// Opens returns a sentence that describes the access that the kind allows, or "" for an
// invalid one.
func (t ServerTool) Opens() string {
	if !t.valid() {
		return ""
	}
	return serverTools[t].opens
}

// HasFees reports whether servers charge a fee for each use of the tool, or for each item that it
// makes, which no count of tokens shows.
// https://developers.openai.com/api/docs/pricing
// https://platform.claude.com/docs/en/about-claude/pricing
// https://ai.google.dev/gemini-api/docs/pricing
func (t ServerTool) HasFees() bool {
	switch t {
	case MCP, WebFetch, ComputerUse: // only tokens
		return false
	default:
		return true
	}
}

// MarshalText writes the name; an invalid kind is an error.
func (t ServerTool) MarshalText() ([]byte, error) {
	if !t.valid() {
		return nil, fmt.Errorf("server-side tool %d is not valid", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText parses a name like ParseServerTool.
func (t *ServerTool) UnmarshalText(text []byte) error {
	tool, err := ParseServerTool(string(text))
	if err == nil {
		*t = tool
	}
	return err
}
