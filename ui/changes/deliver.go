package changes

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/page"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// deliver is the last question: where the work goes, and with which message.
type deliver struct {
	target   review.Target
	proposed string
	message  textarea.Model
	since    time.Time
}

// newArea is a field for some lines of text.
func newArea(value string) textarea.Model {
	area := textarea.New()
	area.SetValue(value)
	area.ShowLineNumbers = false
	area.Prompt = ""
	styles := area.Styles()
	styles.Cursor.Blink = false // an idle screen stays idle
	area.SetStyles(styles)
	area.Focus()
	return area
}

func (d *deliver) resize(width, height int) {
	d.message.SetWidth(max(20, min(72, width-8)))
	d.message.SetHeight(max(2, min(8, height-14)))
}

func (d *deliver) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	d.message, cmd = d.message.Update(msg)
	return cmd
}

// planned brings what the chosen part is, for the last question.
type planned struct {
	message string // proposed for the commit
	err     error
}

// plan looks at the chosen part, to ask the last question, unless nothing is taken.
func (m *Model) plan() tea.Cmd {
	choice := m.chosen()
	if choice.Empty() {
		m.note.Say("nothing is taken yet: y takes a hunk, Y a file, A all but the risky ones", nil)
		return nil
	}
	m.busy = "putting the parts together…"
	ctx, sessions, of, set := m.ctx, m.sessions, m.session, m.set
	return func() tea.Msg {
		selection, err := set.Select(ctx, choice)
		if err != nil {
			return planned{err: err}
		}
		part, err := set.Part(ctx, selection)
		switch {
		case fault.KindOf(err) == fault.Conflict:
			part = set // what was taken before may be what is missing; Accept knows
		case err != nil:
			return planned{err: err}
		}
		verifications, err := sessions.Verifications(of.ID)
		return planned{session.Describe(of, part, verifications).Message, err}
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
	m.deliver = &deliver{proposed: msg.message, message: newArea(m.message), since: m.now()}
	m.deliver.resize(m.width, m.height)
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
		d.target = (d.target + 1) % 2
		return nil
	case "ctrl+s":
		if m.now().Sub(d.since) < dialog.Grace {
			return nil
		}
		m.deliver, m.message, m.busy = nil, d.message.Value(), "delivering…"
		return m.accept(review.AcceptOptions{Choice: m.chosen(), Target: d.target, Message: d.message.Value()})
	}
	return d.update(msg)
}

// accept delivers, and keeps what was rejected for the agent.
func (m *Model) accept(opts review.AcceptOptions) tea.Cmd {
	ctx, sessions, id, refused := m.ctx, m.sessions, m.session.ID, m.refused()
	opts.Verify = sessions.Verifier(m.session, session.VerifyRequest{})
	return func() tea.Msg {
		accepted, err := sessions.Accept(ctx, id, opts)
		if err == nil && len(refused) > 0 {
			err = sessions.Reject(ctx, id, refused, "")
		}
		return delivered{accepted, err}
	}
}

// finish tells what became of the accept. After a failure everything decided is as it
// was.
func (m *Model) finish(msg delivered) tea.Cmd {
	m.busy = ""
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	a := msg.accepted
	said := fmt.Sprintf("%s accepted on branch %s", amount.Of(a.Files, "file"), name(a.Branch))
	if a.Target == review.ToWorktree {
		said = amount.Of(len(a.Paths), "file") + " written to your working tree"
	}
	return page.Leave(said, nil)
}

// deliverView is the framed question.
func (m *Model) deliverView() string {
	d, t := m.deliver, m.tally()
	where := "a commit on a new branch; your working tree, index and HEAD stay as they are"
	if d.target == review.ToWorktree {
		where = "the files of your working tree, all or nothing; index and HEAD stay as they are"
	}
	lines := []string{m.theme.Title.Render("Accept into " + d.target.String()), ""}
	lines = append(lines, strings.Split(ansi.Wrap(where, d.message.Width(), ""), "\n")...)
	lines = append(lines, "", m.summary(t), "", d.message.View(), "",
		m.theme.Key.Render("ctrl+s")+" accept · "+m.theme.Key.Render("ctrl+t")+" branch or working tree · "+m.theme.Key.Render("esc")+" back")
	return m.theme.Dialog.Render(strings.Join(lines, "\n"))
}

// summary is what accepting would do now.
func (m *Model) summary(t tally) string {
	parts := []string{m.theme.Good.Render(fmt.Sprintf("%d of %s taken", t.taken, amount.Of(t.files, "file")))}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.partly, "in part")
	add(t.rejected, "rejected")
	add(t.open, "undecided")
	if t.risky > 0 {
		parts = append(parts, m.theme.Warn.Render(fmt.Sprintf("%d risky", t.risky)))
	}
	return strings.Join(parts, " · ")
}
