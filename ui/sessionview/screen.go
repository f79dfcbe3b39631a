package sessionview

import (
	"context"
	"errors"
	"time"

	"aibox/internal/delay"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// screenPause is the shortest time between two reads of an agent's screen.
const screenPause = 150 * time.Millisecond

// terminal reads the screen of an interactive agent's terminal, again after each output.
type terminal struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	id       session.ID

	rows   []string
	lost   bool            // there is no screen, so the log is shown
	output <-chan struct{} // reports more output; nil once the agent has ended
	over   bool            // nothing is watched any more
}

// outputWatched carries the channel that reports more output; nil after the last one.
type outputWatched struct {
	output <-chan struct{}
	err    error
}

// screenLoaded carries a screen.
type screenLoaded struct {
	text []byte
	more bool // there may be more output
	err  error
}

// watch starts to watch the agent's output.
func (t *terminal) watch() tea.Cmd {
	ctx, id, sessions := t.ctx, t.id, t.sessions
	t.over = false
	return func() tea.Msg {
		output, err := sessions.WatchOutput(ctx, id)
		return outputWatched{output, err}
	}
}

// watchAgain watches the output of a running session again. A watch ends with the agent, but also if
// its supervisor does not answer for a while. If the session has ended before there was a screen, it
// reads the last one.
func (t *terminal) watchAgain(s *session.Session) tea.Cmd {
	switch {
	case !t.over:
		return nil
	case s.Alive && s.State.Phase == session.Running:
		return t.watch()
	case !s.Alive && len(t.rows) == 0 && !t.lost:
		return t.load()
	default:
		return nil
	}
}

// load reads the screen.
func (t *terminal) load() tea.Cmd {
	ctx, id, sessions, more := t.ctx, t.id, t.sessions, t.output != nil
	return func() tea.Msg {
		text, err := sessions.Screen(ctx, id)
		if err == nil {
			text = screen.Recolor(text, screen.TrueColors)
		}
		return screenLoaded{text, more, err}
	}
}

// await waits for more output.
func (t *terminal) await() tea.Cmd {
	ctx, output := t.ctx, t.output
	return func() tea.Msg {
		if _, more := <-output; !more {
			return outputWatched{} // for the last read
		}
		if delay.Wait(ctx, screenPause); ctx.Err() != nil {
			return outputWatched{}
		}
		return outputWatched{output: output}
	}
}

// view returns the last rows of the screen, cut to the size.
func (t *terminal) view(width, height int) []string {
	if len(t.rows) == 0 {
		return nil
	}
	rows := t.rows[max(0, len(t.rows)-height):]
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = ansi.Truncate(row, width, "…") + ansi.ResetStyle
	}
	return out
}

// takeScreen shows the agent's screen and waits for more output.
func (m *Model) takeScreen(msg screenLoaded) tea.Cmd {
	t := &m.terminal
	switch {
	case errors.Is(msg.err, session.ErrNoScreen) && !m.session.Alive:
		t.rows, t.lost = nil, true
		m.fit()
		return m.log.Start()
	case msg.err == nil:
		t.rows = frame.Lines(string(msg.text))
	case !errors.Is(msg.err, session.ErrNoScreen):
		m.say(aboutRecord, "", msg.err)
	}
	if t.output == nil || !msg.more {
		t.over = t.output == nil
		return nil
	}
	return t.await()
}
