package images

import (
	"time"

	"aibox/bakery"
	"aibox/internal/termtext"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// painter draws images and bakes at one moment.
type painter struct{ bakes.Painter }

// pane returns an image in full: its state, or the progress of its bake. r may be nil.
func (p *painter) pane(r *row, width, height int) []string {
	if r == nil {
		return frame.Fill(nil, height)
	}
	out := []string{p.title(r, width)}
	switch {
	case r.job == nil:
		out = append(out, p.facts(r, width)...)
	default:
		out = append(out, p.Lines(r.job, width, height-len(out))...)
	}
	return frame.Fill(out, height)
}

// title returns the name and the state of an image.
func (p *painter) title(r *row, width int) string {
	l := p.badge(r)
	word, more := l.word, ""
	switch {
	case r.job == nil:
	case r.job.State == bakery.Failed, r.job.State == bakery.Canceled && l.word != bakery.Fresh.String():
		word = p.Summary(r.job)
	default:
		more = "  " + p.Theme.Faint.Render(p.Summary(r.job))
	}
	return ansi.Truncate(p.Theme.Title.Render(termtext.Escape(r.Name))+"  "+l.style.Render(l.mark+" "+word)+more, width, "…")
}

// facts describes an image that is not being baked.
func (p *painter) facts(r *row, width int) []string {
	var out []string
	add := func(text string, style lipgloss.Style) {
		for _, line := range frame.Wrap(termtext.Escape(text), width) {
			out = append(out, style.Render(line))
		}
	}
	switch r.State {
	case bakery.Fresh:
		add("It matches its recipe.", p.Theme.Plain)
	case bakery.Outdated:
		add("Since it was baked, its recipe, that of its base image, or this machine's certificates or package registries have changed. b bakes it.", p.Theme.Warn)
	default:
		add("It is not baked yet. b bakes it, which takes a few minutes.", p.Theme.Plain)
	}
	if r.Ref != "" {
		add(r.Ref, p.Theme.Faint)
	}
	if r.Image.ID != "" {
		add("baked "+r.Image.Created.In(p.Now.Location()).Format(time.DateTime), p.Theme.Faint)
		add(r.Image.ID, p.Theme.Faint)
	}
	return out
}
