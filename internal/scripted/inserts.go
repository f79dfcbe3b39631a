package scripted

import (
	"regexp"
	"slices"
	"strings"
)

// heardText stands in a script for whether the model was told a text.
var heardText = regexp.MustCompile(`\{heard:([^{}\n]+)\}`)

// hasHeard is "yes" when a system prompt or anything said in the user's name holds
// text, else "no".
func (c Conversation) hasHeard(text string) string {
	if strings.Contains(c.System, text) || slices.ContainsFunc(c.Prompts, func(said string) bool { return strings.Contains(said, text) }) {
		return "yes"
	}
	return "no"
}

// toolNames are the tools that the agent offers, in its order.
func (c Conversation) toolNames() string {
	names := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		names[i] = tool.Name
	}
	return strings.Join(names, " ")
}
