// Package status is how a session stands, as every screen shows it: a mark that tells
// it without color, its style, and the word. It knows no screen.
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
}

func warn(t *theme.Theme) lipgloss.Style  { return t.Warn }
func live(t *theme.Theme) lipgloss.Style  { return t.Live }
func faint(t *theme.Theme) lipgloss.Style { return t.Faint }

func of(status session.Status) look {
	if l, known := looks[status]; known {
		return l
	}
	return look{"●", live} // a phase that is new
}

// Text is the mark and the word.
func Text(status session.Status) string { return of(status).mark + " " + string(status) }

// Style is the style for them.
func Style(t *theme.Theme, status session.Status) lipgloss.Style { return of(status).style(t) }
