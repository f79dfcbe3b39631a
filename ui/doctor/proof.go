package doctor

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/health"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/frame"

	tea "charm.land/bubbletea/v2"
)

// trial is a proof that goes on or is over. Its address tells it from others.
type trial struct {
	stages []session.Step
	proof  *health.Proof
	over   bool
	stream <-chan session.Step
	result <-chan proved
}

func (t *trial) running() bool { return t != nil && !t.over }

// stage is a stage of a trial that begins or ends.
type stage struct {
	of   *trial
	step session.Step
}

// proved is the end of a trial.
type proved struct {
	of    *trial
	proof *health.Proof
	err   error
}

// prove begins a trial and shows it.
func (m *Model) prove() tea.Cmd {
	ctx, machine := m.ctx, m.machine
	stages, result := make(chan session.Step), make(chan proved, 1)
	t := &trial{stream: stages, result: result}
	m.trial, m.proving = t, true
	m.scroll.Go(0)
	m.fitProof()
	m.note.Say("", nil)
	next := t.next()
	return func() tea.Msg {
		go func() {
			defer close(stages)
			proof, err := machine.Prove(ctx, func(step session.Step) {
				select {
				case stages <- step:
				case <-ctx.Done():
				}
			})
			result <- proved{t, proof, err}
		}()
		return next()
	}
}

// next waits for the next stage, or for the end.
func (t *trial) next() tea.Cmd {
	return func() tea.Msg {
		if step, more := <-t.stream; more {
			return stage{t, step}
		}
		return <-t.result
	}
}

func (m *Model) staged(msg stage) tea.Cmd {
	if msg.of != m.trial {
		return nil
	}
	for i, known := range m.trial.stages {
		if known.Name == msg.step.Name {
			m.trial.stages[i] = msg.step
			return m.trial.next()
		}
	}
	m.trial.stages = append(m.trial.stages, msg.step)
	m.fitProof()
	return m.trial.next()
}

func (m *Model) proved(msg proved) {
	if msg.of != m.trial {
		return
	}
	m.trial.proof, m.trial.over = msg.proof, true
	m.fitProof()
	switch {
	case msg.err != nil:
		m.note.Say("", msg.err)
	case msg.proof.Failed > 0:
		m.note.Say("", fmt.Errorf("%d of %d probes came out wrong: the box is not closed", msg.proof.Failed, len(msg.proof.Results)))
	default:
		m.note.Say(fmt.Sprintf("all %d probes came out as they must: the box is closed", len(msg.proof.Results)), nil)
	}
}

// fitProof tells how far the proof can be scrolled.
func (m *Model) fitProof() {
	if m.trial != nil {
		m.scroll.Fit(max(1, len(m.trialView())-m.bodyHeight()+1), 1)
	}
}

// trialView is the stages, and what the probes found.
func (m *Model) trialView() []string {
	lines := make([]string, 0, m.height)
	for _, step := range m.trial.stages {
		mark := m.theme.Faint.Render("…")
		took := ""
		if step.Done {
			mark, took = m.theme.Good.Render("✓"), m.theme.Faint.Render(" "+amount.Took(step.Took))
		}
		lines = append(lines, frame.Pad(fmt.Sprintf("%s %-10s %s%s", mark, termtext.Escape(step.Name), termtext.Escape(step.Detail), took), m.width))
	}
	if m.trial.proof == nil {
		return lines
	}
	lines = append(lines, "", m.theme.Title.Render(frame.Pad("In a box with kernel "+termtext.Escape(m.trial.proof.Kernel), m.width)))
	name, target := 0, 0
	for _, r := range m.trial.proof.Results {
		name, target = max(name, len(r.Name)), max(target, len(r.Target))
	}
	name, target = min(name, m.width*2/5), min(target, m.width/4)
	for _, r := range m.trial.proof.Results {
		mark := m.theme.Good.Render("✓")
		if !r.OK {
			mark = m.theme.Bad.Render("✗")
		}
		line := mark + " " + frame.Pad(termtext.Escape(r.Name), name) + "  " + frame.Pad(termtext.Escape(r.Target), target) +
			"  " + frame.Pad(r.Want.Must(), mustWidth) + "  " + m.theme.Faint.Render(termtext.Escape(r.Detail))
		lines = append(lines, frame.Pad(line, m.width))
	}
	return lines
}

// mustWidth is the columns of what must come of a probe.
const mustWidth = len("must be refused")
