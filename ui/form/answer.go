package form

import (
	"slices"
	"strconv"
	"strings"

	"aibox/agents/spec"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// answer is the question that is being asked. huh writes into the bound values on
// each key; they are the draft's only when spec takes them.
type answer struct {
	field   spec.Field
	widget  huh.Field
	choices []string

	text  string   // bound by inputs, editors and choices
	words []string // bound by choices of several
	on    bool     // bound by switches

	before   string // what the bound value was at first
	snapshot any    // the draft at first, for an answer that is taken back
	offered  []string
	plain    bool // asked line by line
	err      error
}

// newAnswer asks for field, with its value in draft as the first answer.
func newAnswer(field spec.Field, draft any, s styles) *answer {
	a := &answer{field: field, snapshot: spec.Clone(draft), choices: spec.ChoicesOf(draft, field)}
	switch field.Type {
	case spec.Bool:
		a.on, _ = field.Value(draft).(bool)
	case spec.Choices:
		a.words, _ = field.Value(draft).([]string)
	case spec.Secret: // stays where it is; the question begins empty
	default:
		a.text = field.Lines(draft)
	}
	a.before = a.print()
	a.dress(s)
	if field.Type != spec.Choice && field.Type != spec.Choices {
		// An input shows tabs and the like as spaces, which is no change of the user's.
		a.update(nil)
		a.before = a.print()
	}
	return a
}

// dress makes the widget, with the bound values as they are.
func (a *answer) dress(s styles) {
	a.widget = a.newWidget().WithTheme(s.theme()).WithKeyMap(widgetKeys())
	a.widget.Init()
	a.suggest(a.offered)
}

// print is the bound value as one string. huh puts several choices in the order in
// which they stand, so their order says nothing.
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

func (a *answer) update(msg tea.Msg) tea.Cmd {
	next, cmd := a.widget.Update(msg)
	if widget, ok := next.(huh.Field); ok {
		a.widget = widget
	}
	return cmd
}

// apply brings the bound value into draft if spec takes it, and reports whether
// anything is new: the draft or the error.
func (a *answer) apply(draft any) bool {
	was, wasWrong := a.field.Lines(draft), a.err
	switch {
	case a.print() == a.before:
		a.err = a.field.Copy(draft, a.snapshot)
	case a.field.Type == spec.Choices && len(a.words) == 0 && a.field.Default != "":
		a.err = a.field.Decode(draft, []string{}) // the default was taken away
	case a.field.Type == spec.Choices:
		a.err = a.field.Set(draft, strings.Join(a.words, ","))
	default:
		a.err = a.field.Set(draft, strings.TrimRight(a.print(), "\n"))
	}
	if a.err == nil {
		a.err = spec.Check(draft, a.field)
	}
	return a.field.Type == spec.Secret || was != a.field.Lines(draft) || (a.err == nil) != (wasWrong == nil)
}

// settle takes the choice under the cursor, which huh tells only when it leaves.
func (a *answer) settle() {
	if choice, ok := a.widget.(*huh.Select[string]); ok {
		if hovered, found := choice.Hovered(); found {
			a.text = hovered
		}
	}
}

// suggest offers values to pick from.
func (a *answer) suggest(values []string) {
	a.offered = values
	if a.field.Type != spec.Choice && a.field.Type != spec.Choices {
		for _, choice := range a.choices {
			if !slices.Contains(a.offered, choice) {
				a.offered = append(a.offered[:len(a.offered):len(a.offered)], choice)
			}
		}
	}
	if input, ok := a.widget.(*huh.Input); ok && len(a.offered) > 0 {
		input.Suggestions(a.offered)
	}
}

// matching is the offered values that hold what was typed, without the one typed.
func (a *answer) matching() []string {
	var found []string
	for _, value := range a.offered {
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

// lost reports whether the filter matches no choice.
func (a *answer) lost() bool {
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
	a.dress(s)
	_ = a.apply(draft)
}
