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
const pictureTime = 150 * time.Millisecond

func (m *Model) hear() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return func() tea.Msg {
		heard, err := sessions.WatchOutput(ctx, id)
		return listened{heard, err}
	}
}

// look asks for the agent's screen.
func (m *Model) look() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	more := m.heard != nil
	return func() tea.Msg {
		text, err := sessions.Screen(ctx, id)
		if err == nil {
			text = screen.Recolor(text, screen.TrueColors)
		}
		return pictured{text, more, err}
	}
}

// see takes the agent's screen and waits for another one.
func (m *Model) see(msg pictured) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrNoScreen) && !m.session.Alive:
		m.picture, m.noScreen = nil, true
		m.fit()
		return m.record.Start()
	case msg.err == nil:
		m.picture = lines(string(msg.text))
	}
	heard := m.heard
	if heard == nil || !msg.more {
		return nil
	}
	ctx := m.ctx
	return func() tea.Msg {
		if _, more := <-heard; !more {
			return listened{} // the last look
		}
		timer := time.NewTimer(pictureTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return listened{}
		}
		return listened{heard: heard}
	}
}

// screen is the agent's screen, as far as it fits.
func (m *Model) screen(l layout) []string {
	if len(m.picture) == 0 {
		return nil
	}
	rows := m.picture[max(0, len(m.picture)-l.record):]
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = ansi.Truncate(row, l.left, "…") + ansi.ResetStyle
	}
	return out
}

// lines are the lines of a text without empty ones at its end.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, " \n"), "\n")
}
