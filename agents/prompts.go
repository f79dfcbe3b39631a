package agents

import (
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// Asker is an agent whose terminal shows when it waits for the user: for permission, or
// for an answer. An agent without it is only heard by its terminal's bell.
type Asker interface {
	// Prompts returns the questions of the agent, as its terminal shows them. Those of
	// Claude, Codex, Gemini, Qwen, Copilot and OpenCode were copied from the version in Info;
	// those of Aider and Crush have not been seen on a terminal.
	Prompts() []Prompt
}

// Prompt is a question of an agent on its terminal: patterns that each match a row. A
// pattern never crosses rows, since an agent wraps lines to the terminal's width.
type Prompt []*lazyregexp.Regexp

// newPrompt compiles patterns for rows.
func newPrompt(rows ...string) Prompt {
	prompt := make(Prompt, 0, len(rows))
	for _, row := range rows {
		prompt = append(prompt, lazyregexp.New(row))
	}
	return prompt
}

// promptRows bounds how far above the last row of text a question may begin.
const promptRows = 24

// Waits reports whether an agent waits for the user, by the text that its terminal
// shows, row by row. The text is the agent's own: one that shows a question where there
// is none gets no more than this label.
func Waits(agent Agent, shown string) bool {
	asker, ok := agent.(Asker)
	if !ok {
		return false
	}
	rows := strings.Split(strings.TrimRight(shown, " \n"), "\n")
	rows = rows[max(0, len(rows)-promptRows):]
	return slices.ContainsFunc(asker.Prompts(), func(p Prompt) bool { return p.in(rows) })
}

// in reports whether each pattern matches a row, in their order.
func (p Prompt) in(rows []string) bool {
	for _, pattern := range p {
		at := slices.IndexFunc(rows, pattern.MatchString)
		if at < 0 {
			return false
		}
		rows = rows[at+1:]
	}
	return len(p) > 0
}
