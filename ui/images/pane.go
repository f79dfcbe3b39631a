package images

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// painter draws images and bakes at one moment.
type painter struct {
	theme theme.Theme
	now   time.Time
}

// pane returns an image in full: its state, or the progress of its bake. r may be nil.
func (p *painter) pane(r *row, width, height int) []string {
	if r == nil {
		return frame.Fill(nil, height)
	}
	out := []string{p.title(r, width)}
	switch {
	case r.job == nil:
		out = append(out, p.facts(r, width)...)
	case r.job.State == bakery.Failed:
		out = append(out, p.failure(r.job, width, height-len(out))...)
	default:
		out = append(out, p.progress(r.job, width, height-len(out))...)
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
		word = p.progressText(r.job)
	default:
		more = "  " + p.theme.Faint.Render(p.progressText(r.job))
	}
	return ansi.Truncate(p.theme.Title.Render(termtext.Escape(r.Name))+"  "+l.style.Render(l.mark+" "+word)+more, width, "…")
}

// facts describes an image that is not being baked.
func (p *painter) facts(r *row, width int) []string {
	var out []string
	add := func(text string, style lipgloss.Style) {
		for line := range strings.SplitSeq(ansi.Wrap(termtext.Escape(text), width, ""), "\n") {
			out = append(out, style.Render(line))
		}
	}
	switch r.State {
	case bakery.Fresh:
		add("It matches its recipe.", p.theme.Plain)
	case bakery.Outdated:
		add("Its recipe, or that of its base image, has changed since it was baked. b bakes it.", p.theme.Warn)
	default:
		add("It is not baked yet. b bakes it, which takes a few minutes.", p.theme.Plain)
	}
	if r.Ref != "" {
		add(r.Ref, p.theme.Faint)
	}
	if r.Image.ID != "" {
		add("baked "+r.Image.Created.In(p.now.Location()).Format(time.DateTime), p.theme.Faint)
		add(r.Image.ID, p.theme.Faint)
	}
	return out
}

// errorLines returns an error and its hints in lines of at most width columns.
func (p *painter) errorLines(err error, width int) []string {
	var out []string
	for line := range strings.SplitSeq(ansi.Wrap(termtext.Escape(err.Error()), width, ""), "\n") {
		out = append(out, p.theme.Bad.Render(line))
	}
	for _, hint := range fault.Hints(err) {
		out = append(out, strings.Split(ansi.Wrap("→ "+termtext.Escape(hint), width, ""), "\n")...)
	}
	return out
}

// failure returns the error of a bake and the last lines of its output.
func (p *painter) failure(job *bakery.Job, width, height int) []string {
	out := p.errorLines(job.Err, width)
	if room := height - len(out) - 1; room > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(p.theme, width))
		out = append(out, p.tail(job.Log, width, room)...)
	}
	return out
}

// progress returns the last steps of a bake and the last lines of its output.
func (p *painter) progress(job *bakery.Job, width, height int) []string {
	room := height
	if len(job.Log) > 0 {
		room = max(1, height/2)
	}
	steps := inOrder(job.Steps)
	steps = steps[max(0, len(steps)-room):]
	out := make([]string, 0, height)
	for _, step := range steps {
		out = append(out, p.step(step, width))
	}
	if rest := height - len(out) - 1; rest > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(p.theme, width))
		out = append(out, p.tail(job.Log, width, rest)...)
	}
	return out
}

// inOrder returns the steps, the running ones last.
func inOrder(steps []bakery.JobStep) []bakery.JobStep {
	running := func(s bakery.JobStep) int {
		if s.Kind == bakery.StepStarted {
			return 1
		}
		return 0
	}
	ordered := slices.Clone(steps)
	slices.SortStableFunc(ordered, func(a, b bakery.JobStep) int { return running(a) - running(b) })
	return ordered
}

// step returns a step with its mark and its time.
func (p *painter) step(step bakery.JobStep, width int) string {
	mark, style, took := "✓", p.theme.Good, clock(step.Took)
	switch step.Kind {
	case bakery.StepStarted:
		mark, style, took = p.spinner(), p.theme.Live, clock(p.now.Sub(step.Began))
	case bakery.StepCached:
		mark, style, took = "=", p.theme.Faint, ""
	case bakery.StepFailed:
		mark, style = "✗", p.theme.Bad
	case bakery.StepSkipped:
		mark, style = "–", p.theme.Warn
	}
	line := fmt.Sprintf("%6s ", took) + step.Text
	return style.Render(mark) + " " + ansi.Truncate(line, max(0, width-2), "…")
}

// tail returns the last lines of a log.
func (p *painter) tail(log []string, width, height int) []string {
	out := make([]string, 0, height)
	for _, line := range log[max(0, len(log)-height):] {
		out = append(out, styled(p.theme, ansi.Truncate(line, width, "…"), line))
	}
	return out
}
