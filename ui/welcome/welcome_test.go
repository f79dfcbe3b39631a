package welcome

import (
	"context"
	"slices"
	"strings"
	"testing"

	"aibox/app/doctor"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// machine is one whose findings are given.
type machine struct {
	found []doctor.Finding
	looks int
	hang  bool // the look at Docker never ends
}

func (m *machine) Checks() []doctor.Check {
	m.looks++
	of := func(part doctor.Part) func(ctx context.Context) []doctor.Finding {
		return func(ctx context.Context) []doctor.Finding {
			if m.hang && part == doctor.Docker {
				<-ctx.Done()
			}
			return slices.DeleteFunc(slices.Clone(m.found), func(f doctor.Finding) bool { return f.Part != part })
		}
	}
	return []doctor.Check{
		{Name: "Docker", Part: doctor.Docker, Run: of(doctor.Docker)},
		{Name: "images", Part: doctor.Images, Run: of(doctor.Images)},
		{Name: "model", Part: doctor.Model, Run: of(doctor.Model)},
	}
}

var (
	daemon   = doctor.Finding{Name: "Docker", Part: doctor.Docker, State: doctor.OK, Detail: "29.1.0, rootless true"}
	noDaemon = doctor.Finding{Name: "rootless Docker with runsc", Part: doctor.Docker, State: doctor.Missing, Detail: "it does not answer", Fix: doctor.SetupCommand}
	stopped  = doctor.Finding{Name: "Docker", Part: doctor.Docker, State: doctor.Missing, Detail: "it does not answer", Fix: "sudo systemctl start docker"}
	codex    = doctor.Finding{Name: "image codex", Part: doctor.Images, State: doctor.OK, Image: "codex", Agent: true}
	nobody   = doctor.Finding{Name: "model", Part: doctor.Model, State: doctor.Warning, Detail: "there is no model", Fix: "start Ollama"}
	ollama   = doctor.Finding{Name: "model", Part: doctor.Model, State: doctor.OK, Detail: "ollama"}
)

// looked is a model that has checked all there is.
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
		found []doctor.Finding
		sees  []string
		asks  page.Request
	}{
		"no Docker": {
			[]doctor.Finding{noDaemon, nobody},
			[]string{"1 ✗ Docker", "it does not answer", "2 · an image     after Docker", "3 ! a model", "4 · a first run", "enter runs aibox doctor --fix"},
			page.Command{},
		},
		"a Docker that a person has to start": {
			[]doctor.Finding{stopped, ollama},
			[]string{"To fix it: sudo systemctl start docker. enter shows what is missing"},
			page.Doctor{},
		},
		"no image":    {[]doctor.Finding{daemon, ollama}, []string{"1 ✓ Docker", "2 ✗ an image     none has been baked yet", "3 ✓ a model"}, page.Images{}},
		"no model":    {[]doctor.Finding{daemon, codex, nobody}, []string{"2 ✓ an image     codex", "3 ! a model      there is no model", "To fix it: start Ollama"}, page.Doctor{}},
		"all is done": {[]doctor.Finding{daemon, codex, ollama}, []string{"4 ▸ a first run", "enter asks what to run"}, page.NewRun{}},
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
	model := New(&machine{found: []doctor.Finding{ollama}, hang: true})
	cmd := model.Begin(t.Context())
	for range 3 { // that it began, the model and the images
		cmd, _ = model.Take(uitest.Answer(cmd))
	}
	for _, want := range []string{"1 … Docker       checking…", "2 … an image     checking…", "3 ✓ a model"} {
		if !strings.Contains(view(model, 80), want) {
			t.Errorf("no %q in\n%s", want, view(model, 80))
		}
	}
	if asked := press(t, model, "enter"); asked != nil {
		t.Errorf("asked %+v", asked)
	}
}

func TestTheMachineIsLookedAtOnceAndAgainWhenAsked(t *testing.T) {
	of := &machine{found: []doctor.Finding{stopped}}
	m := looked(t, of)
	if m.Begin(t.Context()) != nil {
		t.Error("it looks again by itself")
	}
	of.found = []doctor.Finding{daemon, codex, ollama}
	cmd, _ := m.Press(t.Context(), keymap.Press("r"))
	for cmd != nil {
		cmd, _ = m.Take(uitest.Answer(cmd))
	}
	if !strings.Contains(view(m, 80), "1 ✓ Docker") || of.looks != 2 {
		t.Errorf("%d looks\n%s", of.looks, view(m, 80))
	}
}

func TestAClickOnAStepDoesIt(t *testing.T) {
	m := looked(t, &machine{found: []doctor.Finding{daemon, codex, nobody}})
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
	m := looked(t, &machine{found: []doctor.Finding{stopped, nobody}})
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
