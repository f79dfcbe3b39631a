package newrun

import (
	"context"
	"slices"

	"aibox/internal/prompts"
	"aibox/internal/termtext"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// library is the list of prompts that the user can put before the task or insert into it.
type library struct {
	prompts  []prompts.Prompt
	selected []string // names of those that go before the task
	open     bool
	cursor   cursor.Cursor
	err      error // why prompts are not listed
	series   page.Latest
}

type promptsListed struct {
	prompts []prompts.Prompt
	err     error
}

// list lists the prompts again, since a file may have been added. Answers about another
// repository are dropped.
func (l *library) list(ctx context.Context, places Places, top string) tea.Cmd {
	return l.series.Replace(func() tea.Msg {
		all, err := places.Prompts(ctx, top)
		return promptsListed{all, err}
	})
}

// set sets the prompts. It keeps the earlier ones when they cannot be listed.
func (l *library) set(msg promptsListed) {
	if l.err = msg.err; l.err == nil {
		l.prompts = msg.prompts
	}
}

// reset forgets the prompts of another repository.
func (l *library) reset() {
	l.series.Cancel()
	l.prompts, l.err = nil, nil
}

func (l *library) show() {
	l.open = true
	l.cursor.Go(0)
}

// press handles a key. It returns the text of a prompt that goes into the task; empty for
// none.
func (l *library) press(msg tea.KeyPressMsg, toggle key.Binding) (text string) {
	switch {
	case msg.String() == "esc", key.Matches(msg, toggle), msg.String() == "q":
		l.open = false
	case l.cursor.At() >= len(l.prompts):
	case msg.String() == "enter", msg.String() == "space":
		l.toggle(l.prompts[l.cursor.At()])
	case msg.String() == "i":
		l.open = false
		return l.prompts[l.cursor.At()].Text
	default:
		l.cursor.Press(msg)
	}
	return ""
}

// click moves to a row. A second click toggles its prompt.
func (l *library) click(row int) {
	before := l.cursor.At()
	if l.cursor.Click(row) && l.cursor.At() == before && before < len(l.prompts) {
		l.toggle(l.prompts[before])
	}
}

// toggle puts a prompt before the task, or removes it.
func (l *library) toggle(p prompts.Prompt) {
	if i := slices.Index(l.selected, p.Name); i >= 0 {
		l.selected = slices.Delete(slices.Clone(l.selected), i, i+1)
		return
	}
	l.selected = append(slices.Clip(l.selected), p.Name)
}

func (l *library) view(t theme.Theme, width int) []string {
	out := []string{frame.Ends(width, t.Title.Render("Prompts")+t.Faint.Render("  marked prompts go before the task"), t.Faint.Render(l.cursor.Position()))}
	if l.err != nil {
		out = append(out, t.Bad.Render(ansi.Truncate("✗ "+termtext.Escape(l.err.Error()), width, "…")))
	}
	if len(l.prompts) == 0 {
		return append(out, "", "No prompts yet. `aibox prompts edit NAME` creates one.")
	}
	from, to := l.cursor.Window()
	for i := from; i < to && i < len(l.prompts); i++ {
		p := l.prompts[i]
		mark := "[ ] "
		if slices.Contains(l.selected, p.Name) {
			mark = "[x] "
		}
		line := mark + frame.Pad(p.Name, 20) + " " + frame.Pad(string(p.Source), 10) + " " + termtext.Escape(p.Title())
		if i == l.cursor.At() {
			line = t.Selected.Render(frame.Pad(cursor.Mark+" "+line, width))
		} else {
			line = "  " + line
		}
		out = append(out, line)
	}
	return out
}
