package agents

import (
	"slices"
	"strings"

	"aibox/internal/fault"
)

// The kinds of tools that a model's own server runs and that agents here ask for, as the
// setting inference-tools names them. The gateway refuses tools that are not open, so
// agents are configured not to offer them.
const (
	webSearch = "web-search"
	webFetch  = "web-fetch"
)

// opens reports whether the user's settings open a kind of server-side tool.
func (i Inference) opens(kind string) bool { return slices.Contains(i.ServerTools, kind) }

// needsOpen returns a Usage fault if words, the value of an option, name a tool that the
// server runs and that is not open. A tool may be followed by its permissions: Name(…).
func (i Inference) needsOpen(option, kind string, words []string, names ...string) error {
	if i.opens(kind) {
		return nil
	}
	for _, word := range words {
		name, _, _ := strings.Cut(word, "(")
		if slices.Contains(names, strings.TrimSpace(name)) {
			return closedTool(option, name, kind)
		}
	}
	return nil
}

func closedTool(option, name, kind string) error {
	return fault.New(fault.Usage, "option %q needs %s, which runs on the model server and is a way out of the sandbox; your settings do not open it", option, name).
		Hint("aibox run --inference-tools %s …   # opens it", kind).
		Hint("aibox config set inference-tools %s   # for every run", kind)
}
