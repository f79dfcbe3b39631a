package agents

import (
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// Asker is an agent whose terminal shows when it waits for the user: for permission, or for
// an answer. For other agents, only the terminal's bell shows it.
type Asker interface {
	// Prompts returns the questions of the agent, as its terminal shows them. Those of
	// Claude, Codex, Gemini, Qwen, Copilot and OpenCode were copied from terminals of the
	// version in Info; those of Aider and Crush are from their sources, of Aider 0.86.1 and
	// of Crush 0.90.0, of which test/e2e meets one each on a terminal.
	Prompts() []Prompt
}

// Prompt is a question of an agent on its terminal: patterns that each match a row. A
// pattern never crosses rows, since an agent wraps lines to the terminal's width.
type Prompt struct {
	rows []*lazyregexp.Regexp
	last bool // the last pattern is for the last row of text only
	// full matches the patterns against the whole screen, and joined matches the only
	// pattern against the last rows joined into one.
	full, joined bool
}

// newPrompt compiles patterns for rows.
func newPrompt(rows ...string) Prompt {
	prompt := Prompt{rows: make([]*lazyregexp.Regexp, 0, len(rows))}
	for _, row := range rows {
		prompt.rows = append(prompt.rows, lazyregexp.New(row))
	}
	return prompt
}

// atEnd returns the prompt of an agent that prints line by line: any text after the
// question shows that it was answered.
func (p Prompt) atEnd() Prompt {
	p.last = true
	return p
}

// onScreen returns the prompt of an agent that draws the whole screen, with its questions in
// the middle: a tall terminal has many rows below them.
func (p Prompt) onScreen() Prompt {
	p.full = true
	return p
}

// wrapped returns a prompt whose only pattern also matches a question that the terminal's
// width has cut into rows, at any character, if nothing follows it.
func (p Prompt) wrapped() Prompt {
	p.joined = true
	return p
}

// promptRows bounds how far above the last row of text a question may begin.
const promptRows = 24

// Waits reports whether an agent waits for the user, by the text that its terminal shows,
// row by row. The agent controls the text, but by showing a false question it gets nothing
// but this label.
func Waits(agent Agent, shown string) bool {
	asker, ok := agent.(Asker)
	if !ok {
		return false
	}
	rows := strings.Split(strings.TrimRight(shown, " \n"), "\n")
	return slices.ContainsFunc(asker.Prompts(), func(p Prompt) bool { return p.in(rows) })
}

// wrappedRows is the maximum number of rows that a wrapped question has.
const wrappedRows = 6

// in reports whether each pattern matches a row, in their order.
func (p Prompt) in(rows []string) bool {
	if p.joined {
		return p.rows[0].MatchString(strings.Join(rows[max(0, len(rows)-wrappedRows):], ""))
	}
	if !p.full {
		rows = rows[max(0, len(rows)-promptRows):]
	}
	for i, pattern := range p.rows {
		if p.last && i == len(p.rows)-1 {
			rows = rows[max(0, len(rows)-1):]
		}
		at := slices.IndexFunc(rows, pattern.MatchString)
		if at < 0 {
			return false
		}
		rows = rows[at+1:]
	}
	return len(p.rows) > 0
}
