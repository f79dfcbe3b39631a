package changes

import (
	"context"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui/changes/diff"
	"aibox/ui/page"
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
	answers *page.Latest
	field   *textinput.Model // for the command; nil once it has started
	part    bool             // only the selected part
	any     bool             // something is selected
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

func (v *verification) resize(width int) {
	if v != nil && v.field != nil {
		v.field.SetWidth(max(10, min(64, width-12)))
	}
}

// asks reports whether the question is open.
func (v *verification) asks() bool { return v != nil && v.field != nil }

// shown reports whether the output is on the screen.
func (v *verification) shown() bool { return v != nil && v.field == nil && !v.hidden }

// running reports whether the command runs.
func (v *verification) running() bool { return v != nil && v.started && !v.ended }

// paste passes text to the question's field.
func (v *verification) paste(msg tea.Msg) { *v.field, _ = v.field.Update(msg) }

func (v *verification) scroll(by int) { v.back = max(0, min(v.back-by, len(v.lines)-1)) }

// newVerification asks for the command. tally says what there is to verify.
func newVerification(answers *page.Latest, command string, tally decision.Tally) *verification {
	answers.Cancel()
	field := keymap.Field("")
	field.SetValue(command)
	field.CursorEnd()
	field.Focus()
	return &verification{answers: answers, field: &field, any: tally.AcceptsAny(), part: tally.AcceptsAny() && tally.Undecided+tally.Rejected+tally.Mixed > 0}
}

var (
	stopVerify  = keymap.Bind("stop it", "x")
	againVerify = keymap.Bind("again…", "v")
	leaveVerify = keymap.Bind("back", "esc", "q")
	scrollUp    = keymap.Bind("up", "up", "k", "pgup")
	scrollDown  = keymap.Bind("down", "down", "j", "pgdown")
)

func (v *verification) keys() []binding {
	stop, again := stopVerify, againVerify
	stop.SetEnabled(v.running())
	again.SetEnabled(!v.running())
	return []binding{stop, again, leaveVerify, scrollUp, scrollDown}
}

// pressOutput handles a key on the output.
func (v *verification) pressOutput(msg tea.KeyPressMsg) {
	by := 1
	if strings.HasPrefix(msg.String(), "pg") {
		by = max(1, v.height-2)
	}
	switch {
	case key.Matches(msg, leaveVerify):
		v.hidden = true
	case key.Matches(msg, scrollUp):
		v.scroll(-by)
	case key.Matches(msg, scrollDown):
		v.scroll(by)
	case key.Matches(msg, stopVerify) && v.running():
		v.stop()
	}
}

// printed carries output of a verification.
type printed struct {
	text string
	more bool // more may follow
}

// checked carries the result.
type checked struct {
	result session.Verification
	err    error
}

// start runs the command on the tree that the function tree returns. An empty tree means all of the
// work.
func (v *verification) start(ctx context.Context, services Services, id session.ID, request manager.VerifyRequest, tree func(context.Context) (string, error)) tea.Cmd {
	v.command = strings.TrimSpace(v.field.Value())
	if v.command == "" {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	out := make(chan string, 256)
	v.field, v.started, v.stop, v.output = nil, true, stop, out
	request.Command = v.command
	run := func() tea.Msg {
		defer stop()
		defer close(out)
		var err error
		if request.Tree, err = tree(ctx); err != nil {
			return checked{err: err}
		}
		filter := termtext.NewFilter(sender{ctx, out}, termtext.Plain)
		request.Show = func(chunk output.Chunk) error {
			_, err := filter.Write(chunk.Data)
			return err
		}
		result, err := services.Verify(ctx, id, request)
		return checked{result, err}
	}
	return tea.Batch(v.answers.Replace(run), v.listen())
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
func (v *verification) listen() tea.Cmd {
	out := v.output
	return v.answers.Continue(func() tea.Msg {
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
		return printed{text, more}
	})
}

// print keeps output.
func (v *verification) print(msg printed) tea.Cmd {
	for line := range strings.Lines(msg.text) {
		text, ended := strings.CutSuffix(line, "\n")
		if n := len(v.lines); v.partial && n > 0 {
			v.lines[n-1] = cutText(v.lines[n-1] + text)
		} else {
			v.lines = append(v.lines, cutText(text))
			if v.back > 0 {
				v.back++ // the view stays
			}
		}
		v.partial = !ended
	}
	if over := len(v.lines) - maxPrinted; over > 0 {
		v.lines = append(v.lines[:0:0], v.lines[over:]...)
		v.back = min(v.back, len(v.lines)-1)
	}
	if !msg.more {
		return nil
	}
	return v.listen()
}

// cutText cuts a line to the maximum length that can be shown.
func cutText(text string) string { return text[:min(len(text), diff.MaxColumn)] }

// end keeps the result. note reports it if the output is hidden.
func (v *verification) end(msg checked) (note string, err error) {
	v.ended, v.err = true, msg.err
	if msg.err != nil {
		return "", msg.err
	}
	v.result = &msg.result
	if v.hidden {
		note = v.outcome()
	}
	return note, nil
}

// what names the work that the command runs on.
func (v *verification) what() string {
	if v.part {
		return "the selected part"
	}
	return "all of the work"
}

// outcome returns the result in a sentence.
func (v *verification) outcome() string {
	switch r := v.result; {
	case v.running():
		return "running…"
	case v.err != nil:
		return termtext.Escape(v.err.Error())
	case r == nil:
		return ""
	case r.Passed():
		return "passed in " + amount.Took(time.Duration(r.Seconds*float64(time.Second)))
	default:
		return termtext.Escape(r.Fault.Message)
	}
}

// View returns the output and the result.
func (v *verification) View(t theme.Theme, width, height int) []string {
	v.height = height
	style := t.Live
	switch {
	case v.running():
	case v.result != nil && v.result.Passed():
		style = t.Good
	default:
		style = t.Bad
	}
	out := []string{
		ansi.Truncate(t.Title.Render("Verify "+v.what()+": ")+termtext.Escape(v.command), width, "…"),
		style.Render(ansi.Truncate(v.outcome(), width, "…")),
		"",
	}
	if v.result != nil {
		for _, text := range v.result.Notes {
			out = append(out, t.Warn.Render(ansi.Truncate("! "+text, width, "…")))
		}
	}
	room := max(1, height-len(out))
	end := max(0, len(v.lines)-v.back)
	for _, text := range v.lines[max(0, end-room):end] {
		out = append(out, ansi.Truncate(diff.Untab(termtext.Text(text)), width, "…"))
	}
	return frame.Fill(out, height)
}

// Question returns the framed question for the command.
func (v *verification) Question(t theme.Theme) string {
	width := v.field.Width()
	what := v.what()
	if !v.any {
		what += " (nothing is selected yet)"
	}
	keys := t.Key.Render("enter") + " run · "
	if v.any {
		keys += t.Key.Render("tab") + " all or the selected part · "
	}
	keys += t.Key.Render("esc") + " back"
	about := "On a copy of " + what + ", in a sandbox without any network."
	lines := append([]string{t.Title.Render("Verify with which command?"), ""}, frame.Wrap(about, width)...)
	lines = append(append(lines, "", v.field.View(), ""), frame.Wrap(keys, width)...)
	return t.Dialog.Render(strings.Join(lines, "\n"))
}
