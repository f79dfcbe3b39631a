package welcome

import (
	"aibox/app/firstrun"
	"aibox/bakery"
	"aibox/internal/termtext"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// agentStep asks for an agent, whose image is then baked.
type agentStep struct {
	all      []firstrun.Agent
	ready    map[string]bool // the images that match their recipes
	jobs     []bakery.Job
	chosen   string // the agent; empty for none yet
	watching bool   // the progress of the bake is shown in place of the list
	cursor   cursor.Cursor
}

// find returns an agent, or nil.
func (s *agentStep) find(name string) *firstrun.Agent {
	for i := range s.all {
		if s.all[i].Name == name {
			return &s.all[i]
		}
	}
	return nil
}

// suggest chooses an agent whose image is ready, if there is one and none is chosen.
func (s *agentStep) suggest() {
	for _, a := range s.all {
		if s.chosen == "" && s.ready[a.Image] {
			s.chosen = a.Name
		}
	}
}

// focus puts the cursor on the chosen agent.
func (s *agentStep) focus() {
	s.cursor.Fit(len(s.all), max(1, len(s.all)))
	for i, a := range s.all {
		if a.Name == s.chosen {
			s.cursor.Go(i)
		}
	}
}

// likely returns the chosen agent, or else the one that is suggested first.
func (s *agentStep) likely() string {
	if s.chosen == "" && len(s.all) > 0 {
		return s.all[0].Name
	}
	return s.chosen
}

// done reports whether the chosen agent can start.
func (s *agentStep) done() bool {
	a := s.find(s.chosen)
	return a != nil && s.ready[a.Image]
}

// selected returns the agent under the cursor, or nil.
func (s *agentStep) selected() *firstrun.Agent {
	if s.cursor.At() >= len(s.all) {
		return nil
	}
	return &s.all[s.cursor.At()]
}

// jobOf returns the bake of an image, or nil.
func (s *agentStep) jobOf(image string) *bakery.Job {
	for i := range s.jobs {
		if s.jobs[i].Name == image {
			return &s.jobs[i]
		}
	}
	return nil
}

// done reports whether a bake has made its image.
func done(job bakery.Job) bool { return job.State == bakery.Done || job.State == bakery.Reused }

// job returns the bake of the chosen agent, or nil.
func (s *agentStep) job() *bakery.Job {
	if a := s.find(s.chosen); a != nil {
		return s.jobOf(a.Image)
	}
	return nil
}

// working returns the bake in progress that the chosen agent waits for: its own, or that
// of the base image below it. It returns nil for none.
func (s *agentStep) working() *bakery.Job {
	job := s.job()
	if job == nil || job.State.Over() {
		return nil
	}
	if base := s.jobOf(bakery.Base); base != nil && !base.State.Over() && job.State == bakery.Waiting {
		return base
	}
	return job
}

// text returns the state of the step in a few words.
func (s *agentStep) text(p bakes.Painter) (string, lipgloss.Style) {
	job, working := s.job(), s.working()
	switch {
	case working != nil && working.Name == bakery.Base:
		return s.chosen + ": baking the base image, " + p.Summary(working), p.Theme.Live
	case working != nil:
		return s.chosen + ": baking, " + p.Summary(working), p.Theme.Live
	case s.done():
		return s.chosen + " is ready", p.Theme.Plain
	case job != nil && job.State == bakery.Failed:
		return s.chosen + " failed to bake", p.Theme.Bad
	case s.chosen != "":
		return s.chosen + " is not baked yet", p.Theme.Plain
	default:
		return "choose one", p.Theme.Faint
	}
}

// imageText returns the state of an agent's image.
func (s *agentStep) imageText(a firstrun.Agent) string {
	job := s.jobOf(a.Image)
	switch {
	case s.ready[a.Image]:
		return "✓ ready"
	case job != nil && !job.State.Over():
		return "… baking"
	case job != nil && job.State == bakery.Failed:
		return "✗ failed"
	default:
		return "· to bake"
	}
}

// nameWidth and stateWidth are columns of the lists, in cells.
const (
	nameWidth  = 11
	stateWidth = 10
)

// view returns the list of agents, or the progress of the bake.
func (s *agentStep) view(p bakes.Painter, width, height int) []string {
	if job := s.shownJob(); s.watching && job != nil {
		return s.progress(p, job, width, height)
	}
	s.cursor.Fit(len(s.all), max(1, height-1))
	lines := []string{p.Theme.Faint.Render(frame.Ends(width, "Its image is baked once, in a few minutes. You can add others later.", s.cursor.Position()))}
	from, to := s.cursor.Window()
	for i := from; i < to; i++ {
		a := s.all[i]
		text := frame.Pad(termtext.Escape(a.Name), nameWidth) + " " + frame.Pad(s.imageText(a), stateWidth) + " " + termtext.Escape(a.Summary)
		lines = append(lines, listLine(p.Theme, text, i == s.cursor.At(), width))
	}
	if len(s.all) == 0 {
		lines = append(lines, p.Theme.Faint.Render("loading the agents…"))
	}
	return lines
}

// shownJob returns the bake to show: the one in progress, or the last one of the agent. If
// that failed for lack of the base image, the bake of the base image has the reason.
func (s *agentStep) shownJob() *bakery.Job {
	if working := s.working(); working != nil {
		return working
	}
	job, base := s.job(), s.jobOf(bakery.Base)
	if job != nil && base != nil && job.State == bakery.Failed && base.State == bakery.Failed {
		return base
	}
	return job
}

// progress returns the progress of a bake, or why it failed.
func (s *agentStep) progress(p bakes.Painter, job *bakery.Job, width, height int) []string {
	title := "Baking " + termtext.Escape(job.Name)
	if job.Name == bakery.Base {
		title += ", the base image of " + termtext.Escape(s.chosen)
	}
	lines := []string{ansi.Truncate(p.Theme.Title.Render(title)+"  "+p.Summary(job), width, "…")}
	return append(lines, p.Lines(job, width, max(0, height-len(lines)))...)
}

// listLine returns a line of a list.
func listLine(t theme.Theme, text string, selected bool, width int) string {
	line := cursor.Here(selected) + " " + text
	if selected {
		return t.Selected.Render(frame.Pad(line, width))
	}
	return ansi.Truncate(line, width, "…")
}
