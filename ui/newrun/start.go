package newrun

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"aibox/app/compose"
	"aibox/app/doctor"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// startState is how far the start has come.
type startState int

const (
	notStarted startState = iota
	starting
	failed
	started
)

// startStep is the last step: an overview of the run, then the progress of its start.
type startStep struct {
	*bindings
	now           func() time.Time
	overview      func(width, height int) []string
	width, height int

	missing func() (text string, at stepID) // the choice that the user has not made yet, to which enter goes

	problem error // why the run cannot be started; nil if it can
	canBake bool  // its image is missing and can be baked for the start
	bakes   bool  // the user wants it baked, by a start that may still wait for a check
	noModel bool  // there is no model, or the check said so

	state        startState
	cancel       context.CancelFunc
	steps        <-chan session.Step
	stages       []stage
	err          error // why the run was not started, or why some of its sessions were not
	missingImage bool
	output       []string        // of the bake step that failed, raw
	id           session.ID      // once it runs
	batch        session.BatchID // of the sessions that were started, if they are several
	left         bool            // the user is on the way to the started session
	series       page.Latest
}

// stage is a stage of the start.
type stage struct {
	session.Step
	begun time.Time
}

type (
	stageChanged struct{ step session.Step }
	startDone    struct {
		started compose.Started
		err     error
	}
	tick struct{}
)

// tickTime is how often the time of a stage is drawn.
const tickTime = 100 * time.Millisecond

// begin starts a run in the background. With bake a missing image is baked first.
func (s *startStep) begin(ctx context.Context, runs Runs, r run.Request, bake bool) tea.Cmd {
	ctx, cancel := context.WithCancel(ctx)
	steps := make(chan session.Step, 64)
	s.clear()
	s.state, s.cancel, s.steps = starting, cancel, steps
	return tea.Batch(s.series.Replace(func() tea.Msg {
		defer cancel()
		defer close(steps)
		ran, err := runs.Start(ctx, r, bake, func(step session.Step) {
			select {
			case steps <- step:
			case <-ctx.Done():
			}
		})
		if err == nil {
			_ = runs.Remember(r) // on an error, the next run begins with the settings
		}
		return startDone{ran, err}
	}), s.nextStage(), s.tick())
}

// clear forgets an earlier start.
func (s *startStep) clear() {
	s.series.Cancel()
	s.state, s.stages, s.err, s.missingImage, s.output, s.id, s.batch = notStarted, nil, nil, false, nil, "", ""
}

// canSetUp reports whether the run cannot be started because of something that the setup of
// this machine can fix.
func (s *startStep) canSetUp() bool {
	err := s.err
	if s.state == notStarted {
		err = s.problem
	}
	return slices.ContainsFunc(fault.Hints(err), func(hint string) bool { return strings.Contains(hint, doctor.SetupCommand) })
}

// busy reports whether a start is under way or done: nothing else can be changed then.
func (s *startStep) busy() bool { return s.state == starting || s.state == started }

// nextStage waits for the next stage.
func (s *startStep) nextStage() tea.Cmd {
	steps := s.steps
	return s.series.Continue(func() tea.Msg {
		if step, ok := <-steps; ok {
			return stageChanged{step}
		}
		return nil
	})
}

func (s *startStep) tick() tea.Cmd {
	return s.series.Continue(page.After(tickTime, tick{}))
}

// ticked waits for the next tick while the start is under way.
func (s *startStep) ticked() tea.Cmd {
	if s.state != starting {
		return nil
	}
	return s.tick()
}

// setStage records a stage that has begun or ended.
func (s *startStep) setStage(step session.Step) {
	for i := range s.stages {
		if s.stages[i].Name == step.Name && !s.stages[i].Done {
			s.stages[i].Step = step
			return
		}
	}
	s.stages = append(s.stages, stage{step, s.now()})
}

// finish records how the start ended.
func (s *startStep) finish(msg startDone) {
	s.err, s.missingImage, s.output, s.id, s.batch = msg.err, msg.started.MissingImage, msg.started.Output, msg.started.ID, msg.started.Batch
	s.state = started
	if s.err != nil {
		s.state = failed
		return
	}
	s.err = msg.started.Failed
}

// ran returns the id of the batch or session that was started.
func (s *startStep) ran() string { return cmp.Or(string(s.batch), string(s.id)) }

func (*startStep) focus() tea.Cmd { return nil }

func (*startStep) blur() {}

func (s *startStep) setSize(width, height int) { s.width, s.height = width, height }

func (s *startStep) update(msg tea.Msg) (outcome, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return s.press(msg), nil
	case tea.MouseClickMsg:
		if s.state == notStarted && msg.X < ansi.StringWidth(startButton) && strings.HasPrefix(s.line(msg.Y), startButton) {
			return start, nil
		}
	}
	return stay, nil
}

// line is a line of the overview as text; empty where there is none.
func (s *startStep) line(y int) string {
	if lines := s.overview(s.width, s.height); y >= 0 && y < len(lines) {
		return ansi.Strip(lines[y])
	}
	return ""
}

func (s *startStep) press(msg tea.KeyPressMsg) outcome {
	name := msg.String()
	switch s.state {
	case starting:
		if name == "esc" || name == "ctrl+c" {
			return cancel
		}
		return stay
	case started:
		switch name {
		case "enter":
			return watch
		case "esc", "q":
			return leave
		}
		return stay
	}
	switch {
	case name == "enter":
		return start
	case key.Matches(msg, s.bake) && s.canBake:
		return startBake
	case key.Matches(msg, s.scripted) && s.noModel:
		return useScripted
	case key.Matches(msg, s.server) && s.noModel:
		return chooseServer
	case key.Matches(msg, s.setUp) && s.canSetUp():
		return setUp
	case key.Matches(msg, s.more):
		return moreTimes
	case key.Matches(msg, s.fewer):
		return fewerTimes
	case name == "c":
		return copyLine
	case name == "shift+tab":
		return backward
	}
	return stay
}

func (s *startStep) view(t theme.Theme, _ bool) []string {
	if s.state == notStarted {
		return s.overview(s.width, s.height)
	}
	return s.progress(t)
}

func (s *startStep) keys() []key.Binding {
	switch s.state {
	case starting:
		return []key.Binding{keymap.Bind("cancel the start", "esc")}
	case started:
		return []key.Binding{keymap.Bind("open it", "enter"), keymap.Bind("leave it running", "esc")}
	}
	keys := []key.Binding{s.startNow}
	if text, _ := s.missing(); text != "" {
		keys[0] = keymap.Bind(text, "enter")
	}
	if s.canBake {
		keys = append(keys, s.bake)
	}
	if s.noModel {
		keys = append(keys, s.scripted, s.server)
	}
	if s.canSetUp() {
		keys = append(keys, s.setUp)
	}
	return append(keys, s.back, s.copyCommand, s.talk, s.toSteps, s.more, s.fewer)
}

func (*startStep) takesEsc() bool { return false }

func (s *startStep) status() (text string, complete bool) {
	switch {
	case s.state == starting:
		text = "starting"
	case s.state == started:
		text = "running"
	case s.problem != nil:
		text = "not yet"
	default:
		text = "ready"
	}
	return text, s.problem == nil
}
