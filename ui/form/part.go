package form

import (
	"strings"

	"aibox/agents/spec"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Part is a form as a part of another screen: the questions alone, one at a time with
// an overview beside it where there is room. It has no end of its own. Its
// owner reads Draft at any time; Update reports when the user leaves it.
type Part struct{ m *model }

// Outcome is what a key did to a Part.
type Outcome int

// The outcomes.
const (
	Stays    Outcome = iota // a question is still open
	Onward                  // behind the last question
	Backward                // before the first question
	Unknown                 // the key is none of the part's
)

// NewPart makes a part. Of the request In, Out, Title, Action, Preview and Accessible
// mean nothing here, and Options is never written.
func NewPart(r Request) *Part {
	r.Preview = nil
	return &Part{newPartModel(r)}
}

func newPartModel(r Request) *model {
	m := newModel(r)
	m.part = true
	return m
}

// Init asks for what can be suggested.
func (p *Part) Init() tea.Cmd { return p.m.begin() }

// Draft is a pointer to what the answers make so far, with those that cannot stand
// left as they were. It is only read.
func (p *Part) Draft() any { return p.m.draft }

// Problem is why the answers cannot stand as they are; nil when they can.
func (p *Part) Problem() error {
	if p.m.current != nil && p.m.current.err != nil {
		return p.m.current.err
	}
	for _, field := range p.m.fields {
		if err := spec.Check(p.m.draft, field); err != nil && spec.Visible(p.m.draft, field) {
			return err
		}
	}
	return spec.Validate(p.m.draft)
}

// Suggest changes where suggestions come from, and asks for them.
func (p *Part) Suggest(suggest func(spec.Field) []string) tea.Cmd {
	p.m.request.Suggest = suggest
	return p.m.ask()
}

// Empty reports whether there is no question.
func (p *Part) Empty() bool { return p.m.current == nil }

// Asks is the key of the option that is asked for now; empty where there is none.
func (p *Part) Asks() string {
	if p.m.current == nil {
		return ""
	}
	return p.m.current.field.Key
}

// Filtering reports whether esc belongs to the part.
func (p *Part) Filtering() bool { return p.m.current != nil && p.m.current.filtering() }

// Update takes a message. Of keys it says what they did.
func (p *Part) Update(msg tea.Msg) (Outcome, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return p.m.pressPart(msg)
	case suggested:
		p.m.take(msg)
		return Stays, nil
	}
	return Stays, p.m.forward(msg)
}

// Suggested reports whether a message brings suggestions to a part: each part of a
// screen is to get it, and takes its own.
func Suggested(msg tea.Msg) bool {
	_, ok := msg.(suggested)
	return ok
}

// SetSize tells the cells there are.
func (p *Part) SetSize(width, height int) {
	if p.m.width == width && p.m.height == height {
		return
	}
	p.m.width, p.m.height = width, height
	p.m.resize()
}

// SetTheme changes the styles.
func (p *Part) SetTheme(t theme.Theme) {
	p.m.styles = stylesOf(t)
	p.m.renew()
}

// View is the part, in lines of at most the width, and as many as the height.
func (p *Part) View() []string {
	if p.m.current == nil {
		return fit([]string{p.m.styles.Faint.Render("there is nothing to choose here")}, p.m.height)
	}
	lines := fit(p.m.body(), p.m.height)
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// Keys are the keys that count at the question that is asked.
func (p *Part) Keys() []key.Binding {
	next := p.m.keys.Next
	if p.m.current != nil && p.m.current.multiline() {
		next.SetHelp("tab", "next")
	}
	if p.Filtering() {
		return []key.Binding{bindingFor("enter", "take"), bindingFor("esc", "all choices")}
	}
	keys := []key.Binding{next, p.m.keys.Back}
	if p.m.current != nil {
		keys = append(keys, p.m.current.keys()...)
	}
	return keys
}

// pressPart is one key of a part.
func (m *model) pressPart(msg tea.KeyPressMsg) (Outcome, tea.Cmd) {
	switch {
	case m.current == nil:
		switch {
		case key.Matches(msg, m.keys.Next):
			return Onward, nil
		case key.Matches(msg, m.keys.Back):
			return Backward, nil
		}
		return Unknown, nil
	case m.current.filtering():
		return Stays, m.filter(msg)
	case key.Matches(msg, m.keys.Quit, m.keys.Cancel, m.keys.Help, m.keys.Read, m.keys.Review):
		return Unknown, nil
	case key.Matches(msg, m.keys.Back):
		return m.walk(-1)
	case key.Matches(msg, m.keys.Next) && (!m.current.multiline() || !key.Matches(msg, m.keys.Line)):
		return m.walk(1)
	}
	return Stays, m.forward(msg)
}

// walk leaves the current question if its answer can stand, for the next visible one
// or out of the part.
func (m *model) walk(n int) (Outcome, tea.Cmd) {
	at := m.at
	cmd := m.step(n)
	switch {
	case m.current != nil && m.current.err != nil:
		return Stays, nil
	case m.current == nil: // where a form has its review
		m.show(at)
		return Onward, m.focus()
	case n < 0 && m.at == at:
		return Backward, cmd
	}
	return Stays, cmd
}
