package doctor

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/probe"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// probePane is the rows about the selected probe, below the list, with its rule.
const probePane = 4

// View returns the stages of the start and, once they have begun, the probes.
func (p *proofPane) View() []string {
	lines := p.head()
	if len(p.run.probing.Results) == 0 {
		return frame.Fill(lines, p.height)
	}
	from, to := p.cursor.Window()
	for i := from; i < to; i++ {
		lines = append(lines, p.probeRow(i))
	}
	lines = append(frame.Fill(lines, p.height-probePane), frame.Rule(p.theme, p.width))
	return append(lines, p.selected()...)
}

// head returns the stages, in one line if the probes need the room, and the title of the
// probes.
func (p *proofPane) head() []string {
	stages := make([]string, 0, len(p.run.stages))
	for _, step := range p.run.stages {
		line := fmt.Sprintf("%s %-10s %s", p.stageMark(step), termtext.Escape(step.Name), termtext.Escape(step.Detail))
		if step.Done {
			line += p.theme.Faint.Render(" " + amount.Took(step.Took))
		}
		stages = append(stages, frame.Pad(line, p.width))
	}
	probes := len(p.run.probing.Results)
	if probes == 0 {
		return stages
	}
	title := frame.Ends(p.width, p.theme.Title.Render(p.title()), p.theme.Faint.Render(p.cursor.Position()))
	switch room := p.height - probePane - probes; {
	case room >= len(stages)+2:
		return append(stages, "", title)
	case p.height >= 2*probePane+2:
		return []string{p.stagesInOneLine(), title}
	default:
		return []string{title}
	}
}

func (p *proofPane) stagesInOneLine() string {
	var all strings.Builder
	for _, step := range p.run.stages {
		all.WriteString(p.stageMark(step) + " " + termtext.Escape(step.Name) + "  ")
	}
	return ansi.Truncate(all.String(), p.width, "…")
}

// stageMark returns a mark that shows without color whether a stage has ended.
func (p *proofPane) stageMark(step session.Step) string {
	switch {
	case step.Done:
		return p.theme.Good.Render("✓")
	case p.run.err != nil:
		return p.theme.Bad.Render("✗")
	default:
		return p.theme.Faint.Render("…")
	}
}

// title returns the progress of the probes, or the sandbox that they ran in.
func (p *proofPane) title() string {
	ended := 0
	for i := range p.run.probing.Results {
		if p.run.probing.Ended(i) {
			ended++
		}
	}
	switch {
	case p.run.kernel != "":
		return "In a sandbox with kernel " + termtext.Escape(p.run.kernel)
	case p.run.over:
		return "In a sandbox without an agent"
	default:
		return fmt.Sprintf("probes %d/%d", ended, len(p.run.probing.Results))
	}
}

// probeRow returns the line of a probe. selected shows it in full.
func (p *proofPane) probeRow(i int) string {
	name, target := 0, 0
	for _, r := range p.run.probing.Results {
		name, target = max(name, len(r.Name)), max(target, len(r.Target))
	}
	r := p.run.probing.Results[i]
	mark, style := p.probeMark(i)
	text := frame.Pad(termtext.Escape(r.Name), min(name, p.width*2/5)) + "  "
	if p.width >= beside {
		text += frame.Pad(termtext.Escape(r.Target), min(target, p.width/3)) + "  "
	}
	text += frame.Pad(r.Want.Must(), mustWidth) + "  " + termtext.Escape(r.Detail)
	if i == p.cursor.At() {
		return p.theme.Selected.Render(frame.Pad(cursor.Mark+" "+mark+" "+text, p.width))
	}
	return "  " + style.Render(mark) + " " + ansi.Truncate(text, p.width-4, "…")
}

// probeMark returns a mark that shows the result of a probe without color.
func (p *proofPane) probeMark(i int) (string, lipgloss.Style) {
	switch {
	case !p.run.probing.Ended(i) && p.run.over:
		return "?", p.theme.Warn
	case !p.run.probing.Ended(i):
		return "…", p.theme.Faint
	case p.run.probing.Results[i].OK:
		return "✓", p.theme.Good
	default:
		return "✗", p.theme.Bad
	}
}

// selected returns the selected probe in full.
func (p *proofPane) selected() []string {
	r := p.run.probing.Results[p.cursor.At()]
	came := "not ended"
	if p.run.probing.Ended(p.cursor.At()) {
		came = termtext.Escape(r.Detail) + p.theme.Faint.Render(", after "+probeTook(r))
	}
	lines := []string{p.theme.Title.Render(termtext.Escape(r.Name)) + " " + r.Want.Must(), termtext.Escape(r.Target), came}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, p.width, "…")
	}
	return lines
}

func probeTook(r probe.Result) string {
	return (time.Duration(r.Took) * time.Microsecond).Round(100 * time.Microsecond).String()
}

// mustWidth is the width of the expected result of a probe.
var mustWidth = len(probe.Refused.Must())
