package newrun

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// maxOutput is the number of lines shown of a bake that failed.
const maxOutput = 6

// progress shows the stages of the start and how it ended.
func (s *startStep) progress(t theme.Theme) []string {
	var out []string
	for _, stage := range s.stages {
		out = append(out, s.stageLine(stage, t))
	}
	switch {
	case s.state == starting && len(s.stages) == 0:
		out = append(out, t.Live.Render("●")+" starting")
	case s.state == failed:
		out = append(out, s.failure(t)...)
	case s.state == started:
		out = append(append(out, ""), s.reason(t)...)
		out = append(out, t.Good.Render("✓")+" "+s.ran()+" is running; enter opens it, esc leaves it running")
	}
	return out
}

func (s *startStep) stageLine(stage stage, t theme.Theme) string {
	mark, took := t.Live.Render("●"), s.now().Sub(stage.begun)
	switch {
	case stage.Done:
		mark, took = t.Good.Render("✓"), stage.Took
	case s.state != starting:
		mark, took = t.Faint.Render("·"), 0
	}
	time := ""
	if took > 0 {
		time = t.Faint.Render(fmt.Sprintf("%7s", amount.Took(took)))
	}
	return mark + " " + frame.Pad(termtext.Escape(stage.Name), 10) + " " + frame.Pad(time, 7) + " " + termtext.Escape(stage.Detail)
}

// failure shows why the start failed, and what the user can do.
func (s *startStep) failure(t theme.Theme) []string {
	out := []string{""}
	for _, line := range s.output[max(0, len(s.output)-maxOutput):] {
		out = append(out, t.Faint.Render(ansi.Truncate("  "+termtext.Escape(line), s.width, "…")))
	}
	return append(append(append(out, s.reason(t)...), ""), wrapped(nil, s.remedies("enter tries again"), s.width)...)
}

// reason shows why a session was not started, and the hints of that error.
func (s *startStep) reason(t theme.Theme) []string {
	if s.err == nil {
		return nil
	}
	out := wrapped(t.Bad.Render, "✗ "+termtext.Escape(s.err.Error()), s.width)
	for _, hint := range fault.Hints(s.err) {
		if s.canBake && strings.HasPrefix(hint, "aibox bake ") {
			continue // a key does it
		}
		out = append(out, wrapped(t.Faint.Render, "  → "+termtext.Escape(hint), s.width)...)
	}
	return out
}

// remedies name the keys that can help, after which comes next.
func (s *startStep) remedies(next string) string {
	var keys []string
	if s.canBake {
		keys = append(keys, "b bakes the image (some minutes) and starts")
	}
	if s.noModel {
		keys = append(keys, "m uses the scripted model and starts", "i chooses a server")
	}
	if s.canSetUp() {
		keys = append(keys, "d sets up this machine")
	}
	return strings.Join(append(keys, next), " · ")
}

// wrapped is text in lines of at most width columns, each in a style; nil is none.
func wrapped(style func(...string) string, text string, width int) []string {
	lines := frame.Wrap(strings.TrimRight(text, "\n"), width)
	if style != nil {
		for i, line := range lines {
			lines[i] = style(line)
		}
	}
	return lines
}
