package form

import (
	"strings"

	"aibox/agents/spec"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Part is a form within another screen: only the questions, one at a time, with an overview
// beside them where there is room. The owner reads Draft at any time, and Update reports
// when the user leaves the form.
type Part struct{ q *questions }

// Outcome is the effect of a key on a Part.
type Outcome int

// The outcomes.
const (
	Stay     Outcome = iota // a question is still open, or the key is not one of the part's
	Next                    // the user left the last question
	Previous                // the user left the first question backward
)

// NewPart makes a part. It ignores the request's In, Out, Title, Action and Preview, and
// never writes Options.
func NewPart(r Request) *Part {
	q := newQuestions(r)
	q.move(1)
	return &Part{q}
}

// Init asks for suggestions.
func (p *Part) Init() tea.Cmd { return p.q.begin() }

// Draft is a pointer to the options with the valid answers so far. It is only read.
func (p *Part) Draft() any { return p.q.draft }

// Problem is why the answers are invalid; nil if they are valid.
func (p *Part) Problem() error {
	if p.q.current != nil && p.q.current.err != nil {
		return p.q.current.err
	}
	for _, field := range p.q.fields {
		if err := spec.Check(p.q.draft, field); err != nil && spec.Visible(p.q.draft, field) {
			return err
		}
	}
	return spec.Validate(p.q.draft)
}

// Suggest replaces the source of suggestions, and asks for them.
func (p *Part) Suggest(suggest func(spec.Field) []string) tea.Cmd {
	p.q.request.Suggest = suggest
	return p.q.suggest()
}

// Current is the key of the current option; empty if there is none.
func (p *Part) Current() string {
	if p.q.current == nil {
		return ""
	}
	return p.q.current.field.Key
}

// Filtering reports whether esc belongs to the part.
func (p *Part) Filtering() bool { return p.q.filtering() }

// Update handles a message. The outcome is that of a key.
func (p *Part) Update(msg tea.Msg) Outcome {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.press(msg)
	case suggested:
		p.q.setSuggestions(msg)
	default:
		p.q.forward(msg)
	}
	return Stay
}

// press handles a key.
func (p *Part) press(msg tea.KeyPressMsg) Outcome {
	k := p.q.keys
	switch {
	case p.q.filtering():
		p.q.pressFilter(msg)
	case p.q.current == nil && key.Matches(msg, k.Next):
		return Next
	case p.q.current == nil && key.Matches(msg, k.Back):
		return Previous
	case p.q.current == nil, key.Matches(msg, k.Reserved):
		return Stay
	case key.Matches(msg, k.Back):
		return p.step(-1)
	case p.q.goesNext(msg):
		return p.step(1)
	default:
		p.q.forward(msg)
	}
	return Stay
}

// step leaves the current question if its answer is valid, for the next visible one or
// out of the part.
func (p *Part) step(n int) Outcome {
	at := p.q.at
	p.q.step(n)
	switch {
	case p.q.current != nil && p.q.current.err != nil:
		return Stay
	case p.q.current == nil: // after the last question
		p.q.show(at)
		p.q.focus()
		return Next
	case n < 0 && p.q.at == at:
		return Previous
	}
	return Stay
}

// Suggested reports whether a message brings suggestions. Its screen passes it to each of
// its parts.
func Suggested(msg tea.Msg) bool {
	_, ok := msg.(suggested)
	return ok
}

// SetSize sets the size in cells.
func (p *Part) SetSize(width, height int) {
	if p.q.width != width || p.q.height != height {
		p.q.setSize(width, height)
	}
}

// SetTheme changes the styles.
func (p *Part) SetTheme(t theme.Theme) { p.q.setStyles(stylesOf(t)) }

// View returns as many lines as the height, none wider than the width.
func (p *Part) View() []string {
	if p.q.current == nil {
		return fit([]string{p.q.styles.Faint.Render("there is nothing to choose here")}, p.q.height)
	}
	lines := fit(p.q.body(), p.q.height)
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// Keys are the keys of the current question.
func (p *Part) Keys() []key.Binding { return p.q.questionKeys() }
