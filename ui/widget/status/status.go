// Package status shows the status of a session in the same way on every screen: a mark
// that works without color, a style, and a word.
package status

import (
	"aibox/session"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
)

// look is a mark with its style.
type look struct {
	mark  string
	style func(t *theme.Theme) lipgloss.Style
}

var looks = map[session.Status]look{
	session.StatusAsks:      {"?", warn},
	session.StatusWaiting:   {"◆", warn},
	session.StatusQueued:    {"⋯", faint},
	session.StatusStarting:  {"◌", live},
	session.StatusRunning:   {"●", live},
	session.StatusEnding:    {"○", live},
	session.StatusComputing: {"◔", live},
	session.StatusVerifying: {"◍", live},
	session.StatusToReview:  {"▲", warn},
	session.StatusPartly:    {"◐", warn},
	session.StatusFailed:    {"✗", func(t *theme.Theme) lipgloss.Style { return t.Bad }},
	session.StatusAccepted:  {"✓", func(t *theme.Theme) lipgloss.Style { return t.Good }},
	session.StatusDiscarded: {"–", faint},
	session.StatusContinued: {"→", faint},
	session.StatusUnchanged: {"·", faint},
	session.StatusWarm:      {"◇", faint},
	session.StatusPaused:    {"‖", faint},
	session.StatusEnded:     {"▪", faint},
}

func warn(t *theme.Theme) lipgloss.Style  { return t.Warn }
func live(t *theme.Theme) lipgloss.Style  { return t.Live }
func faint(t *theme.Theme) lipgloss.Style { return t.Faint }

func of(status session.Status) look {
	if l, known := looks[status]; known {
		return l
	}
	return look{"●", live} // a status that this version does not know
}

// Text returns the mark and the word.
func Text(status session.Status) string { return of(status).mark + " " + string(status) }

// Style returns the style of a status.
func Style(t *theme.Theme, status session.Status) lipgloss.Style { return of(status).style(t) }
