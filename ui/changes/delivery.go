package changes

import (
	"errors"
	"fmt"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"aibox/review/accept"
	"aibox/review/worktree"
)

// deliver is the last question: where the work goes, and with which message.
type deliver struct {
	proposed string
	part     *review.ChangeSet // what is taken, as a change set of its own
	plan     *worktree.Plan
	message  textarea.Model
	since    time.Time
}

// newArea is a field for some lines of text.
func newArea(value string) textarea.Model {
	area := keymap.Area()
	area.SetValue(value)
	area.Focus()
	return area
}

func (d *deliver) resize(width, height int) {
	if d != nil {
		d.message.SetWidth(max(20, min(72, width-8)))
		d.message.SetHeight(max(2, min(8, height-14)))
	}
}

func (d *deliver) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	d.message, cmd = d.message.Update(msg)
	return cmd
}

// planned brings what the chosen part is, for the last question.
type planned struct {
	sent
	part    *review.ChangeSet
	plan    *worktree.Plan // nil where the working tree cannot be looked at
	message string         // proposed for the commit
	err     error
}

// plan looks at the chosen part, to ask the last question. When nothing is taken the
// question is whether what was rejected is kept.
func (m *Model) plan() tea.Cmd {
	choice := m.chosen()
	switch {
	case choice.Empty() && m.tally.rejected+m.tally.partly > 0:
		m.askToKeep()
		return nil
	case choice.Empty():
		m.note.Say("nothing is taken yet: y takes a hunk, Y a file, A all but the risky ones", nil)
		return nil
	case m.check != nil && m.check.running:
		m.note.Say("a verification goes on: v shows it", nil)
		return nil
	}
	if err := m.session.Deliverable(); err != nil {
		m.note.Say("", err)
		return nil
	}
	m.busy = "putting the parts together…"
	ctx, services, of, set, to := m.ctx, m.services, m.session, m.set, m
	return func() tea.Msg {
		msg := planned{sent: sent{to}}
		selection, err := set.Select(ctx, choice)
		if err == nil {
			msg.part, err = set.Outline(ctx, selection)
		}
		if err != nil {
			return planned{sent: sent{to}, err: err}
		}
		verifications, err := services.Verifications(of.ID)
		msg.message, msg.err = session.Describe(of, msg.part, verifications).Message, err
		msg.plan, _ = services.PlanWorktree(ctx, of.ID, set, choice) // what is wrong is told when it is asked for
		return msg
	}
}

// question asks the last question. What the person has written stays.
func (m *Model) question(msg planned) {
	m.busy = ""
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	if m.message == "" {
		m.message = msg.message
	}
	m.deliver = &deliver{proposed: msg.message, part: msg.part, plan: msg.plan, message: newArea(m.message), since: m.now()}
	m.deliver.resize(m.width, m.height)
}

// turn chooses the other target.
func (m *Model) turn() {
	m.target = (m.target + 1) % 2
	m.decided()
}

// delivering is a key while the last question is open.
func (m *Model) delivering(msg tea.KeyPressMsg) tea.Cmd {
	d := m.deliver
	switch msg.String() {
	case "esc", "ctrl+c":
		m.deliver, m.message = nil, d.message.Value()
		if m.message == d.proposed {
			m.message = "" // for another choice it is another
		}
		return nil
	case "ctrl+t":
		m.turn()
		return nil
	case "ctrl+e":
		return m.edit()
	case "ctrl+s":
		if m.now().Sub(d.since) < dialog.Grace {
			return nil
		}
		m.deliver, m.message, m.busy = nil, d.message.Value(), "delivering…"
		return m.accept(accept.Options{Choice: m.chosen(), Target: m.target, Message: d.message.Value()})
	}
	if m.target == accept.ToWorktree {
		return nil // there is no message
	}
	return d.update(msg)
}

// delivered says what became of an accept.
type delivered struct {
	sent
	accepted *accept.Result
	err      error
	unkept   error // why what was rejected is not kept
}

// accept delivers, and keeps what was rejected for the agent.
func (m *Model) accept(opts accept.Options) tea.Cmd {
	ctx, services, id, set, to, keep := m.ctx, m.services, m.session.ID, m.set, m, m.keeper()
	opts.Verify = services.Verifier(m.session, m.request)
	return func() tea.Msg {
		msg := delivered{sent: sent{to}}
		if msg.accepted, msg.err = services.AcceptSet(ctx, id, set, opts); msg.err == nil {
			_, msg.unkept = keep()
		}
		return msg
	}
}

// keeper is what keeps the rejections, and tells how many they are. It reads the files
// that were rejected without a look.
func (m *Model) keeper() func() (int, error) {
	ctx, services, id, set, refused := m.ctx, m.services, m.session.ID, m.set, m.refused()
	var unread []review.Path
	for _, f := range m.files {
		if d, _ := f.sum(); d == rejected && len(f.hunks) == 0 {
			unread = append(unread, f.change.Path)
		}
	}
	return func() (int, error) {
		if len(unread) > 0 {
			err := set.Files(ctx, func(d review.FileDiff) error {
				for i := range d.Hunks {
					refused = append(refused, d.Hunks[i].ID)
				}
				return nil
			}, unread...)
			if err != nil {
				return 0, err
			}
		}
		if len(refused) == 0 {
			return 0, nil
		}
		return len(refused), services.Reject(ctx, id, refused, "")
	}
}

// askToKeep asks whether what was rejected is kept for the agent, when nothing is
// taken.
func (m *Model) askToKeep() {
	keep, id, to := m.keeper(), m.session.ID, m
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Keep what you rejected?", Yes: "keep it",
		Text: fmt.Sprintf("Nothing is taken. What you rejected is kept for the agent: `aibox run --resume %s` tells it.", id),
		Do: func() tea.Msg {
			n, err := keep()
			if err != nil {
				return delivered{sent: sent{to}, err: err}
			}
			return page.Close{Text: fmt.Sprintf("%s rejected: `aibox run --resume %s` tells the agent", amount.Of(n, "hunk"), id)}
		},
	}, m.now())
}

// finish tells what became of the accept. After a failure everything decided is as it
// was.
func (m *Model) finish(msg delivered) tea.Cmd {
	m.busy = ""
	if clash, ok := errors.AsType[*worktree.ConflictError](msg.err); ok {
		m.conflict = newConflict(m, clash)
		return nil
	}
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	a := msg.accepted
	said := amount.Of(a.Files, "file") + " accepted on branch " + termtext.Escape(a.Branch)
	for _, sub := range a.Modules {
		said += fmt.Sprintf(", and branch %s in submodule %s", termtext.Escape(sub.Branch), sub.Path)
	}
	if a.Target == accept.ToWorktree {
		said = amount.Of(len(a.Paths), "file") + " written to your working tree"
	}
	if msg.unkept != nil {
		said += "; what was rejected is not kept: " + termtext.Escape(msg.unkept.Error())
	}
	return page.Leave(said, nil)
}
