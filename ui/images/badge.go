package images

import (
	"fmt"
	"time"

	"aibox/bakery"

	"charm.land/lipgloss/v2"
)

// badge is how a state is shown.
type badge struct {
	mark, word string // the mark shows it without color
	style      lipgloss.Style
}

// badge returns the badge of an image.
func (p *painter) badge(r *row) badge {
	if r.job != nil {
		switch r.job.State {
		case bakery.Waiting:
			return badge{"◌", "waiting", p.theme.Live}
		case bakery.Baking:
			return badge{p.spinner(), "baking", p.theme.Live}
		case bakery.Failed:
			return badge{"✗", "failed", p.theme.Bad}
		case bakery.Canceled:
			if r.State != bakery.Fresh {
				return badge{"–", "canceled", p.theme.Warn}
			}
		}
	}
	switch r.State {
	case bakery.Fresh:
		return badge{"✓", "fresh", p.theme.Good}
	case bakery.Outdated:
		return badge{"!", "outdated", p.theme.Warn}
	default:
		return badge{"·", "missing", p.theme.Faint}
	}
}

// spinner returns a mark that changes every second.
func (p *painter) spinner() string {
	return string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[p.now.Unix()%10])
}

// progressText returns the progress of a bake in a few words.
func (p *painter) progressText(job *bakery.Job) string {
	switch job.State {
	case bakery.Waiting:
		return "queued"
	case bakery.Baking:
		text := clock(p.now.Sub(job.Began))
		if at, of := job.Progress(); of > 0 {
			text = fmt.Sprintf("step %d/%d · ", at, of) + text
		}
		return text
	default:
		text := job.State.String()
		if job.State == bakery.Canceled {
			text = "canceled"
		}
		if !job.Began.IsZero() && job.State != bakery.Reused {
			text += " after " + clock(job.Ended.Sub(job.Began))
		}
		return text
	}
}

// clock formats a duration: 7s, 2m05s.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}
