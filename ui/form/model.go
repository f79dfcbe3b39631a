package form

import (
	"slices"

	"aibox/agents/spec"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// page is what fills the screen besides the questions.
type page int

const (
	asking  page = iota // one question, the overview and a short preview
	reading             // the whole preview
	helping             // every key
)

// model is the form as a Bubble Tea program. The last position, behind every
// question, is the review of what will happen.
type model struct {
	request Request
	keys    keyMap
	styles  styles

	draft   any // what the answers make; Options stays as it is
	fields  []spec.Field
	at      int     // index into fields; len(fields) is the review
	current *answer // the question at at; nil in the review

	suggestions map[string][]string
	asked       int      // how often suggestions were asked for
	preview     []string // the lines of the preview, made safe, not yet wrapped
	page        page
	scroll      int // first line shown of a page that is longer than the screen
	width       int // of the terminal; 0 until it is known
	height      int
	problem     error // why the form cannot be finished
	done        bool
	part        bool // inside another screen: no head, no foot, no review
}

// newModel makes a form whose draft is a copy of the options.
func newModel(r Request) *model {
	m := &model{
		request: r, keys: newKeyMap(), styles: newStyles(true), draft: spec.Clone(r.Options),
		fields: inOrder(r), suggestions: map[string][]string{}, at: -1,
	}
	m.refresh()
	m.move(1)
	return m
}

// inOrder is the fields of the form: the main group first, then each group where
// its first field stands.
func inOrder(r Request) []spec.Field {
	all, _ := spec.Of(r.Options)
	groups := []string{""}
	byGroup := map[string][]spec.Field{}
	for _, field := range all {
		if !field.Mode.Includes(r.Mode) || r.Only != nil && !slices.Contains(r.Only, field.Key) {
			continue
		}
		if _, known := byGroup[field.Group]; !known && field.Group != "" {
			groups = append(groups, field.Group)
		}
		byGroup[field.Group] = append(byGroup[field.Group], field)
	}
	var fields []spec.Field
	for _, group := range groups {
		fields = append(fields, byGroup[group]...)
	}
	return fields
}

// finish writes the options when the form was finished.
func (m *model) finish() (bool, error) {
	if !m.done {
		return false, nil
	}
	return true, spec.Copy(m.request.Options, m.draft)
}

// Init asks for what the terminal and the caller know.
func (m *model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.begin())
}

// begin asks the first question, and for all of them what can be suggested.
func (m *model) begin() tea.Cmd {
	return tea.Batch(m.focus(), m.ask())
}

// ask asks for what can be suggested.
func (m *model) ask() tea.Cmd {
	m.asked++
	var commands []tea.Cmd
	for _, field := range m.fields {
		if suggest, turn := m.request.Suggest, m.asked; suggest != nil && (field.Type == spec.Model || field.Type == spec.Path || m.part && field.Type == spec.String) {
			commands = append(commands, func() tea.Msg { return suggested{m, turn, field.Key, suggest(field)} })
		}
	}
	return tea.Batch(commands...)
}

// suggested brings the values to pick from for one field.
type suggested struct {
	of     *model // that asked: a screen may have several forms
	turn   int    // of asking
	key    string
	values []string
}

// take keeps what is suggested, if it is for this form.
func (m *model) take(msg suggested) {
	if msg.of != m || msg.turn != m.asked {
		return // to another form, or too late
	}
	m.suggestions[msg.key] = safeWords(msg.values)
	if m.current != nil && m.current.field.Key == msg.key {
		m.current.suggest(m.suggestions[msg.key])
	}
}

// Update routes.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.resize()
		return m, nil
	case tea.BackgroundColorMsg:
		m.styles = newStyles(msg.IsDark())
		return m, m.renew()
	case suggested:
		m.take(msg)
		return m, nil
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.page != asking {
			return m, nil
		}
	}
	return m, m.forward(msg)
}

// press is one key. What moves between questions is decided here, at once, and not
// by a message of the question's: keys that were typed ahead reach the question
// that they were meant for.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	typing := m.current != nil && m.current.filtering()
	switch {
	case key.Matches(msg, m.keys.Quit):
		return tea.Quit
	case m.page != asking:
		m.turn(msg)
		return nil
	case typing:
		return m.filter(msg)
	case key.Matches(msg, m.keys.Cancel):
		return tea.Quit
	case key.Matches(msg, m.keys.Help):
		m.page, m.scroll = helping, 0
	case key.Matches(msg, m.keys.Read):
		m.page, m.scroll = reading, 0
	case key.Matches(msg, m.keys.Back):
		return m.step(-1)
	case key.Matches(msg, m.keys.Review):
		return m.step(len(m.fields) - m.at)
	case m.current == nil:
		return m.review(msg)
	case key.Matches(msg, m.keys.Next) && (!m.current.multiline() || !key.Matches(msg, m.keys.Line)):
		return m.step(1)
	default:
		return m.forward(msg)
	}
	return nil
}

// review is a key on the last page. Tab goes no further: one
// press too many must not start anything.
func (m *model) review(msg tea.KeyPressMsg) tea.Cmd {
	if !key.Matches(msg, m.keys.Line) {
		m.scrolled(msg)
		return nil
	}
	if m.problem = m.firstProblem(); m.problem != nil {
		return nil
	}
	m.done = true
	return tea.Quit
}

// firstProblem goes to the first visible question whose answer cannot stand.
func (m *model) firstProblem() error {
	for i, field := range m.fields {
		if err := spec.Check(m.draft, field); err != nil && spec.Visible(m.draft, field) {
			m.show(i)
			return err
		}
	}
	return spec.Validate(m.draft)
}

// step leaves the current question if its answer can stand, and goes n visible
// questions on.
func (m *model) step(n int) tea.Cmd {
	if m.current != nil {
		m.current.settle()
		m.absorb()
		if m.current.err != nil {
			return nil
		}
	}
	m.problem = nil
	m.move(n)
	return m.focus()
}

// move goes n visible questions on, from at, and no further than the ends.
func (m *model) move(n int) {
	direction := 1
	if n < 0 {
		direction = -1
	}
	to := m.at
	for i := m.at + direction; n != 0 && i >= 0 && i <= len(m.fields); i += direction {
		if i == len(m.fields) || spec.Visible(m.draft, m.fields[i]) {
			to, n = i, n-direction
		}
	}
	m.show(max(to, 0))
}

// show makes the question at i the current one.
func (m *model) show(i int) {
	m.at, m.scroll, m.current = i, 0, nil
	if i < len(m.fields) {
		m.current = newAnswer(m.fields[i], m.draft, m.styles)
		m.current.suggest(m.suggestions[m.fields[i].Key])
	}
	m.resize()
}

// renew makes the current question again, for other colors, and keeps what was
// typed.
func (m *model) renew() tea.Cmd {
	if m.current == nil {
		return nil
	}
	m.current.dress(m.styles)
	m.resize()
	return m.focus()
}

func (m *model) focus() tea.Cmd {
	if m.current == nil {
		return nil
	}
	return m.own(m.current.widget.Focus())
}

// own is what a widget asks for, for itself: to have its cursor blink, and to run a
// program that knows the clipboard. A part of another screen stays idle and runs none.
func (m *model) own(cmd tea.Cmd) tea.Cmd {
	if m.part {
		return nil
	}
	return cmd
}

// forward hands a message to the current question and takes in its answer.
func (m *model) forward(msg tea.Msg) tea.Cmd {
	if m.current == nil {
		return nil
	}
	cmd := m.current.update(msg)
	m.absorb()
	return m.own(cmd)
}

// absorb brings the current answer into the draft.
func (m *model) absorb() {
	if m.current.apply(m.draft) {
		m.problem = nil
		m.refresh()
	}
}

// filter is a key while the choices are being filtered: enter takes the choice
// under the cursor and stays, so that it is seen before it counts.
func (m *model) filter(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.Next), key.Matches(msg, m.keys.Cancel):
		m.current.endFilter(!key.Matches(msg, m.keys.Cancel), m.draft, m.styles)
		m.absorb()
		m.resize()
		return m.focus()
	case m.current.lost() && key.Matches(msg, m.keys.Moves):
		return nil // huh would move its cursor to before the first of no choices
	}
	return m.forward(msg)
}
