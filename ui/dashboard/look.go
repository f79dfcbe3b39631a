package dashboard

import (
	"time"

	"aibox/session"
	"aibox/ui/theme"

	"charm.land/lipgloss/v2"
)

// look is how a session stands, as a person sees it.
type look struct {
	status  session.Status
	mark    string // tells it without color
	urgency int    // what goes on and what wants a look comes first
	style   func(t *theme.Theme) lipgloss.Style
}

// The urgencies that are counted in the head.
const (
	asks = iota
	goesOn
	toReview
	hasFailed
	rest
)

var looks = map[session.Status]look{
	session.StatusAsks:      {mark: "?", urgency: asks, style: warn},
	session.StatusStarting:  {mark: "◌", urgency: goesOn, style: live},
	session.StatusRunning:   {mark: "●", urgency: goesOn, style: live},
	session.StatusVerifying: {mark: "◍", urgency: goesOn, style: live},
	session.StatusToReview:  {mark: "▲", urgency: toReview, style: warn},
	session.StatusPartly:    {mark: "◐", urgency: toReview, style: warn},
	session.StatusFailed:    {mark: "✗", urgency: hasFailed, style: func(t *theme.Theme) lipgloss.Style { return t.Bad }},
	session.StatusAccepted:  {mark: "✓", urgency: rest, style: func(t *theme.Theme) lipgloss.Style { return t.Good }},
	session.StatusDiscarded: {mark: "–", urgency: rest, style: faint},
	session.StatusContinued: {mark: "→", urgency: rest, style: faint},
	session.StatusUnchanged: {mark: "·", urgency: rest, style: faint},
}

func warn(t *theme.Theme) lipgloss.Style  { return t.Warn }
func live(t *theme.Theme) lipgloss.Style  { return t.Live }
func faint(t *theme.Theme) lipgloss.Style { return t.Faint }

func lookOf(b *session.Brief) look {
	status := b.Status()
	l, known := looks[status]
	if !known { // a phase that is new
		l = look{mark: "●", urgency: goesOn, style: live}
	}
	l.status = status
	if status == session.StatusFailed && b.Open() {
		l.urgency = toReview // what it did until then waits, too
	}
	return l
}

// text is the mark and the word.
func (l look) text() string { return l.mark + " " + string(l.status) }

// since is when what the time of a session is counted from was.
func since(b *session.Brief) time.Time {
	at := b.Started
	if b.Phase == session.Ended {
		at = b.Ended
	}
	if at.IsZero() {
		at = b.Created
	}
	return at
}
