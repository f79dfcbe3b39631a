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

// probePane is the rows about the selected probe, below the list, its rule
// included.
const probePane = 4

// proofView returns the stages of the start and, once they have begun, the probes.
func (m *Model) proofView() []string {
	lines := m.proofHead()
	if len(m.proofRun.probing.Results) == 0 {
		return frame.Fill(lines, m.bodyHeight())
	}
	from, to := m.probe.Window()
	for i := from; i < to; i++ {
		lines = append(lines, m.probeRow(i))
	}
	lines = append(frame.Fill(lines, m.bodyHeight()-probePane), frame.Rule(m.theme, m.width))
	return append(lines, m.probeInFull()...)
}

// proofHead returns what stands over the probes: the stages, in one line where they would
// leave too little room, and how far it is.
func (m *Model) proofHead() []string {
	stages := make([]string, 0, len(m.proofRun.stages))
	for _, step := range m.proofRun.stages {
		line := fmt.Sprintf("%s %-10s %s", m.stageMark(step), termtext.Escape(step.Name), termtext.Escape(step.Detail))
		if step.Done {
			line += m.theme.Faint.Render(" " + amount.Took(step.Took))
		}
		stages = append(stages, frame.Pad(line, m.width))
	}
	probes := len(m.proofRun.probing.Results)
	if probes == 0 {
		return stages
	}
	title := m.theme.Title.Render(frame.Pad(m.proofTitle(), m.width))
	switch room := m.bodyHeight() - probePane - probes; {
	case room >= len(stages)+2:
		return append(stages, "", title)
	case m.bodyHeight() >= 2*probePane+2:
		return []string{m.stagesInOneLine(), title}
	default:
		return []string{title}
	}
}

func (m *Model) stagesInOneLine() string {
	var all strings.Builder
	for _, step := range m.proofRun.stages {
		all.WriteString(m.stageMark(step) + " " + termtext.Escape(step.Name) + "  ")
	}
	return ansi.Truncate(all.String(), m.width, "…")
}

// stageMark shows without color whether a stage is over.
func (m *Model) stageMark(step session.Step) string {
	if step.Done {
		return m.theme.Good.Render("✓")
	}
	return m.theme.Faint.Render("…")
}

// proofTitle says where the proof is, or where it was made.
func (m *Model) proofTitle() string {
	ended := 0
	for i := range m.proofRun.probing.Results {
		if m.proofRun.probing.Ended(i) {
			ended++
		}
	}
	switch {
	case m.proofRun.kernel != "":
		return "In a sandbox with kernel " + termtext.Escape(m.proofRun.kernel)
	case m.proofRun.over:
		return "In a sandbox that no agent was started in"
	default:
		return fmt.Sprintf("%d of %d probes have ended", ended, len(m.proofRun.probing.Results))
	}
}

// probeRow returns the line of a probe; what has no room on it stands in full below.
func (m *Model) probeRow(i int) string {
	name, target := 0, 0
	for _, r := range m.proofRun.probing.Results {
		name, target = max(name, len(r.Name)), max(target, len(r.Target))
	}
	r := m.proofRun.probing.Results[i]
	mark, style := m.probeMark(i)
	text := frame.Pad(termtext.Escape(r.Name), min(name, m.width*2/5)) + "  "
	if m.wide() {
		text += frame.Pad(termtext.Escape(r.Target), min(target, m.width/3)) + "  "
	}
	text += frame.Pad(r.Want.Must(), mustWidth) + "  " + termtext.Escape(r.Detail)
	if i == m.probe.At() {
		return m.theme.Selected.Render(frame.Pad(cursor.Mark+" "+mark+" "+text, m.width))
	}
	return "  " + style.Render(mark) + " " + ansi.Truncate(text, m.width-4, "…")
}

// probeMark shows without color what came of a probe.
func (m *Model) probeMark(i int) (string, lipgloss.Style) {
	switch {
	case !m.proofRun.probing.Ended(i) && m.proofRun.over:
		return "?", m.theme.Warn
	case !m.proofRun.probing.Ended(i):
		return "…", m.theme.Faint
	case m.proofRun.probing.Results[i].OK:
		return "✓", m.theme.Good
	default:
		return "✗", m.theme.Bad
	}
}

// probeInFull returns everything that is known of the selected probe.
func (m *Model) probeInFull() []string {
	r := m.proofRun.probing.Results[m.probe.At()]
	came := "not ended"
	if m.proofRun.probing.Ended(m.probe.At()) {
		came = termtext.Escape(r.Detail) + m.theme.Faint.Render(", after "+probeTook(r))
	}
	lines := []string{m.theme.Title.Render(termtext.Escape(r.Name)) + " " + r.Want.Must(), termtext.Escape(r.Target), came}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.width, "…")
	}
	return lines
}

func probeTook(r probe.Result) string {
	return (time.Duration(r.Took) * time.Microsecond).Round(100 * time.Microsecond).String()
}

// mustWidth is the columns of what must come of a probe.
var mustWidth = len(probe.Refused.Must())
