package form

import (
	"slices"
	"strconv"
	"strings"

	"aibox/agents/spec"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// answer edits the value of one field. huh writes into the bound values on each key; they
// reach the draft only when spec accepts them.
type answer struct {
	field   spec.Field
	check   func(draft any, field spec.Field) error
	widget  huh.Field   // nil if there is a list
	list    *choiceList // nil if there is a widget
	choices []string
	plain   bool // asked line by line

	text  string   // bound by inputs, editors and choices
	words []string // bound by choices of several
	on    bool     // bound by switches

	before      string // the bound value at first
	snapshot    any    // the draft at first, to undo the answer
	suggestions []string
	suggestion  int // index into matching of the suggestion under the cursor; -1 is the typed text
	err         error
}

// newAnswer asks for field, with its value in draft as the first answer. plain means line
// by line.
func newAnswer(r Request, field spec.Field, draft any, s styles, plain bool) *answer {
	a := &answer{field: field, check: r.check, snapshot: spec.Clone(draft), choices: spec.ChoicesOf(draft, field), plain: plain, suggestion: -1}
	switch field.Type {
	case spec.Bool:
		a.on, _ = field.Value(draft).(bool)
	case spec.Choices:
		a.words, _ = field.Value(draft).([]string)
	case spec.Secret: // not shown: the answer begins empty
	default:
		a.text = field.Lines(draft)
	}
	a.before = a.print()
	a.makeWidget(s)
	if a.widget != nil && field.Type != spec.Choice && field.Type != spec.Choices {
		// An input turns tabs and the like into spaces. That is no change by the user.
		a.update(nil)
		a.before = a.print()
	}
	return a
}

// makeWidget makes the editor with the bound values.
func (a *answer) makeWidget(s styles) {
	if choice := a.field.Type == spec.Choice; !a.plain && (choice || a.field.Type == spec.Choices) {
		if a.list == nil {
			chosen := a.words
			if choice {
				chosen = []string{a.text}
			}
			a.list = newChoiceList(a.listed(), !choice, chosen)
		}
		return
	}
	a.widget = a.newWidget().WithTheme(s.theme()).WithKeyMap(widgetKeys())
	a.widget.Init()
	a.setSuggestions(a.suggestions)
}

// begin gives the keyboard to the editor.
func (a *answer) begin() {
	if a.widget != nil {
		a.widget.Focus()
	}
}

// clear empties an input.
func (a *answer) clear(s styles) {
	a.text = ""
	a.makeWidget(s)
}

// print is the bound value as one string. The order of several choices means nothing.
func (a *answer) print() string {
	switch a.field.Type {
	case spec.Bool:
		return strconv.FormatBool(a.on)
	case spec.Choices:
		return strings.Join(slices.Sorted(slices.Values(a.words)), " ")
	default:
		return a.text
	}
}

func (a *answer) update(msg tea.Msg) {
	if a.list != nil {
		a.list.update(msg)
		a.words = a.list.chosen
		return
	}
	if keymap.EndsField(msg) {
		return
	}
	before := a.text
	next, _ := a.widget.Update(msg)
	if widget, ok := next.(huh.Field); ok {
		a.widget = widget
	}
	if a.text != before {
		a.suggestion = -1
	}
}

// take takes the suggestion or the choice under the cursor.
func (a *answer) take(s styles) {
	switch matching := a.matching(); {
	case a.list != nil && !a.list.several:
		if value, ok := a.list.selected(); ok {
			a.text = value
		}
	case a.suggestion >= 0 && a.suggestion < len(matching):
		a.text, a.suggestion = matching[a.suggestion], -1
		a.makeWidget(s)
	}
}

// apply writes the bound value to draft if spec accepts it, and keeps the error if not.
func (a *answer) apply(draft any) {
	switch {
	case a.print() == a.before:
		a.err = a.field.Copy(draft, a.snapshot)
	case a.field.Type == spec.Choices && len(a.words) == 0 && a.field.Default != "":
		a.err = a.field.Decode(draft, []string{}) // the user removed the default
	case a.field.Type == spec.Choices:
		a.err = a.field.Set(draft, strings.Join(a.inOrder(), ","))
	default:
		a.err = a.field.Set(draft, strings.TrimRight(a.print(), "\n"))
	}
	if a.err == nil {
		a.err = a.check(draft, a.field)
	}
}

// inOrder are the words that were chosen, in the order of the choices.
func (a *answer) inOrder() []string {
	words := slices.Clone(a.words)
	slices.SortStableFunc(words, func(one, other string) int { return slices.Index(a.choices, one) - slices.Index(a.choices, other) })
	return words
}

// setSuggestions offers values to pick from. The cursor stays at its value, or goes back to the typed text.
func (a *answer) setSuggestions(values []string) {
	marked := ""
	if matching := a.matching(); a.suggestion >= 0 && a.suggestion < len(matching) {
		marked = matching[a.suggestion]
	}
	a.suggestions = values
	if a.field.Type != spec.Choice && a.field.Type != spec.Choices {
		for _, choice := range a.choices {
			if !slices.Contains(a.suggestions, choice) {
				a.suggestions = append(a.suggestions[:len(a.suggestions):len(a.suggestions)], choice)
			}
		}
	}
	a.suggestion = -1
	if marked != "" {
		a.suggestion = slices.Index(a.matching(), marked)
	}
	if input, ok := a.widget.(*huh.Input); ok && len(a.suggestions) > 0 {
		input.Suggestions(a.suggestions)
	}
}

// moveSuggestion moves n suggestions, at most back to the typed text.
func (a *answer) moveSuggestion(n int) {
	a.suggestion = max(-1, min(a.suggestion+n, len(a.matching())-1))
}

// matching returns the suggestions that contain the typed text, without the text itself.
// An unchanged value matches all.
func (a *answer) matching() []string {
	typed := strings.ToLower(a.text)
	if a.print() == a.before {
		typed = ""
	}
	var found []string
	for _, value := range a.suggestions {
		if value != a.text && strings.Contains(strings.ToLower(value), typed) {
			found = append(found, value)
		}
	}
	return found
}

// multiline reports whether enter makes a new line.
func (a *answer) multiline() bool { return a.field.Type == spec.Text || a.field.Type == spec.List }
