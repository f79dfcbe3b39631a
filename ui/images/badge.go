package images

import (
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
			return badge{"◌", "waiting", p.Theme.Live}
		case bakery.Baking:
			return badge{p.Spinner(), "baking", p.Theme.Live}
		case bakery.Failed:
			return badge{"✗", "failed", p.Theme.Bad}
		case bakery.Canceled:
			if r.State != bakery.Fresh {
				return badge{"–", "canceled", p.Theme.Warn}
			}
		}
	}
	switch r.State {
	case bakery.Fresh:
		return badge{"✓", "fresh", p.Theme.Good}
	case bakery.Outdated:
		return badge{"!", "outdated", p.Theme.Warn}
	default:
		return badge{"·", "missing", p.Theme.Faint}
	}
}
