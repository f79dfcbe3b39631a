package changes

import (
	"context"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/session/output"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// maxPrinted is how many lines of a verification are kept for the screen.
const maxPrinted = 2000

// check is a verification: the question for its command, then what it prints.
type check struct {
	field   *textinput.Model // while it is asked for
	part    bool             // of what is taken alone
	any     bool             // something is taken
	command string
	hidden  bool
	running bool
	stop    context.CancelFunc
	printed <-chan string
	lines   []string
	last    bool // the last line may go on
	back    int  // lines that are scrolled back from the end
	result  *session.Verification
	err     error
}

func (c *check) resize(width, _ int) {
	if c != nil && c.field != nil {
		c.field.SetWidth(max(10, min(64, width-12)))
	}
}

// asks reports whether the command is asked for.
func (c *check) asks() bool { return c.field != nil }

// shown reports whether what it prints is on the screen.
func (c *check) shown() bool { return c.field == nil && !c.hidden }

func (c *check) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	*c.field, cmd = c.field.Update(msg)
	return cmd
}

func (c *check) scroll(by int) { c.back = max(0, min(c.back-by, len(c.lines)-1)) }

// beginCheck asks for the command, or shows the verification that goes on.
func (m *Model) beginCheck() {
	if m.check != nil && m.check.running {
		m.check.hidden = false
		return
	}
	field := keymap.Field("")
	command := m.request.Command
	if command == "" {
		command = m.session.Verify
	}
	if m.check != nil {
		command = m.check.command
	}
	field.SetValue(command)
	field.CursorEnd()
	field.Focus()
	m.check = &check{field: &field, any: m.tally.takesAny(), part: m.tally.takesAny() && m.tally.open+m.tally.rejected+m.tally.partly > 0}
	m.check.resize(m.width, m.height)
}

var (
	stopCheck  = keymap.Bind("stop it", "x")
	againCheck = keymap.Bind("again…", "v")
	leaveCheck = keymap.Bind("back", "esc", "q")
	scrollUp   = keymap.Bind("up", "up", "k", "pgup")
	scrollDown = keymap.Bind("down", "down", "j", "pgdown")
)

func (c *check) keys() []binding {
	stop, again := stopCheck, againCheck
	stop.SetEnabled(c.running)
	again.SetEnabled(!c.running)
	return []binding{stop, again, leaveCheck, scrollUp, scrollDown}
}

// checking is a key on the question or on what the command prints.
func (m *Model) checking(msg tea.KeyPressMsg) tea.Cmd {
	c := m.check
	if c.asks() {
		switch msg.String() {
		case "esc", "ctrl+c":
			m.check = nil
			return nil
		case "tab":
			c.part = !c.part && c.any
			return nil
		case "enter":
			return m.startCheck()
		}
		return c.update(msg)
	}
	by := 1
	if strings.HasPrefix(msg.String(), "pg") {
		by = max(1, m.bodyHeight()-2)
	}
	switch {
	case key.Matches(msg, leaveCheck):
		c.hidden = true
	case key.Matches(msg, scrollUp):
		c.scroll(-by)
	case key.Matches(msg, scrollDown):
		c.scroll(by)
	case key.Matches(msg, stopCheck) && c.running:
		c.stop()
	case key.Matches(msg, againCheck) && !c.running:
		m.beginCheck()
	}
	return nil
}

// printed brings what a verification has printed since the last time.
type printed struct {
	of   *check
	text string
	more bool // there may come more
}

// checked brings the result.
type checked struct {
	of     *check
	result session.Verification
	err    error
}

// startCheck runs the command.
func (m *Model) startCheck() tea.Cmd {
	c := m.check
	c.command = strings.TrimSpace(c.field.Value())
	if c.command == "" {
		return nil
	}
	ctx, stop := context.WithCancel(m.ctx)
	out := make(chan string, 256)
	c.field, c.running, c.stop, c.printed = nil, true, stop, out
	services, id, set, request := m.services, m.session.ID, m.set, m.request
	request.Command = c.command
	var choice review.Choice
	if c.part {
		choice = m.chosen()
	}
	run := func() tea.Msg {
		defer stop()
		defer close(out)
		if !choice.Empty() {
			selection, err := set.Select(ctx, choice)
			if err == nil {
				request.Tree, err = set.TreeOf(ctx, selection)
			}
			if err != nil {
				return checked{of: c, err: err}
			}
		}
		filter := termtext.NewFilter(sender{ctx, out}, termtext.Plain)
		request.Show = func(chunk output.Chunk) error {
			_, err := filter.Write(chunk.Data)
			return err
		}
		result, err := services.Verify(ctx, id, request)
		return checked{c, result, err}
	}
	return tea.Batch(run, c.listen())
}

// sender passes text on, until nobody waits for it any more.
type sender struct {
	ctx context.Context //nolint:containedctx // it ends with the verification
	out chan<- string
}

// Write sends what is printed.
func (s sender) Write(text []byte) (int, error) {
	select {
	case s.out <- string(text):
		return len(text), nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// listen waits for what is printed next, and takes all that is there.
func (c *check) listen() tea.Cmd {
	out := c.printed
	return func() tea.Msg {
		text, more := <-out
		for more && len(text) < 64<<10 {
			select {
			case next, ok := <-out:
				text, more = text+next, ok
				continue
			default:
			}
			break
		}
		return printed{c, text, more}
	}
}

// take keeps what was printed.
func (c *check) take(msg printed) tea.Cmd {
	for line := range strings.Lines(msg.text) {
		text, ended := strings.CutSuffix(line, "\n")
		if n := len(c.lines); c.last && n > 0 {
			c.lines[n-1] = cutText(c.lines[n-1] + text)
		} else {
			c.lines = append(c.lines, cutText(text))
			if c.back > 0 {
				c.back++ // who reads stays where they are
			}
		}
		c.last = !ended
	}
	if over := len(c.lines) - maxPrinted; over > 0 {
		c.lines = append(c.lines[:0:0], c.lines[over:]...)
		c.back = min(c.back, len(c.lines)-1)
	}
	if !msg.more {
		return nil
	}
	return c.listen()
}

// cutText is a line that is kept.
func cutText(text string) string { return text[:min(len(text), maxColumn)] }

// conclude shows the result.
func (m *Model) conclude(msg checked) {
	c := m.check
	c.running, c.err = false, msg.err
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	c.result = &msg.result
	if msg.result.Tree == m.set.Tree {
		m.verified = c.result
	}
	if c.hidden {
		m.note.Say(c.outcome(), nil)
	}
}

// what is what the command runs on.
func (c *check) what() string {
	if c.part {
		return "what is taken"
	}
	return "all of the work"
}

// outcome is the result in a sentence.
func (c *check) outcome() string {
	switch v := c.result; {
	case c.running:
		return "running…"
	case c.err != nil:
		return termtext.Escape(c.err.Error())
	case v == nil:
		return ""
	case v.Passed():
		return "passed in " + amount.Took(time.Duration(v.Seconds*float64(time.Second)))
	default:
		return termtext.Escape(v.Fault.Message)
	}
}

// view is what the command prints, and what came of it.
func (c *check) view(m *Model, width, height int) []string {
	style := m.theme.Live
	switch {
	case c.running:
	case c.result != nil && c.result.Passed():
		style = m.theme.Good
	default:
		style = m.theme.Bad
	}
	out := []string{
		ansi.Truncate(m.theme.Title.Render("Verify "+c.what()+": ")+termtext.Escape(c.command), width, "…"),
		style.Render(ansi.Truncate(c.outcome(), width, "…")),
		"",
	}
	if c.result != nil {
		for _, text := range c.result.Notes {
			out = append(out, m.theme.Warn.Render(ansi.Truncate("! "+text, width, "…")))
		}
	}
	room := max(1, height-len(out))
	end := max(0, len(c.lines)-c.back)
	for _, text := range c.lines[max(0, end-room):end] {
		out = append(out, ansi.Truncate(untab(termtext.Text(text)), width, "…"))
	}
	return frame.Fill(out, height)
}

// question is the framed question for the command.
func (c *check) question(m *Model) string {
	width := c.field.Width()
	what := c.what()
	if !c.any {
		what += " (nothing is taken yet)"
	}
	keys := m.theme.Key.Render("enter") + " run · "
	if c.any {
		keys += m.theme.Key.Render("tab") + " all or what is taken · "
	}
	keys += m.theme.Key.Render("esc") + " back"
	about := "On a copy of " + what + ", in a sandbox without any network."
	lines := append([]string{m.theme.Title.Render("Verify with which command?"), ""}, frame.Wrap(about, width)...)
	lines = append(append(lines, "", c.field.View(), ""), frame.Wrap(keys, width)...)
	return m.theme.Dialog.Render(strings.Join(lines, "\n"))
}
