package scripted

import (
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// receivedPattern matches {received:TEXT}, which asks whether the model received TEXT.
var receivedPattern = lazyregexp.New(`\{received:([^{}\n]+)\}`)

// wasSent returns "yes" if a system prompt or a prompt contains text, else "no".
func (c Conversation) wasSent(text string) string {
	if strings.Contains(c.System, text) || slices.ContainsFunc(c.Prompts, func(prompt string) bool { return strings.Contains(prompt, text) }) {
		return "yes"
	}
	return "no"
}

// toolNames returns the names of the agent's tools, in its order.
func (c Conversation) toolNames() string {
	names := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		names[i] = tool.Name
	}
	return strings.Join(names, " ")
}
