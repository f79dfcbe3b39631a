package doctor

import (
	"context"
	"fmt"
	"slices"

	"aibox/app/doctor"
	"aibox/internal/probe"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// proofPane runs the proof of isolation and shows it in place of the list.
type proofPane struct {
	run     *proofRun // nil before the first one
	answers page.Latest
	cursor  cursor.Cursor // in the probes
	note    *frame.Note   // of the screen
	theme   theme.Theme

	width, height int
}

// proofRun is a proof, running or ended.
type proofRun struct {
	stages  []session.Step
	probing doctor.Probing
	kernel  string // of the sandbox, once it is known
	over    bool
	err     error // why it ended without a result
	stream  <-chan session.Step
	result  <-chan proofEnded
}

func (t *proofRun) running() bool { return t != nil && !t.over }

// stage carries a stage that begins or ends.
type stage struct {
	step session.Step
}

// proofEnded carries the end of a proof.
type proofEnded struct {
	proof *doctor.Proof
	err   error
}

// resize sets the cells of the pane.
func (p *proofPane) resize(width, height int) {
	p.width, p.height = width, height
	p.fit()
}

// start starts a proof. Its command ends with ctx.
func (p *proofPane) start(ctx context.Context, machine Machine) tea.Cmd {
	stages, result := make(chan session.Step), make(chan proofEnded, 1)
	p.run = &proofRun{stream: stages, result: result}
	p.cursor.Go(0)
	p.fit()
	p.note.Say("", nil)
	next := p.run.next()
	return p.answers.Replace(func() tea.Msg {
		go func() {
			defer close(stages)
			proof, err := machine.Prove(ctx, func(step session.Step) {
				select {
				case stages <- step:
				case <-ctx.Done():
				}
			})
			result <- proofEnded{proof, err}
		}()
		return next()
	})
}

// next waits for the next stage, or for the end.
func (t *proofRun) next() tea.Cmd {
	return func() tea.Msg {
		if step, more := <-t.stream; more {
			return stage{step}
		}
		return <-t.result
	}
}

// takeStage shows a stage and waits for the next one.
func (p *proofPane) takeStage(msg stage) tea.Cmd {
	p.run.take(msg.step)
	p.fit()
	return p.answers.Continue(p.run.next())
}

// take stores a stage or a probe that begins or ends.
func (t *proofRun) take(step session.Step) {
	if step.Probe != nil {
		t.probing.Take(*step.Probe, step.Done)
		return
	}
	for i, known := range t.stages {
		if known.Name == step.Name {
			t.stages[i] = step
			return
		}
	}
	t.stages = append(t.stages, step)
}

// end shows the results and reports them in the note.
func (p *proofPane) end(msg proofEnded) {
	p.run.over = true
	if msg.err != nil {
		p.run.err = msg.err
		p.note.Say("", msg.err)
		return
	}
	p.run.kernel = msg.proof.Kernel
	for _, result := range msg.proof.Results {
		p.run.probing.Take(result, true)
	}
	p.fit()
	if msg.proof.Failed == 0 {
		p.note.Say(fmt.Sprintf("probes %d/%d passed: the sandbox is isolated", len(msg.proof.Results), len(msg.proof.Results)), nil)
		return
	}
	p.cursor.Go(slices.IndexFunc(p.run.probing.Results, func(r probe.Result) bool { return !r.OK }))
	p.note.Say("", fmt.Errorf("%d of %d probes failed: the sandbox is not isolated", msg.proof.Failed, len(msg.proof.Results)))
}

// fit updates the cursor's range.
func (p *proofPane) fit() {
	if p.run != nil {
		p.cursor.Fit(len(p.run.probing.Results), max(1, p.height-len(p.head())-probePane))
	}
}
