// Package bakes draws the builds of images: their steps, their output and why they failed.
// Screens share it. It builds nothing.
package bakes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// Painter draws bakes at one moment.
type Painter struct {
	Theme theme.Theme
	Now   time.Time
}

// Spinner returns a mark that changes every second.
func (p Painter) Spinner() string {
	return string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[p.Now.Unix()%10])
}

// Summary returns the progress of a bake in a few words.
func (p Painter) Summary(job *bakery.Job) string {
	switch job.State {
	case bakery.Waiting:
		return "queued"
	case bakery.Baking:
		text := clock(p.Now.Sub(job.Began))
		if at, of := job.Progress(); of > 0 {
			text = fmt.Sprintf("step %d/%d · ", at, of) + text
		}
		return text
	default:
		text := job.State.String()
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

// Error returns an error and its hints in lines of at most width columns.
func (p Painter) Error(err error, width int) []string {
	var out []string
	for _, line := range frame.Wrap(termtext.Escape(err.Error()), width) {
		out = append(out, p.Theme.Bad.Render(line))
	}
	for _, hint := range fault.Hints(err) {
		out = append(out, frame.Wrap("→ "+termtext.Escape(hint), width)...)
	}
	return out
}

// Lines returns a bake in at most height lines of at most width columns: its last steps, or
// why it failed, and the last lines of its output.
func (p Painter) Lines(job *bakery.Job, width, height int) []string {
	if job.State == bakery.Failed {
		return p.failure(job, width, height)
	}
	return p.progress(job, width, height)
}

// failure returns the error of a bake and the last lines of its output.
func (p Painter) failure(job *bakery.Job, width, height int) []string {
	out := p.Error(job.Err, width)
	if room := height - len(out) - 1; room > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(p.Theme, width))
		out = append(out, p.tail(job.Log, width, room)...)
	}
	return out
}

// progress returns the last steps of a bake and the last lines of its output.
func (p Painter) progress(job *bakery.Job, width, height int) []string {
	room := height
	if len(job.Log) > 0 {
		room = max(1, height/2)
	}
	steps := inOrder(job.Steps)
	steps = steps[max(0, len(steps)-room):]
	out := make([]string, 0, max(0, height))
	for _, step := range steps {
		out = append(out, p.step(step, width))
	}
	if rest := height - len(out) - 1; rest > 0 && len(job.Log) > 0 {
		out = append(out, frame.Rule(p.Theme, width))
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
	sorting.StableFunc(ordered, func(a, b *bakery.JobStep) int { return running(*a) - running(*b) })
	return ordered
}

// step returns a step with its mark and its time.
func (p Painter) step(step bakery.JobStep, width int) string {
	mark, style, took := "✓", p.Theme.Good, clock(step.Took)
	switch step.Kind {
	case bakery.StepStarted:
		mark, style, took = p.Spinner(), p.Theme.Live, clock(p.Now.Sub(step.Began))
	case bakery.StepCached:
		mark, style, took = "=", p.Theme.Faint, ""
	case bakery.StepFailed:
		mark, style = "✗", p.Theme.Bad
	case bakery.StepSkipped:
		mark, style = "–", p.Theme.Warn
	}
	line := fmt.Sprintf("%6s ", took) + step.Text
	return style.Render(mark) + " " + ansi.Truncate(line, max(0, width-2), "…")
}

// tail returns the last lines of a log.
func (p Painter) tail(log []string, width, height int) []string {
	out := make([]string, 0, height)
	for _, line := range log[max(0, len(log)-height):] {
		out = append(out, Styled(p.Theme, ansi.Truncate(line, width, "…"), line))
	}
	return out
}

// Styled gives the visible part of a log's line the style of the whole line.
func Styled(t theme.Theme, visible, line string) string {
	switch {
	case strings.HasPrefix(line, "FAILED "), line == "not built":
		return t.Bad.Render(visible)
	case !strings.HasPrefix(line, " "):
		return t.Title.Render(visible)
	default:
		return visible
	}
}
