package form

import (
	"slices"

	"aibox/agents/spec"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// questions ask for the fields of a struct, one at a time. The position after the last
// question has none. Widgets run no commands: a blinking cursor would need timers, and the
// key that pastes would run a program to read the clipboard.
type questions struct {
	request Request
	keys    keyMap
	styles  styles
	draft   any // what the answers make; the request's Options stay as they are
	fields  []spec.Field
	at      int     // index into fields; len(fields) is after the last question
	current *answer // the question at at; nil after the last one
	width   int     // 0 until it is known
	height  int

	suggestions map[string][]string
	asked       int // how often suggestions were asked for
}

func newQuestions(r Request) *questions {
	return &questions{
		request: r, keys: newKeyMap(), styles: stylesOf(theme.New(true)), draft: spec.Clone(r.Options),
		fields: inOrder(r), suggestions: map[string][]string{}, at: -1,
	}
}

// inOrder returns the fields of a form: those without a group first, then each group at
// the place of its first field.
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

// begin focuses the first question, and asks for the suggestions of all.
func (q *questions) begin() tea.Cmd {
	q.focus()
	return q.suggest()
}

// suggested brings the suggestions for one field.
type suggested struct {
	of     *questions // a screen may have several forms
	turn   int        // of asking
	key    string
	values []string
}

// suggest asks for suggestions. Answers to earlier requests are dropped.
func (q *questions) suggest() tea.Cmd {
	q.asked++
	var commands []tea.Cmd
	for _, field := range q.fields {
		if suggest, turn := q.request.Suggest, q.asked; suggest != nil && (field.Type == spec.Model || field.Type == spec.Path || field.Type == spec.String) {
			commands = append(commands, func() tea.Msg { return suggested{q, turn, field.Key, suggest(field)} })
		}
	}
	return tea.Batch(commands...)
}

// setSuggestions keeps suggestions, unless they are for another form or late.
func (q *questions) setSuggestions(msg suggested) {
	if msg.of != q || msg.turn != q.asked {
		return
	}
	q.suggestions[msg.key] = safeWords(msg.values)
	if q.current != nil && q.current.field.Key == msg.key {
		q.current.setSuggestions(q.suggestions[msg.key])
	}
}

// step leaves the current question if its answer is valid, and moves n visible questions.
func (q *questions) step(n int) {
	if q.current != nil {
		q.current.chooseHovered()
		q.current.apply(q.draft)
		if q.current.err != nil {
			return
		}
	}
	q.move(n)
	q.focus()
}

// move moves n visible questions from at, within the ends.
func (q *questions) move(n int) {
	direction := 1
	if n < 0 {
		direction = -1
	}
	to := q.at
	for i := q.at + direction; n != 0 && i >= 0 && i <= len(q.fields); i += direction {
		if i == len(q.fields) || spec.Visible(q.draft, q.fields[i]) {
			to, n = i, n-direction
		}
	}
	q.show(max(to, 0))
}

// show makes the question at i the current one.
func (q *questions) show(i int) {
	q.at, q.current = i, nil
	if i < len(q.fields) {
		q.current = newAnswer(q.fields[i], q.draft, q.styles)
		q.current.setSuggestions(q.suggestions[q.fields[i].Key])
	}
	q.resize()
}

// setStyles draws the current question in other styles, and keeps what was typed.
func (q *questions) setStyles(s styles) {
	q.styles = s
	if q.current == nil {
		return
	}
	q.current.makeWidget(q.styles)
	q.resize()
	q.focus()
}

func (q *questions) focus() {
	if q.current != nil {
		q.current.widget.Focus()
	}
}

// forward passes a message to the current question and applies its answer.
func (q *questions) forward(msg tea.Msg) {
	if q.current == nil {
		return
	}
	q.current.update(msg)
	q.current.apply(q.draft)
}

// filtering reports whether keys go to the filter of the current choices.
func (q *questions) filtering() bool { return q.current != nil && q.current.filtering() }

// pressFilter handles a key while the choices are filtered. Enter takes the choice under
// the cursor and stays, so that the user sees it before it counts.
func (q *questions) pressFilter(msg tea.KeyPressMsg) {
	switch {
	case key.Matches(msg, q.keys.Next), key.Matches(msg, q.keys.Cancel):
		q.current.endFilter(!key.Matches(msg, q.keys.Cancel), q.draft, q.styles)
		q.resize()
		q.focus()
	case q.current.noMatch() && key.Matches(msg, q.keys.Moves):
		// huh would move its cursor to before the first of no choices
	default:
		q.forward(msg)
	}
}

// goesNext reports whether a key leaves the current question for the next one.
func (q *questions) goesNext(msg tea.KeyPressMsg) bool {
	return key.Matches(msg, q.keys.Next) && (!q.current.multiline() || !key.Matches(msg, q.keys.Line))
}

// setSize sets the size in cells.
func (q *questions) setSize(width, height int) {
	q.width, q.height = width, height
	q.resize()
}

// resize fits the current question to the size.
func (q *questions) resize() {
	if q.current == nil || q.width == 0 {
		return
	}
	width := q.questionWidth()
	q.current.widget.WithWidth(width)
	switch {
	case q.current.field.Type == spec.Bool:
	case q.current.multiline():
		help := lipgloss.Height(ansi.Wrap(q.current.help(), width, ""))
		q.current.widget.WithHeight(max(3, q.height-help-1)) // room for an error
	default:
		q.current.widget.WithHeight(q.height)
	}
}
