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

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// pane returns the selected image: what it is, or how its bake goes.
func (m *Model) pane(width, height int) []string {
	r := m.current()
	if r == nil {
		return frame.Fill(nil, height)
	}
	out := []string{m.title(r, width)}
	switch {
	case r.job == nil:
		out = append(out, m.facts(r, width)...)
	case r.job.State == bakery.Failed:
		out = append(out, m.failure(r.job, width, height-len(out))...)
	default:
		out = append(out, m.progress(r.job, width, height-len(out))...)
	}
	return frame.Fill(out, height)
}

func (m *Model) title(r *row, width int) string {
	l := m.badge(r)
	word, more := l.word, ""
	switch {
	case r.job == nil:
	case r.job.State == bakery.Failed, r.job.State == bakery.Canceled && l.word != bakery.Fresh.String():
		word = m.progressText(r.job)
	default:
		more = "  " + m.theme.Faint.Render(m.progressText(r.job))
	}
	return ansi.Truncate(m.theme.Title.Render(termtext.Escape(r.Name))+"  "+l.style.Render(l.mark+" "+word)+more, width, "…")
}

// facts returns what is known of an image that nobody bakes.
func (m *Model) facts(r *row, width int) []string {
	var out []string
	add := func(text string, style lipgloss.Style) {
		for line := range strings.SplitSeq(ansi.Wrap(termtext.Escape(text), width, ""), "\n") {
			out = append(out, style.Render(line))
		}
	}
	switch r.State {
	case bakery.Fresh:
		add("It is as its recipe says.", m.theme.Plain)
	case bakery.Outdated:
		add("Its recipe, or the one below it, has changed since it was baked; b bakes it.", m.theme.Warn)
	default:
		add("It is not baked yet; b bakes it. It takes some minutes.", m.theme.Plain)
	}
	if r.Ref != "" {
		add(r.Ref, m.theme.Faint)
	}
	if r.Image.ID != "" {
		add("baked "+r.Image.Created.In(m.now().Location()).Format(time.DateTime), m.theme.Faint)
		add(r.Image.ID, m.theme.Faint)
	}
	return out
}

// errorLines returns an error with its hints.
func (m *Model) errorLines(err error, width int) []string {
	var out []string
	for line := range strings.SplitSeq(ansi.Wrap(termtext.Escape(err.Error()), width, ""), "\n") {
		out = append(out, m.theme.Bad.Render(line))
	}
	for _, hint := range fault.Hints(err) {
		out = append(out, strings.Split(ansi.Wrap("→ "+termtext.Escape(hint), width, ""), "\n")...)
	}
	return out
}

// failure returns why an image was not made, and the last lines that its step said.
func (m *Model) failure(job *bakery.Job, width, height int) []string {
	out := m.errorLines(job.Err, width)
	if room := height - len(out) - 1; room > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(m.theme, width))
		out = append(out, m.tail(job.Log, width, room)...)
	}
	return out
}

// progress returns the steps of a bake, the last ones if there are too many, and what they
// said last.
func (m *Model) progress(job *bakery.Job, width, height int) []string {
	room := height
	if len(job.Log) > 0 {
		room = max(1, height/2)
	}
	steps := inOrder(job.Steps)
	steps = steps[max(0, len(steps)-room):]
	out := make([]string, 0, height)
	for _, step := range steps {
		out = append(out, m.step(step, width))
	}
	if rest := height - len(out) - 1; rest > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(m.theme, width))
		out = append(out, m.tail(job.Log, width, rest)...)
	}
	return out
}

// inOrder returns the steps with those that run at the end, where they are looked for.
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

// step returns one step with its mark and its time.
func (m *Model) step(step bakery.JobStep, width int) string {
	mark, style, took := "✓", m.theme.Good, clock(step.Took)
	switch step.Kind {
	case bakery.StepStarted:
		mark, style, took = m.spinner(), m.theme.Live, clock(m.now().Sub(step.Began))
	case bakery.StepCached:
		mark, style, took = "=", m.theme.Faint, ""
	case bakery.StepFailed:
		mark, style = "✗", m.theme.Bad
	case bakery.StepSkipped:
		mark, style = "–", m.theme.Warn
	}
	line := fmt.Sprintf("%6s ", took) + step.Text
	return style.Render(mark) + " " + ansi.Truncate(line, max(0, width-2), "…")
}

// tail returns the last lines of a log.
func (m *Model) tail(log []string, width, height int) []string {
	out := make([]string, 0, height)
	for _, line := range log[max(0, len(log)-height):] {
		out = append(out, styled(m.theme, ansi.Truncate(line, width, "…"), line))
	}
	return out
}
