package welcome

import (
	"context"
	"slices"
	"strings"
	"testing"

	"aibox/internal/health"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// machine is one whose findings are given.
type machine struct {
	found []health.Finding
	looks int
	hang  bool // the look at Docker never ends
}

func (m *machine) Checks() []health.Check {
	m.looks++
	of := func(part health.Part) func(ctx context.Context) []health.Finding {
		return func(ctx context.Context) []health.Finding {
			if m.hang && part == health.Docker {
				<-ctx.Done()
			}
			return slices.DeleteFunc(slices.Clone(m.found), func(f health.Finding) bool { return f.Part != part })
		}
	}
	return []health.Check{
		{Name: "Docker", Part: health.Docker, Look: of(health.Docker)},
		{Name: "images", Part: health.Images, Look: of(health.Images)},
		{Name: "model", Part: health.Model, Look: of(health.Model)},
	}
}

var (
	daemon   = health.Finding{Name: "Docker", Part: health.Docker, State: health.OK, Detail: "29.1.0, rootless true"}
	noDaemon = health.Finding{Name: "rootless Docker with runsc", Part: health.Docker, State: health.Missing, Detail: "it does not answer", Mend: health.SetUp}
	stopped  = health.Finding{Name: "Docker", Part: health.Docker, State: health.Missing, Detail: "it does not answer", Mend: "sudo systemctl start docker"}
	codex    = health.Finding{Name: "image codex", Part: health.Images, State: health.OK, Image: "codex", Agent: true}
	nobody   = health.Finding{Name: "model", Part: health.Model, State: health.Warning, Detail: "there is no model", Mend: "start Ollama"}
	ollama   = health.Finding{Name: "model", Part: health.Model, State: health.OK, Detail: "ollama"}
)

// looked is a model that has looked at all there is.
func looked(t *testing.T, m *machine) *Model {
	t.Helper()
	model := New(m)
	for cmd := model.Begin(t.Context()); cmd != nil; {
		cmd, _ = model.Take(uitest.Answer(cmd))
	}
	return model
}

func view(m *Model, width int) string {
	lines := m.View(theme.New(true), width)
	return ansi.Strip(strings.Join(lines, "\n"))
}

func press(t *testing.T, m *Model, name string) []page.Request {
	t.Helper()
	cmd, own := m.Press(t.Context(), keymap.Press(name))
	if !own {
		t.Fatalf("%s is not its own", name)
	}
	if cmd == nil {
		return nil
	}
	request, _ := cmd().(page.Request)
	return []page.Request{request}
}

func TestEachStepIsShownWithItsStateAndEnterDoesTheNext(t *testing.T) {
	for name, test := range map[string]struct {
		found []health.Finding
		sees  []string
		asks  page.Request
	}{
		"no Docker": {
			[]health.Finding{noDaemon, nobody},
			[]string{"1 ✗ Docker", "it does not answer", "2 · an image     after Docker", "3 ! a model", "4 · a first run", "enter runs aibox doctor --fix"},
			page.Command{},
		},
		"a Docker that a person has to start": {
			[]health.Finding{stopped, ollama},
			[]string{"To mend it: sudo systemctl start docker. enter shows what is missing"},
			page.Doctor{},
		},
		"no image":    {[]health.Finding{daemon, ollama}, []string{"1 ✓ Docker", "2 ✗ an image     none is baked yet", "3 ✓ a model"}, page.Images{}},
		"no model":    {[]health.Finding{daemon, codex, nobody}, []string{"2 ✓ an image     codex", "3 ! a model      there is no model", "To mend it: start Ollama"}, page.Doctor{}},
		"all is done": {[]health.Finding{daemon, codex, ollama}, []string{"4 ▸ a first run", "enter asks what to run"}, page.NewRun{}},
	} {
		m := looked(t, &machine{found: test.found})
		for _, want := range test.sees {
			if !strings.Contains(view(m, 100), want) {
				t.Errorf("%s: no %q in\n%s", name, want, view(m, 100))
			}
		}
		asked := press(t, m, "enter")
		if command, ok := asked[0].(page.Command); ok {
			if _, wanted := test.asks.(page.Command); !wanted || !slices.Equal(command.Args, []string{"doctor", "--fix"}) || !command.Wait {
				t.Errorf("%s: asked %+v", name, command)
			}
		} else if asked[0] != test.asks {
			t.Errorf("%s: asked %+v", name, asked)
		}
	}
}

func TestAStepThatIsStillLookedAtIsWaitedFor(t *testing.T) {
	model := New(&machine{found: []health.Finding{ollama}, hang: true})
	cmd := model.Begin(t.Context())
	for range 3 { // that it began, the model and the images
		cmd, _ = model.Take(uitest.Answer(cmd))
	}
	for _, want := range []string{"1 … Docker       looking…", "2 … an image     looking…", "3 ✓ a model"} {
		if !strings.Contains(view(model, 80), want) {
			t.Errorf("no %q in\n%s", want, view(model, 80))
		}
	}
	if asked := press(t, model, "enter"); asked != nil {
		t.Errorf("asked %+v", asked)
	}
}

func TestTheMachineIsLookedAtOnceAndAgainWhenAsked(t *testing.T) {
	of := &machine{found: []health.Finding{stopped}}
	m := looked(t, of)
	if m.Begin(t.Context()) != nil {
		t.Error("it looks again by itself")
	}
	of.found = []health.Finding{daemon, codex, ollama}
	cmd, _ := m.Press(t.Context(), keymap.Press("r"))
	for cmd != nil {
		cmd, _ = m.Take(uitest.Answer(cmd))
	}
	if !strings.Contains(view(m, 80), "1 ✓ Docker") || of.looks != 2 {
		t.Errorf("%d looks\n%s", of.looks, view(m, 80))
	}
}

func TestAClickOnAStepDoesIt(t *testing.T) {
	m := looked(t, &machine{found: []health.Finding{daemon, codex, nobody}})
	for row, line := range strings.Split(view(m, 80), "\n") {
		cmd := m.Click(row)
		if step := strings.Contains(line, "an image "); step {
			if cmd == nil || cmd() != (page.Images{}) {
				t.Errorf("row %d: %q", row, line)
			}
		}
		if row < headRows && cmd != nil {
			t.Errorf("row %d is no step", row)
		}
	}
	if m.Click(99) != nil || m.Click(-1) != nil {
		t.Error("outside is a step")
	}
}

func TestTheStepsFitIntoANarrowScreen(t *testing.T) {
	m := looked(t, &machine{found: []health.Finding{stopped, nobody}})
	for _, width := range []int{40, 80, 200} {
		for line := range strings.SplitSeq(view(m, width), "\n") {
			if ansi.StringWidth(line) > width {
				t.Errorf("at %d columns: %q", width, line)
			}
		}
	}
}

func TestWithoutAMachineItOnlySaysHowToStart(t *testing.T) {
	m := New(nil)
	if m.Begin(t.Context()) != nil || m.Keys() != nil || m.Click(5) != nil {
		t.Error("it does something")
	}
	if _, own := m.Press(t.Context(), keymap.Press("enter")); own {
		t.Error("it takes keys")
	}
	if _, own := m.Take(tea.WindowSizeMsg{}); own {
		t.Error("it takes messages of others")
	}
	if !strings.Contains(view(m, 80), "n starts one") {
		t.Error(view(m, 80))
	}
}
