package changes

import (
	"context"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/output"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// maxPrinted is how many lines of a verification are kept for the screen.
const maxPrinted = 2000

// verification runs a command on the work: the question for the command, then its
// output. nil is none yet.
type verification struct {
	field   *textinput.Model // for the command; nil once it has started
	part    bool             // only what is accepted
	any     bool             // something is accepted
	command string
	hidden  bool
	started bool
	ended   bool
	stop    context.CancelFunc
	output  <-chan string
	lines   []string
	partial bool // the last line has not ended
	height  int
	back    int // lines scrolled back from the end
	result  *session.Verification
	err     error
}

func (c *verification) resize(width int) {
	if c != nil && c.field != nil {
		c.field.SetWidth(max(10, min(64, width-12)))
	}
}

// asks reports whether the question is open.
func (c *verification) asks() bool { return c != nil && c.field != nil }

// shown reports whether the output is on the screen.
func (c *verification) shown() bool { return c != nil && c.field == nil && !c.hidden }

// running reports whether the command runs.
func (c *verification) running() bool { return c != nil && c.started && !c.ended }

// paste gives text to the question's field.
func (c *verification) paste(msg tea.Msg) { *c.field, _ = c.field.Update(msg) }

func (c *verification) scroll(by int) { c.back = max(0, min(c.back-by, len(c.lines)-1)) }

// newVerification asks for the command. tally says what there is to verify.
func newVerification(command string, tally decision.Tally) *verification {
	field := keymap.Field("")
	field.SetValue(command)
	field.CursorEnd()
	field.Focus()
	return &verification{field: &field, any: tally.AcceptsAny(), part: tally.AcceptsAny() && tally.Undecided+tally.Rejected+tally.Mixed > 0}
}

var (
	stopVerify  = keymap.Bind("stop it", "x")
	againVerify = keymap.Bind("again…", "v")
	leaveVerify = keymap.Bind("back", "esc", "q")
	scrollUp    = keymap.Bind("up", "up", "k", "pgup")
	scrollDown  = keymap.Bind("down", "down", "j", "pgdown")
)

func (c *verification) keys() []binding {
	stop, again := stopVerify, againVerify
	stop.SetEnabled(c.running())
	again.SetEnabled(!c.running())
	return []binding{stop, again, leaveVerify, scrollUp, scrollDown}
}

// pressOutput handles a key on the output.
func (c *verification) pressOutput(msg tea.KeyPressMsg) {
	by := 1
	if strings.HasPrefix(msg.String(), "pg") {
		by = max(1, c.height-2)
	}
	switch {
	case key.Matches(msg, leaveVerify):
		c.hidden = true
	case key.Matches(msg, scrollUp):
		c.scroll(-by)
	case key.Matches(msg, scrollDown):
		c.scroll(by)
	case key.Matches(msg, stopVerify) && c.running():
		c.stop()
	}
}

// printed brings output of a verification.
type printed struct {
	of   *verification
	text string
	more bool // more may follow
}

// checked brings the result.
type checked struct {
	of     *verification
	result session.Verification
	err    error
}

// start runs the command on a tree, which tree finds; empty means all of the work.
func (c *verification) start(ctx context.Context, services Services, id session.ID, request session.VerifyRequest, tree func(context.Context) (string, error)) tea.Cmd {
	c.command = strings.TrimSpace(c.field.Value())
	if c.command == "" {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	out := make(chan string, 256)
	c.field, c.started, c.stop, c.output = nil, true, stop, out
	request.Command = c.command
	run := func() tea.Msg {
		defer stop()
		defer close(out)
		var err error
		if request.Tree, err = tree(ctx); err != nil {
			return checked{of: c, err: err}
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

// sender sends output to a channel until ctx ends.
type sender struct {
	ctx context.Context //nolint:containedctx // it ends with the verification
	out chan<- string
}

// Write sends a copy of text.
func (s sender) Write(text []byte) (int, error) {
	select {
	case s.out <- string(text):
		return len(text), nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// listen waits for the next output, and takes all that is there.
func (c *verification) listen() tea.Cmd {
	out := c.output
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

// print keeps output.
func (c *verification) print(msg printed) tea.Cmd {
	for line := range strings.Lines(msg.text) {
		text, ended := strings.CutSuffix(line, "\n")
		if n := len(c.lines); c.partial && n > 0 {
			c.lines[n-1] = cutText(c.lines[n-1] + text)
		} else {
			c.lines = append(c.lines, cutText(text))
			if c.back > 0 {
				c.back++ // the view stays
			}
		}
		c.partial = !ended
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

// cutText cuts a line to what can be shown of it.
func cutText(text string) string { return text[:min(len(text), maxColumn)] }

// end keeps the result. note is what to say while the output is hidden.
func (c *verification) end(msg checked) (note string, err error) {
	c.ended, c.err = true, msg.err
	if msg.err != nil {
		return "", msg.err
	}
	c.result = &msg.result
	if c.hidden {
		note = c.outcome()
	}
	return note, nil
}

// what names what the command runs on.
func (c *verification) what() string {
	if c.part {
		return "what is taken"
	}
	return "all of the work"
}

// outcome is the result in a sentence.
func (c *verification) outcome() string {
	switch v := c.result; {
	case c.running():
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

// View returns the output and the result.
func (c *verification) View(t theme.Theme, width, height int) []string {
	c.height = height
	style := t.Live
	switch {
	case c.running():
	case c.result != nil && c.result.Passed():
		style = t.Good
	default:
		style = t.Bad
	}
	out := []string{
		ansi.Truncate(t.Title.Render("Verify "+c.what()+": ")+termtext.Escape(c.command), width, "…"),
		style.Render(ansi.Truncate(c.outcome(), width, "…")),
		"",
	}
	if c.result != nil {
		for _, text := range c.result.Notes {
			out = append(out, t.Warn.Render(ansi.Truncate("! "+text, width, "…")))
		}
	}
	room := max(1, height-len(out))
	end := max(0, len(c.lines)-c.back)
	for _, text := range c.lines[max(0, end-room):end] {
		out = append(out, ansi.Truncate(untab(termtext.Text(text)), width, "…"))
	}
	return frame.Fill(out, height)
}

// Question returns the framed question for the command.
func (c *verification) Question(t theme.Theme) string {
	width := c.field.Width()
	what := c.what()
	if !c.any {
		what += " (nothing is taken yet)"
	}
	keys := t.Key.Render("enter") + " run · "
	if c.any {
		keys += t.Key.Render("tab") + " all or what is taken · "
	}
	keys += t.Key.Render("esc") + " back"
	about := "On a copy of " + what + ", in a sandbox without any network."
	lines := append([]string{t.Title.Render("Verify with which command?"), ""}, frame.Wrap(about, width)...)
	lines = append(append(lines, "", c.field.View(), ""), frame.Wrap(keys, width)...)
	return t.Dialog.Render(strings.Join(lines, "\n"))
}
