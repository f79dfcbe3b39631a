package conversation

import (
	"maps"
	"slices"
)

// Format is a format of events. The zero value is plain text.
type Format string

// The formats, named after the agent that defined each.
const (
	Plain    Format = ""
	Codex    Format = "codex"    // codex exec --json
	Claude   Format = "claude"   // claude --output-format stream-json; Qwen Code and Amp print it, too
	Cursor   Format = "cursor"   // cursor-agent --output-format stream-json: Claude's format with different tool calls
	Gemini   Format = "gemini"   // gemini --output-format stream-json
	Copilot  Format = "copilot"  // copilot --output-format json
	OpenCode Format = "opencode" // opencode run --format json
)

// reader decodes the lines of one format. It reports false for a line that it does not
// know.
type reader interface {
	read(line []byte) (events []Event, known bool)
}

// readers make a reader for each format.
var readers = map[Format]func() reader{
	Codex:    func() reader { return &codexReader{} },
	Claude:   func() reader { return claudeReader{} },
	Cursor:   func() reader { return &cursorReader{} },
	Gemini:   func() reader { return geminiReader{} },
	Copilot:  func() reader { return copilotReader{} },
	OpenCode: func() reader { return openCodeReader{} },
}

// Formats returns the formats that can be decoded, in order.
func Formats() []Format { return slices.Sorted(maps.Keys(readers)) }

// Known reports whether the format can be decoded.
func (f Format) Known() bool { return readers[f] != nil }
