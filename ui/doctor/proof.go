package doctor

import (
	"fmt"
	"slices"

	"aibox/app/doctor"
	"aibox/internal/probe"
	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// proofRun is a proof, running or ended.
type proofRun struct {
	stages  []session.Step
	probing doctor.Probing
	kernel  string // of the box, once it is known
	over    bool
	stream  <-chan session.Step
	result  <-chan proofEnded
}

func (t *proofRun) running() bool { return t != nil && !t.over }

// stage is a stage of a trial that begins or ends.
type stage struct {
	step session.Step
}

// proofEnded is the end of a trial.
type proofEnded struct {
	proof *doctor.Proof
	err   error
}

// prove begins a trial and shows it.
func (m *Model) prove() tea.Cmd {
	ctx, machine := m.ctx, m.machine
	stages, result := make(chan session.Step), make(chan proofEnded, 1)
	m.proofRun, m.proving = &proofRun{stream: stages, result: result}, true
	m.probe.Go(0)
	m.fitProof()
	m.note.Say("", nil)
	next := m.proofRun.next()
	return m.proofRuns.Replace(func() tea.Msg {
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

func (m *Model) takeStage(msg stage) tea.Cmd {
	m.proofRun.take(msg.step)
	m.fitProof()
	return m.proofRuns.Continue(m.proofRun.next())
}

// take takes a stage, or a probe, that begins or ends.
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

func (m *Model) proofEnded(msg proofEnded) {
	m.proofRun.over = true
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	m.proofRun.kernel = msg.proof.Kernel
	for _, result := range msg.proof.Results {
		m.proofRun.probing.Take(result, true)
	}
	m.fitProof()
	if msg.proof.Failed == 0 {
		m.note.Say(fmt.Sprintf("all %d probes passed: the sandbox is isolated", len(msg.proof.Results)), nil)
		return
	}
	m.probe.Go(slices.IndexFunc(m.proofRun.probing.Results, func(r probe.Result) bool { return !r.OK }))
	m.note.Say("", fmt.Errorf("%d of %d probes failed: the sandbox is not isolated", msg.proof.Failed, len(msg.proof.Results)))
}

// fitProof tells how many probes there are and how many of them can be seen.
func (m *Model) fitProof() {
	if m.proofRun != nil {
		m.probe.Fit(len(m.proofRun.probing.Results), max(1, m.bodyHeight()-len(m.proofHead())-probePane))
	}
}
