package network

import (
	"context"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// hostChanged is the result of allowing or denying a host.
type hostChanged struct {
	text string // escaped
	err  error
}

// changeHost allows or denies the selected host and port until its session ends. It ignores a key
// that was pressed for another host: the selection follows new requests, which a sandbox makes when
// it wants.
func (m *Model) changeHost(deny bool) tea.Cmd {
	a, _ := m.current()
	if m.clock().Sub(m.turned) < dialog.Grace {
		m.note.Say("another request was selected just now, so nothing is changed; press the key again", nil)
		return nil
	}
	ctx, sessions := m.ctx, m.sessions
	m.note.Say("changing the policy of "+string(a.Session)+"…", nil)
	return func() tea.Msg { return changePolicy(ctx, sessions, a, deny) }
}

func changePolicy(ctx context.Context, sessions Sessions, a auditlog.Access, deny bool) hostChanged {
	change := session.PolicyChange{Allow: []string{a.Target}, Reason: "the network screen"}
	text := " is allowed until " + string(a.Session) + " ends"
	if deny {
		change.Allow, change.Deny = nil, change.Allow
		text = " is denied until " + string(a.Session) + " ends"
	}
	changed, err := sessions.ChangePolicy(ctx, a.Session, change)
	if err != nil {
		return hostChanged{err: err}
	}
	if changed.Closed > 0 {
		text += "; closed " + amount.Of(changed.Closed, "connection")
	}
	return hostChanged{text: termtext.Escape(a.Target) + text}
}

// askToAllow asks whether to allow the selected host and port later, too.
func (m *Model) askToAllow() {
	a, _ := m.current()
	ctx, sessions, remember := m.ctx, m.sessions, m.Remember
	target := termtext.Escape(a.Target)
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Allow " + target + " always?", Yes: "allow",
		Text: "It is allowed for " + string(a.Session) + " while that runs, and added to the allow list of your settings, for new sessions under the policy allowlist.",
		Do: func() tea.Msg {
			file, err := remember(ctx, a.Session, a.Target)
			if err != nil {
				return hostChanged{err: err}
			}
			result := changePolicy(ctx, sessions, a, false)
			if result.err != nil { // the session has ended, or uses no list
				return hostChanged{text: target + " is added to the allow list in " + termtext.Escape(file)}
			}
			result.text += ", and added to the allow list in " + termtext.Escape(file)
			return result
		},
	}, time.Now())
}
