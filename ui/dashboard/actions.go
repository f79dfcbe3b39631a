package dashboard

import (
	"context"
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// act does what a key asks for with the selected session, or with those that
// are marked. What cannot be taken back by a key asks first.
func (m *Model) act(msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.stop):
		m.askStop(m.list.able(canStop))
	case key.Matches(msg, k.discard):
		m.askDiscard(m.list.able(canDiscard))
	case key.Matches(msg, k.back):
		m.askBringBack(m.list.able(canBringBack))
	case key.Matches(msg, k.remove):
		m.askRemove(m.list.able(canRemove))
	case key.Matches(msg, k.newRun):
		return page.Ask(page.NewRun{})
	default:
		if b := m.list.current(); b != nil {
			return m.actOn(b, msg)
		}
	}
	return nil
}

// actOn does what concerns one session alone.
func (m *Model) actOn(b *session.Summary, msg tea.KeyPressMsg) tea.Cmd {
	k := m.keys
	switch {
	case key.Matches(msg, k.attach, k.attend):
		return m.open(b)
	case key.Matches(msg, k.read):
		return page.Ask(page.Session{ID: b.ID})
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: b.ID})
	case key.Matches(msg, k.again):
		return page.Ask(page.NewRun{Again: b.ID})
	case key.Matches(msg, k.diff):
		return page.Ask(page.Command{Args: []string{"diff", string(b.ID)}, Wait: true})
	case key.Matches(msg, k.accept):
		m.askAccept(b)
	case key.Matches(msg, k.network):
		return page.Ask(page.Network{ID: b.ID})
	case key.Matches(msg, k.shell):
		return page.Ask(page.Command{Args: []string{"workspace", string(b.ID)}})
	case key.Matches(msg, k.copy):
		command := commandFor(b)
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	}
	return nil
}

// open goes to a session: to its agent's terminal where that is alive, else to what
// it said and says.
func (m *Model) open(b *session.Summary) tea.Cmd {
	if b.Actions().Attach {
		return page.Ask(page.Command{Args: []string{"attach", string(b.ID)}})
	}
	return page.Ask(page.Session{ID: b.ID})
}

// commandFor returns the command line that continues with a session.
func commandFor(b *session.Summary) string {
	switch {
	case b.Phase != session.Ended:
		return "aibox attach " + string(b.ID)
	case b.Open():
		return "aibox diff " + string(b.ID)
	default:
		return "aibox logs " + string(b.ID)
	}
}

// askAccept asks whether to take a session's work as a whole; the command says what
// became of it, and what it left out.
func (m *Model) askAccept(b *session.Summary) {
	text := fmt.Sprintf("What is open of its %s (+%d -%d), but for files with risks, becomes a commit on the branch aibox/%s. "+
		"Your files and branches stay as they are.", amount.Of(b.Files, "changed file"), b.Added, b.Deleted, b.ID)
	m.confirm("Accept "+string(b.ID)+"?", text, "accept", page.Ask(page.Command{Args: []string{"accept", string(b.ID)}, Wait: true}))
}

func (m *Model) askStop(of []*session.Summary) {
	m.confirmAll("Stop", of, "Its agent is asked to end, then ended. What it did so far is kept.",
		"Their agents are asked to end, then ended. What they did so far is kept.", "have ended", m.sessions.stop)
}

func (m *Model) askDiscard(of []*session.Summary) {
	files, added, deleted := 0, 0, 0
	for _, b := range of {
		files, added, deleted = files+b.Files, added+b.Added, deleted+b.Deleted
	}
	work := fmt.Sprintf("%s (+%d -%d)", amount.Of(files, "changed file"), added, deleted)
	m.confirmAll("Discard", of, "Its workspace with "+work+" is removed. It can be brought back (u) for 30 days.",
		"Their workspaces with "+work+" are removed. They can be brought back (u) for 30 days.",
		"are discarded; u or `aibox recover` brings them back", m.sessions.discard)
}

func (m *Model) askBringBack(of []*session.Summary) {
	m.confirmAll("Bring back", of, "Its workspace is restored as it was when you discarded it, except for ignored files. Then it waits for your review.",
		"Their workspaces are restored as they were when you discarded them, except for ignored files. Then they wait for your review.",
		"are back, to be reviewed", m.sessions.bringBack)
}

func (m *Model) askRemove(of []*session.Summary) {
	m.confirmAll("Remove", of, "Its record, its output and its workspace are removed.",
		"Their records, their output and their workspaces are removed.", "are removed", m.sessions.remove)
}

// most is how many ids a question names.
const most = 6

// confirmAll asks whether to do something with each of some sessions. verb is the
// title's, one and many say what will happen, and done what has.
func (m *Model) confirmAll(verb string, of []*session.Summary, one, many, done string, do action) {
	if len(of) == 0 {
		return
	}
	ids := make([]session.ID, len(of))
	for i, b := range of {
		ids[i] = b.ID
	}
	what, text := string(ids[0]), one
	if len(ids) > 1 {
		what, text = amount.Of(len(ids), "session"), joinIDs(ids)+"\n\n"+many
	}
	if left := len(m.list.chosen()) - len(ids); left > 0 {
		text += fmt.Sprintf(" With %d more of the marked ones this cannot be done; they stay as they are.", left)
	}
	m.confirm(verb+" "+what+"?", text, strings.ToLower(verb), m.each(ids, done, do))
}

// joinIDs lists ids.
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

// action is something that is done with a session.
type action func(ctx context.Context, id session.ID) error

// each does something with sessions, one after another, and says what became of it.
func (m *Model) each(ids []session.ID, done string, do action) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		var first error
		var did []session.ID
		for _, id := range ids {
			err := do(ctx, id)
			if err == nil {
				did = append(did, id)
			} else if first == nil {
				first = err
			}
		}
		switch failed := len(ids) - len(did); {
		case first != nil && len(ids) > 1:
			return actionDone{err: fmt.Errorf("%d of %d failed: %w", failed, len(ids), first), done: did}
		case first != nil:
			return actionDone{err: first}
		case len(ids) == 1:
			return actionDone{said: string(ids[0]) + " " + singular(done), done: did}
		default:
			return actionDone{said: amount.Of(len(ids), "session") + " " + done, done: did}
		}
	}
}

// singular returns what is said of several, said of one.
func singular(done string) string {
	return strings.NewReplacer("have ", "has ", "are ", "is ", "them", "it").Replace(done)
}

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

// answer handles a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
		m.note.Say(yes.Yes+"…", nil)
		return yes.Do
	}
	return nil
}

// service is the use cases, as deeds.
type service struct{ Sessions }

func (s service) stop(ctx context.Context, id session.ID) error {
	_, err := s.Stop(ctx, id, "stopped in the terminal UI")
	return err
}

func (s service) discard(ctx context.Context, id session.ID) error {
	_, err := s.Discard(ctx, id)
	return err
}

func (s service) bringBack(ctx context.Context, id session.ID) error { return s.RestoreNewest(ctx, id) }

func (s service) remove(ctx context.Context, id session.ID) error { return s.Remove(ctx, id, false) }
