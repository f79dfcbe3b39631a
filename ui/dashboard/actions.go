package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// act handles a key that acts on the marked sessions, or on the selected one. It asks before
// an action that no key can undo.
func (m *Model) act(msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.stop):
		m.askStop(m.list.able(summary.NeedsStop))
	case key.Matches(msg, k.discard):
		m.askDiscard(m.list.able(summary.NeedsDiscard))
	case key.Matches(msg, k.restore):
		m.askRestore(m.list.able(summary.NeedsRestore))
	case key.Matches(msg, k.remove):
		m.askRemove(m.list.able(summary.NeedsRemove))
	case key.Matches(msg, k.compare):
		return page.Ask(m.compared())
	case key.Matches(msg, k.newRun):
		return page.Ask(page.NewRun{})
	default:
		if b := m.list.current(); b != nil {
			return m.actOn(b, msg)
		}
	}
	return nil
}

// forSelected reports whether a key acts on the selected session, without a question. If that was
// selected by itself just now, the key was pressed for another one.
func (m *Model) forSelected(msg tea.KeyPressMsg) bool {
	k := newKeys() // those of m are disabled if they do not apply to the one that is selected now
	return key.Matches(msg, k.attach, k.open, k.read, k.review, k.again, k.sendBack, k.fork, k.diff, k.accept, k.network, k.enter,
		k.ports, k.snapshot, k.workspace, k.copy, k.mark) || key.Matches(msg, k.compare) && len(m.list.markedRows()) < 2
}

// actOn handles a key that acts on one session.
func (m *Model) actOn(b *summary.Summary, msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.attach, k.open):
		return m.open(b)
	case key.Matches(msg, k.read):
		return page.Ask(page.Session{ID: b.ID})
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: b.ID})
	case key.Matches(msg, k.again):
		return page.Ask(page.NewRun{Again: b.ID})
	case key.Matches(msg, k.sendBack):
		return page.Ask(page.SendBack{ID: b.ID})
	case key.Matches(msg, k.fork):
		return page.Ask(page.SendBack{ID: b.ID, Fork: true})
	case key.Matches(msg, k.diff):
		return page.Ask(page.Diff(b.ID))
	case key.Matches(msg, k.accept):
		m.askAccept(b)
	case key.Matches(msg, k.network):
		return page.Ask(page.Network{ID: b.ID})
	case key.Matches(msg, k.enter):
		return page.Ask(page.Shell(b.ID))
	case key.Matches(msg, k.ports):
		return page.Ask(page.Ports{ID: b.ID})
	case key.Matches(msg, k.snapshot):
		return page.Ask(page.Snapshots{Take: b.ID})
	case key.Matches(msg, k.workspace):
		return page.Ask(page.Workspace(b.ID))
	case key.Matches(msg, k.copy):
		command := commandFor(b)
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	default:
		m.refuse(msg)
	}
	return nil
}

// compared returns the sessions to compare: the marked ones in the list, or the batch of the
// selected one. It is zero if there are none.
func (m *Model) compared() page.Compare {
	if marked := m.list.markedRows(); len(marked) > 1 {
		ids := make([]string, 0, len(marked))
		for _, b := range marked {
			ids = append(ids, string(b.ID))
		}
		slices.Sort(ids)
		return page.Compare{IDs: strings.Join(ids, ",")}
	}
	if b := m.list.current(); b != nil {
		return page.Compare{Batch: b.Batch}
	}
	return page.Compare{}
}

// open opens a session: its agent's terminal if that can be attached to, else its output.
func (m *Model) open(b *summary.Summary) tea.Cmd {
	if b.Actions().Attach {
		return page.Ask(page.Attach(b.ID))
	}
	return page.Ask(page.Session{ID: b.ID})
}

// commandFor returns the most useful command line for a session.
func commandFor(b *summary.Summary) string {
	switch {
	case b.Phase != session.Ended:
		return "aibox attach " + string(b.ID)
	case b.Open():
		return "aibox diff " + string(b.ID)
	default:
		return "aibox logs " + string(b.ID)
	}
}

// askAccept asks whether to accept all changes of a session except risky files. The command
// reports the result.
func (m *Model) askAccept(b *summary.Summary) {
	text := fmt.Sprintf("Commits the open changes of its %s (+%d -%d), except risky files, to the branch aibox/%s. "+
		"Your files and branches stay unchanged.", amount.Of(b.Files, "changed file"), b.Added, b.Deleted, b.ID)
	m.confirm("Accept "+string(b.ID)+"?", text, "accept", page.Ask(page.Accept(b.ID)))
}

func (m *Model) askStop(of []*summary.Summary) {
	m.confirmAll("Stop", of, "Asks its agent to exit, then kills it. The work so far is kept.",
		"Asks their agents to exit, then kills them. The work so far is kept.", "have ended", m.sessions.stop)
}

func (m *Model) askDiscard(of []*summary.Summary) {
	files, added, deleted := 0, 0, 0
	for _, b := range of {
		files, added, deleted = files+b.Files, added+b.Added, deleted+b.Deleted
	}
	work := fmt.Sprintf("%s (+%d -%d)", amount.Of(files, "changed file"), added, deleted)
	m.confirmAll("Discard", of, "Removes its workspace with "+work+". You can restore it (u) for 30 days.",
		"Removes their workspaces with "+work+". You can restore them (u) for 30 days.",
		"are discarded; u or `aibox recover` restores them", m.sessions.discard)
}

func (m *Model) askRestore(of []*summary.Summary) {
	m.confirmAll("Restore", of, "Restores its workspace as you discarded it, except for ignored files. You can review it then.",
		"Restores their workspaces as you discarded them, except for ignored files. You can review them then.",
		"are restored and ready for review", m.sessions.restore)
}

func (m *Model) askRemove(of []*summary.Summary) {
	m.confirmAll("Remove", of, "Removes its record, its output and its workspace.",
		"Removes their records, their output and their workspaces.", "are removed", m.sessions.remove)
}

// most is the maximum number of ids that a question names.
const most = 6

// confirmAll asks whether to run an action on some sessions. verb starts the title, one and
// many describe what the action does to one or several sessions, and done the result.
func (m *Model) confirmAll(verb string, of []*summary.Summary, one, many, done string, do action) {
	if len(of) == 0 {
		return
	}
	ids := make([]session.ID, len(of))
	for i, b := range of {
		ids[i] = b.ID
	}
	target, text := string(ids[0]), one
	if len(ids) > 1 {
		target, text = amount.Of(len(ids), "session"), joinIDs(ids)+"\n\n"+many
	}
	if left := len(m.list.chosen()) - len(ids); left > 0 {
		text += " This does not apply to " + amount.Of(left, "other marked session") + "."
	}
	m.confirm(verb+" "+target+"?", text, strings.ToLower(verb), m.each(ids, done, do))
}

// joinIDs joins the first ids.
func joinIDs(ids []session.ID) string {
	words := make([]string, 0, most+1)
	for i, id := range ids {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		words = append(words, string(id))
	}
	return strings.Join(words, ", ")
}

// action runs a use case on a session.
type action func(ctx context.Context, id session.ID) error

// each runs an action on sessions, one after another, and reports the results.
func (m *Model) each(ids []session.ID, done string, do action) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		var first error
		var succeeded []session.ID
		for _, id := range ids {
			err := do(ctx, id)
			if err == nil {
				succeeded = append(succeeded, id)
			} else if first == nil {
				first = err
			}
		}
		switch failed := len(ids) - len(succeeded); {
		case first != nil && len(ids) > 1:
			return actionDone{err: fmt.Errorf("%d of %d failed: %w", failed, len(ids), first), done: succeeded}
		case first != nil:
			return actionDone{err: first}
		case len(ids) == 1:
			return actionDone{text: string(ids[0]) + " " + singular(done), done: succeeded}
		default:
			return actionDone{text: amount.Of(len(ids), "session") + " " + done, done: succeeded}
		}
	}
}

// singular turns a text about several sessions into one about one session.
func singular(done string) string {
	return strings.NewReplacer("have ", "has ", "are ", "is ", "them", "it").Replace(done)
}

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

// service adapts use cases to actions.
type service struct{ Sessions }

func (s service) stop(ctx context.Context, id session.ID) error {
	_, err := s.Stop(ctx, id, "stopped in the terminal UI")
	return err
}

func (s service) discard(ctx context.Context, id session.ID) error {
	_, err := s.Discard(ctx, id)
	return err
}

func (s service) restore(ctx context.Context, id session.ID) error { return s.RestoreNewest(ctx, id) }

func (s service) remove(ctx context.Context, id session.ID) error { return s.Remove(ctx, id, false) }
