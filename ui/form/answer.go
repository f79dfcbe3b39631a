package form

import (
	"slices"
	"strconv"
	"strings"

	"aibox/agents/spec"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// answer is the current question. huh writes into the bound values on each key; they reach
// the draft only when spec accepts them.
type answer struct {
	field   spec.Field
	widget  huh.Field
	choices []string

	text  string   // bound by inputs, editors and choices
	words []string // bound by choices of several
	on    bool     // bound by switches

	before      string // the bound value at first
	snapshot    any    // the draft at first, to undo the answer
	suggestions []string
	plain       bool // asked line by line
	err         error
}

// newAnswer asks for field, with its value in draft as the first answer.
func newAnswer(field spec.Field, draft any, s styles) *answer {
	a := &answer{field: field, snapshot: spec.Clone(draft), choices: spec.ChoicesOf(draft, field)}
	switch field.Type {
	case spec.Bool:
		a.on, _ = field.Value(draft).(bool)
	case spec.Choices:
		a.words, _ = field.Value(draft).([]string)
	case spec.Secret: // not shown: the question begins empty
	default:
		a.text = field.Lines(draft)
	}
	a.before = a.print()
	a.makeWidget(s)
	if field.Type != spec.Choice && field.Type != spec.Choices {
		// An input turns tabs and the like into spaces. That is no change by the user.
		a.update(nil)
		a.before = a.print()
	}
	return a
}

// makeWidget makes the widget with the bound values.
func (a *answer) makeWidget(s styles) {
	a.widget = a.newWidget().WithTheme(s.theme()).WithKeyMap(widgetKeys())
	a.widget.Init()
	a.setSuggestions(a.suggestions)
}

// print is the bound value as one string. huh orders several choices as it shows them, so
// their order means nothing.
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
	next, _ := a.widget.Update(msg)
	if widget, ok := next.(huh.Field); ok {
		a.widget = widget
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
		a.err = a.field.Set(draft, strings.Join(a.words, ","))
	default:
		a.err = a.field.Set(draft, strings.TrimRight(a.print(), "\n"))
	}
	if a.err == nil {
		a.err = spec.Check(draft, a.field)
	}
}

// chooseHovered takes the choice under the cursor, which huh reports only when it leaves.
func (a *answer) chooseHovered() {
	if choice, ok := a.widget.(*huh.Select[string]); ok {
		if hovered, found := choice.Hovered(); found {
			a.text = hovered
		}
	}
}

// setSuggestions offers values to pick from.
func (a *answer) setSuggestions(values []string) {
	a.suggestions = values
	if a.field.Type != spec.Choice && a.field.Type != spec.Choices {
		for _, choice := range a.choices {
			if !slices.Contains(a.suggestions, choice) {
				a.suggestions = append(a.suggestions[:len(a.suggestions):len(a.suggestions)], choice)
			}
		}
	}
	if input, ok := a.widget.(*huh.Input); ok && len(a.suggestions) > 0 {
		input.Suggestions(a.suggestions)
	}
}

// matching returns the suggestions that contain the text, without the text itself.
func (a *answer) matching() []string {
	var found []string
	for _, value := range a.suggestions {
		if value != a.text && strings.Contains(strings.ToLower(value), strings.ToLower(a.text)) {
			found = append(found, value)
		}
	}
	return found
}

// multiline reports whether enter makes a new line.
func (a *answer) multiline() bool { return a.field.Type == spec.Text || a.field.Type == spec.List }

// filtering reports whether keys go to the filter of the choices.
func (a *answer) filtering() bool {
	choice, ok := a.widget.(interface{ GetFiltering() bool })
	return ok && choice.GetFiltering()
}

// noMatch reports whether the filter matches no choice.
func (a *answer) noMatch() bool {
	choice, ok := a.widget.(interface{ Hovered() (string, bool) })
	if !ok {
		return false
	}
	_, found := choice.Hovered()
	return !found
}

// endFilter shows all choices again. With take, the one under the cursor is chosen
// (of several choices, switched).
func (a *answer) endFilter(take bool, draft any, s styles) {
	choice, ok := a.widget.(interface{ Hovered() (string, bool) })
	if hovered, found := choice.Hovered(); ok && take && found {
		switch i := slices.Index(a.words, hovered); {
		case a.field.Type == spec.Choice:
			a.text = hovered
		case i >= 0:
			a.words = slices.Delete(a.words, i, i+1)
		default:
			a.words = append(a.words, hovered)
		}
	}
	a.makeWidget(s)
	a.apply(draft)
}

// keys are the keys of the question, for the help.
func (a *answer) keys() []key.Binding {
	switch {
	case a.field.Type == spec.Bool:
		return []key.Binding{bindingFor("←/→", "switch"), bindingFor("y/n", "on or off")}
	case a.field.Type == spec.Choice:
		return []key.Binding{bindingFor("↑/↓", "choose"), bindingFor("/", "filter")}
	case a.field.Type == spec.Choices:
		return []key.Binding{bindingFor("space", "switch"), bindingFor("/", "filter"), bindingFor("ctrl+a", "all or none")}
	case a.multiline():
		return []key.Binding{bindingFor("enter", "new line")}
	case len(a.suggestions) > 0:
		return []key.Binding{bindingFor("ctrl+e", "complete"), bindingFor("↑/↓", "suggestions")}
	default:
		return nil
	}
}
