// Package docs generates parts of the pages under docs/: the agents with their options and
// their measured behavior when model servers fail, the keys of an agent file, the settings,
// the risks, the phases of a session, the calls of E2B's packages, and the tools for MCP clients.
// The parts are between marks in pages that are otherwise written by hand. A test checks that
// they match the program. The package opens no file.
package docs

import (
	"fmt"
	"regexp"
	"strings"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/api/e2b"
	"aibox/api/mcp"
	"aibox/config"
	"aibox/review/risk"
)

// Parts are the generated parts of the pages by name, in Markdown.
func Parts() (map[string]string, error) {
	parts := map[string]string{"example": "```toml\n" + string(custom.Example) + "```\n"}
	for name, write := range map[string]func(*strings.Builder) error{
		"agents":     func(out *strings.Builder) error { return writeAgents(out, agents.Builtin().All()) },
		"failures":   func(out *strings.Builder) error { return writeFailures(out, agents.Builtin().All()) },
		"agent-keys": func(out *strings.Builder) error { return custom.Reference(out) },
		"settings":   func(out *strings.Builder) error { return config.Reference(out) },
		"risks":      func(out *strings.Builder) error { return risk.Reference(out) },
		"calls":      func(out *strings.Builder) error { return e2b.Reference(out) },
		"mcp-tools":  func(out *strings.Builder) error { return mcp.Reference(out) },
		"phases":     func(out *strings.Builder) error { writePhases(out); return nil },
	} {
		var out strings.Builder
		if err := write(&out); err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		parts[name] = strings.TrimSpace(out.String()) + "\n"
	}
	return parts, nil
}

// mark matches the lines around a generated part.
var mark = regexp.MustCompile(`(?m)^<!-- (begin|end) ([a-z-]+)[^\n]*-->\n`)

// Fill puts parts into a page, each between its marks, and returns the names of
// those it holds. Marks that do not pair, or of an unknown part, are an error.
func Fill(page string, parts map[string]string) (filled string, names []string, err error) {
	var out strings.Builder
	rest, open := 0, ""
	for _, at := range mark.FindAllStringSubmatchIndex(page, -1) {
		kind, name := page[at[2]:at[3]], page[at[4]:at[5]]
		part, known := parts[name]
		switch {
		case !known:
			return "", nil, fmt.Errorf("there is no part %q", name)
		case kind == "begin" && open == "":
			open = name
			names = append(names, name)
			out.WriteString(page[rest:at[1]] + "\n" + part + "\n")
		case kind == "end" && open == name:
			open = ""
			out.WriteString(page[at[0]:at[1]])
		default:
			return "", nil, fmt.Errorf("the mark %q of %s does not pair", kind, name)
		}
		rest = at[1]
	}
	if open != "" {
		return "", nil, fmt.Errorf("the part %q has no end", open)
	}
	return out.String() + page[rest:], names, nil
}
