package approvals

import (
	"slices"

	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
)

// choice is a button of a question.
type choice struct {
	answer session.Answer // empty: decide later
	label  string         // escaped
	key    key.Binding
}

var (
	accept       = keymap.Bind("yes", "y")
	refuse       = keymap.Bind("no", "n")
	postpone     = keymap.Bind("later", "esc", "q", "ctrl+c")
	allowOnce    = keymap.Bind("allow once", "o")
	allowSession = keymap.Bind("allow for this session", "s")
	allowAlways  = keymap.Bind("allow always", "a")
	deny         = keymap.Bind("deny", "d")
)

// answerKeys are the keys that answer a question, or close it.
var answerKeys = []key.Binding{accept, refuse, postpone, allowOnce, allowSession, allowAlways, deny}

// choicesOf returns the buttons of a question. The first one decides nothing.
func (m *Model) choicesOf(r *session.Request) []choice {
	all := []choice{{"", "later (esc)", postpone}}
	if r.What != session.RequestAccess {
		return append(all,
			choice{session.AnswerNo, termtext.Escape(r.No) + " (n)", refuse},
			choice{session.AnswerYes, termtext.Escape(r.Yes) + " (y)", accept})
	}
	all = append(all, choice{session.AnswerOnce, "once (o)", allowOnce}, choice{session.AnswerSession, "this session (s)", allowSession})
	if m.Remember != nil {
		all = append(all, choice{session.AnswerAlways, "always (a)", allowAlways})
	}
	return append(all, choice{session.AnswerDeny, "deny (d)", deny})
}

// bindings returns the keys of the open question's choices.
func (m *Model) bindings() []key.Binding {
	if m.shown.What != session.RequestAccess {
		return slices.Concat([]key.Binding{accept, refuse, postpone}, m.scroll.Keys(), []key.Binding{toggle})
	}
	var keys []key.Binding
	for _, c := range m.choicesOf(m.shown)[1:] {
		keys = append(keys, c.key)
	}
	return append(keys, postpone, toggle)
}
