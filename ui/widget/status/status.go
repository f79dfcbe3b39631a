// Package status shows the status of a session in the same way on every screen: a mark
// that works without color, a style, and a word.
package status

import (
	"aibox/session/summary"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
)

// look is a mark with its style.
type look struct {
	mark  string
	style func(t *theme.Theme) lipgloss.Style
}

var looks = map[summary.Status]look{
	summary.StatusAsks:      {"?", warn},
	summary.StatusWaiting:   {"◆", warn},
	summary.StatusQueued:    {"⋯", faint},
	summary.StatusStarting:  {"◌", live},
	summary.StatusRunning:   {"●", live},
	summary.StatusEnding:    {"○", live},
	summary.StatusComputing: {"◔", live},
	summary.StatusVerifying: {"◍", live},
	summary.StatusToReview:  {"▲", warn},
	summary.StatusPartly:    {"◐", warn},
	summary.StatusFailed:    {"✗", func(t *theme.Theme) lipgloss.Style { return t.Bad }},
	summary.StatusAccepted:  {"✓", func(t *theme.Theme) lipgloss.Style { return t.Good }},
	summary.StatusDiscarded: {"–", faint},
	summary.StatusContinued: {"→", faint},
	summary.StatusUnchanged: {"·", faint},
	summary.StatusWarm:      {"◇", faint},
	summary.StatusPaused:    {"‖", faint},
	summary.StatusEnded:     {"▪", faint},
}

func warn(t *theme.Theme) lipgloss.Style  { return t.Warn }
func live(t *theme.Theme) lipgloss.Style  { return t.Live }
func faint(t *theme.Theme) lipgloss.Style { return t.Faint }

func of(status summary.Status) look {
	if l, known := looks[status]; known {
		return l
	}
	return look{"●", live} // a status that this version does not know
}

// Text returns the mark and the word.
func Text(status summary.Status) string { return of(status).mark + " " + string(status) }

// Style returns the style of a status.
func Style(t *theme.Theme, status summary.Status) lipgloss.Style { return of(status).style(t) }
