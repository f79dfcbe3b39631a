package compare

import (
	"fmt"
	"reflect"
	"strings"

	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/session/manager"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

// acceptText describes an accept.
func acceptText(member *comparison.Member) string {
	return fmt.Sprintf("Commits its %s (+%d -%d), except risky files, to the branch aibox/%s. Your files and branches stay unchanged.",
		amount.Of(member.Files, "changed file"), member.Added, member.Deleted, member.ID)
}

// accept accepts a member's work on the whole terminal.
func accept(id session.ID) tea.Cmd {
	return page.Ask(page.Accept(id))
}

func (m *Model) askAccept(member *comparison.Member) {
	m.confirm("Accept "+string(member.ID)+"?", acceptText(member), "accept", accept(member.ID))
}

// askChoose asks whether to accept one member and to discard the others.
func (m *Model) askChoose(member *comparison.Member) {
	id, rest := member.ID, m.rest(member.ID)
	them := "them"
	if len(rest) == 1 {
		them = "it"
	}
	text := acceptText(member) + "\n\nThen discards " + joinIDs(rest) + ". You can restore " + them + " for 30 days."
	m.confirm("Accept "+string(id)+" and discard "+amount.Of(len(rest), "other")+"?", text, "accept", m.choose(id, rest))
}

func (m *Model) askDiscard(member *comparison.Member) {
	m.confirm("Discard "+string(member.ID)+"?", "Removes its workspace. You can restore it for 30 days.", "discard",
		m.discard([]session.ID{member.ID}, string(member.ID)+" is discarded; `aibox recover` restores it"))
}

// chosen is a member that the user accepts to discard others.
type chosen struct {
	id     session.ID
	drops  []session.ID
	before *manager.Decisions // on the member's work, before the acceptance
	err    error
}

// choose reads what was accepted of a member so far, before more is accepted.
func (m *Model) choose(id session.ID, drops []session.ID) tea.Cmd {
	sessions := m.sessions
	return func() tea.Msg {
		before, err := sessions.Decisions(id)
		return chosen{id, drops, before, err}
	}
}

// acceptChosen accepts the member that the user has chosen, unless another screen was opened in the
// meantime: requests of a covered screen are dropped.
func (m *Model) acceptChosen(c chosen) tea.Cmd {
	if c.err != nil {
		m.note.Say("", c.err)
		return nil
	}
	if m.covered {
		m.note.Say("nothing of "+string(c.id)+" was accepted, as another screen was opened; choose it again", nil)
		return nil
	}
	m.accepting = &c
	return accept(c.id)
}

// dropRest discards the other members after one was accepted. If the acceptance failed or
// was canceled, it discards nothing. A command that fails reports that itself, so only new
// decisions on the member's work show that it succeeded.
func (m *Model) dropRest(failed error) tea.Cmd {
	c := m.accepting
	m.accepting = nil
	if c == nil || failed != nil {
		return nil
	}
	sessions, discard := m.sessions, m.discard(c.drops, amount.Of(len(c.drops), "other session")+" discarded; `aibox recover` restores them")
	return func() tea.Msg {
		now, err := sessions.Decisions(c.id)
		if err != nil || reflect.DeepEqual(now, c.before) {
			return discarded{text: "nothing of " + string(c.id) + " was accepted now, so nothing was discarded", err: err}
		}
		return discard()
	}
}

// discard discards the work of sessions.
func (m *Model) discard(ids []session.ID, done string) tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg {
		for _, id := range ids {
			if _, err := sessions.Discard(ctx, id); err != nil {
				return discarded{err: fmt.Errorf("discarding %s: %w", id, err)}
			}
		}
		return discarded{text: done}
	}
}

// maxNamed is the maximum number of ids that a question names.
const maxNamed = 6

// joinIDs joins the first ids.
func joinIDs(ids []session.ID) string {
	words := make([]string, 0, maxNamed+1)
	for i, id := range ids {
		if i == maxNamed {
			words = append(words, fmt.Sprintf("and %d more", len(ids)-maxNamed))
			break
		}
		words = append(words, string(id))
	}
	return strings.Join(words, ", ")
}
