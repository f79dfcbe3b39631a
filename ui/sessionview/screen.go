package sessionview

import (
	"errors"
	"strings"
	"time"

	"aibox/internal/screen"
	"aibox/session"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// pictureTime is the shortest time between two looks at the screen of an agent.
const screenPause = 150 * time.Millisecond

func (m *Model) watchOutput() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return func() tea.Msg {
		output, err := sessions.WatchOutput(ctx, id)
		return outputWatched{output, err}
	}
}

// loadScreen asks for the agent's screen.
func (m *Model) loadScreen() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	more := m.output != nil
	return func() tea.Msg {
		text, err := sessions.Screen(ctx, id)
		if err == nil {
			text = screen.Recolor(text, screen.TrueColors)
		}
		return screenLoaded{text, more, err}
	}
}

// takeScreen takes the agent's screen and waits for another one.
func (m *Model) takeScreen(msg screenLoaded) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrNoScreen) && !m.session.Alive:
		m.screenRows, m.noScreen = nil, true
		m.fit()
		return m.record.Start()
	case msg.err == nil:
		m.screenRows = lines(string(msg.text))
	}
	output := m.output
	if output == nil || !msg.more {
		return nil
	}
	ctx := m.ctx
	return func() tea.Msg {
		if _, more := <-output; !more {
			return outputWatched{} // the last look
		}
		timer := time.NewTimer(screenPause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return outputWatched{}
		}
		return outputWatched{output: output}
	}
}

// screen returns the agent's screen, as far as it fits.
func (m *Model) screen(l layout) []string {
	if len(m.screenRows) == 0 {
		return nil
	}
	rows := m.screenRows[max(0, len(m.screenRows)-l.record):]
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = ansi.Truncate(row, l.left, "…") + ansi.ResetStyle
	}
	return out
}

// lines returns the lines of a text without empty ones at its end.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, " \n"), "\n")
}
