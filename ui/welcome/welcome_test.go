package welcome

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/doctor"
	"aibox/app/firstrun"
	"aibox/bakery"
	"aibox/internal/golden"
	"aibox/internal/secret"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a machine, its images and its models, as a test defines them.
type world struct {
	found  []doctor.Finding
	looks  int
	hang   bool // the check of Docker never ends
	agents []firstrun.Agent
	models firstrun.Models
	names  []string
	fail   error // of ListModels and Keep
	jobs   []bakery.Job
	put    []string
	kept   []string
	keys   map[string]secret.Value
}

func (w *world) Checks() []doctor.Check {
	w.looks++
	of := func(part doctor.Part) func(ctx context.Context) []doctor.Finding {
		return func(ctx context.Context) []doctor.Finding {
			if w.hang && part == doctor.Docker {
				<-ctx.Done()
			}
			return slices.DeleteFunc(slices.Clone(w.found), func(f doctor.Finding) bool { return f.Part != part })
		}
	}
	return []doctor.Check{
		{Name: "Docker", Part: doctor.Docker, Run: of(doctor.Docker)},
		{Name: "images", Part: doctor.Images, Run: of(doctor.Images)},
	}
}

func (w *world) Agents(context.Context) ([]firstrun.Agent, error) { return w.agents, nil }

func (w *world) Models(context.Context, string) (firstrun.Models, error) { return w.models, nil }

func (w *world) ListModels(_ context.Context, inference string) ([]string, error) {
	w.kept = append(w.kept, "list "+inference)
	return w.names, w.fail
}

func (w *world) UseKey(variable string, key secret.Value) { w.keys[variable] = key }

func (w *world) Keep(_ context.Context, key, text string) error {
	w.kept = append(w.kept, key+"="+text)
	return w.fail
}

func (w *world) Put(_ bool, names ...string) { w.put = append(w.put, names...) }
func (w *world) Jobs() []bakery.Job          { return w.jobs }

func (w *world) Changed(context.Context) <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

var (
	daemon   = doctor.Finding{Name: "Docker", Part: doctor.Docker, State: doctor.OK, Detail: "29.1.0, rootless"}
	noDaemon = doctor.Finding{Name: "rootless Docker with runsc", Part: doctor.Docker, State: doctor.Missing, Detail: "no daemon answers", Fix: doctor.SetupCommand}
	stopped  = doctor.Finding{Name: "Docker", Part: doctor.Docker, State: doctor.Missing, Detail: "no daemon answers", Fix: "sudo systemctl start docker"}
	kernel   = doctor.Finding{Name: "kernel", Part: doctor.Docker, State: doctor.Missing, Detail: "too old", Fix: "install a newer kernel, then reboot"}
	codex    = doctor.Finding{Name: "image codex", Part: doctor.Images, State: doctor.OK, Image: "codex", Agent: true}
	ollama   = firstrun.Server{Inference: "ollama", Title: "ollama", Local: true, Models: []string{"qwen3-coder:30b", "llama3"}}
	openai   = firstrun.Server{Inference: "openai", Title: "OpenAI", KeyName: "OPENAI_API_KEY"}
	gemini   = firstrun.Server{Inference: "gemini", Title: "Google Gemini", KeyName: "GEMINI_API_KEY", HasKey: true}
	unspoken = firstrun.Server{Inference: "anthropic", Title: "Anthropic", KeyName: "ANTHROPIC_API_KEY", Problem: errors.New("no dialect of Anthropic is spoken")}
)

func newWorld(found ...doctor.Finding) *world {
	return &world{
		found: found, keys: map[string]secret.Value{},
		agents: []firstrun.Agent{
			{Name: "opencode", Title: "OpenCode", Summary: "Open-source coding agent for any model", Image: "opencode"},
			{Name: "codex", Title: "Codex", Summary: "OpenAI's coding agent", Image: "codex"},
			{Name: "qwen", Title: "Qwen", Summary: "Alibaba's \x1b[2J coding agent", Image: "qwen"},
		},
		models: firstrun.Models{Servers: []firstrun.Server{ollama, openai, gemini, unspoken}},
		names:  []string{"gpt-mini", "gpt-large", "whisper"},
	}
}

// screen shows the steps alone, as a page.
type screen struct {
	*Model
	t             testing.TB
	theme         theme.Theme
	width, height int
	asked         []page.Request
	hasty         bool // keys come at once, not after a moment
}

// open shows the steps in a world, once everything is loaded.
func open(t testing.TB, w *world) *screen {
	t.Helper()
	s := &screen{Model: New(Services{Machine: w, Images: w, Choices: w}), t: t, theme: theme.New(true), width: 80, height: 20}
	s.now = func() time.Time { return noon }
	s.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	s.run(s.Begin(t.Context()))
	return s
}

// run runs a command, and what follows from its message.
func (s *screen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			s.run(cmd)
		}
	case page.Request:
		s.asked = append(s.asked, msg)
	default:
		if msg, current := page.Current(msg); current {
			cmd, _ := s.Take(s.t.Context(), msg)
			s.run(cmd)
		}
	}
}

func (s *screen) press(names ...string) {
	for _, name := range names {
		if !s.hasty {
			s.turned = time.Time{}
		}
		cmd, _ := s.Press(s.t.Context(), keymap.Press(name))
		s.run(cmd)
	}
}

func (s *screen) types(text string) {
	for _, r := range text {
		s.press(string(r))
	}
}

func (s *screen) view() string {
	return ansi.Strip(strings.Join(s.View(s.theme, s.width, s.height), "\n"))
}

func (s *screen) sees(wants ...string) {
	s.t.Helper()
	for _, want := range wants {
		if !strings.Contains(s.view(), want) {
			s.t.Errorf("%q is not shown:\n%s", want, s.view())
		}
	}
}

// bakes reports the state of the bakes.
func (s *screen) bakes(jobs ...bakery.Job) {
	s.run(func() tea.Msg { return bakes.Changed{Jobs: jobs} })
}

func TestEnterDoesNotDoAStepThatWasSelectedJustBefore(t *testing.T) {
	w := newWorld(daemon)
	s := &screen{Model: New(Services{Machine: w, Images: w, Choices: w}), t: t, theme: theme.New(true), width: 80, height: 20, hasty: true}
	now := noon
	s.now = func() time.Time { return now }
	s.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	s.run(s.Begin(t.Context()))
	if s.at != stepAgent {
		t.Fatalf("step %d is selected", s.at)
	}
	s.press("enter")
	s.sees("something else was selected just now")
	if len(w.put)+len(w.kept) > 0 {
		t.Errorf("baked %q, kept %q", w.put, w.kept)
	}
	now = now.Add(dialog.Grace)
	s.press("enter")
	if len(w.put) != 1 {
		t.Errorf("baked %q", w.put)
	}
}

// TestThePanelsMatchTheirGoldenViews goes through all panels of the steps.
func TestThePanelsMatchTheirGoldenViews(t *testing.T) {
	for _, size := range uitest.Sizes {
		w := newWorld(daemon)
		s := open(t, w)
		s.width, s.height = size[0], size[1]-4 // the dashboard has a head and a foot
		var views strings.Builder
		show := func(what string) {
			lines := strings.Split(s.view(), "\n")
			fmt.Fprintf(&views, "== %s\n", what)
			for _, line := range lines {
				if wide := ansi.StringWidth(line); wide > s.width {
					t.Errorf("%dx%d, %s: %d columns in %q", s.width, s.height, what, wide, line)
				}
				fmt.Fprintln(&views, strings.TrimRight(line, " "))
			}
			if len(lines) > s.height {
				t.Errorf("%dx%d, %s: %d rows", s.width, s.height, what, len(lines))
			}
		}
		show("choose an agent")
		s.press("down", "enter")
		base := bakery.Job{Name: bakery.Base, State: bakery.Baking, Began: noon.Add(-12 * time.Second), Steps: []bakery.JobStep{
			{Text: "[1/9] FROM debian", Kind: bakery.StepDone, Began: noon.Add(-12 * time.Second)},
			{Text: "[2/9] RUN apt-get install", Kind: bakery.StepStarted, Began: noon.Add(-9 * time.Second)},
		}, Log: []string{"▸ [2/9] RUN apt-get install", "  unpacking git", "  unpacking \x1b[2J ripgrep"}}
		s.bakes(bakery.Job{Name: "codex"}, base)
		show("the base image is baked")
		base.State = bakery.Done
		s.bakes(bakery.Job{Name: "codex", State: bakery.Failed, Began: noon.Add(-3 * time.Second), Ended: noon, Err: errors.New("no space left on the device")}, base)
		show("the image failed to bake")
		s.press("enter")
		s.bakes(bakery.Job{Name: "codex", State: bakery.Done, Began: noon, Ended: noon}, base)
		show("choose a model")
		s.press("down", "down")
		show("at a hosted server")
		s.press("enter")
		s.types("sk-1")
		show("a key is asked for")
		s.press("enter")
		show("a model is asked for")
		s.press("esc", "esc")
		show("back at the models")
		golden.Check(t, fmt.Sprintf("panels-%dx%d.golden", size[0], size[1]), views.String())
	}
}

func TestAMachineThatIsNotReadyIsSetUpByAKey(t *testing.T) {
	for name, test := range map[string]struct {
		missing doctor.Finding
		sees    []string
		asks    string
	}{
		"by the setup":      {noDaemon, []string{"1 ✗ this machine", "no daemon answers", "enter sets up what is missing, with aibox doctor --fix"}, "doctor --fix"},
		"by root":           {stopped, []string{"This needs root: sudo systemctl start docker", "enter runs it"}, "sudo systemctl start docker"},
		"only by the user":  {kernel, []string{"To fix it: install a newer kernel, then reboot.", "enter shows all checks"}, "doctor"},
		"once it is set up": {daemon, []string{"1 ✓ this machine  ready: Docker 29.1.0, rootless", "▸ 2 · an agent"}, ""},
	} {
		s := open(t, newWorld(test.missing))
		s.sees("Steps to your first session")
		s.sees(test.sees...)
		if test.asks == "" {
			continue
		}
		s.press("enter")
		got := ""
		switch of := s.asked[0].(type) {
		case page.Command:
			got = strings.Join(of.Args, " ")
		case page.System:
			got = strings.Join(of.Command, " ")
		case page.Doctor:
			got = "doctor"
		}
		if got != test.asks {
			t.Errorf("%s: asked %+v", name, s.asked)
		}
	}
}

func TestAnAgentIsOnlyChosenWhileTheMachineIsNotReady(t *testing.T) {
	s := open(t, newWorld(noDaemon))
	s.sees("▸ 1 ✗ this machine")
	s.press("tab")
	s.sees("▸ 2 · an agent", "choose ")
	if strings.Contains(s.agentVerb(), "bake") {
		t.Errorf("enter is said to %s without a daemon", s.agentVerb())
	}
}

func TestAnAgentIsBakedWithItsProgressOnTheSameScreen(t *testing.T) {
	w := newWorld(daemon)
	s := open(t, w)
	s.sees("▸ 2 · an agent", "▸ opencode    · to bake", "codex       · to bake", "Open-source coding agent for any model")
	s.press("down", "enter")
	if !slices.Equal(w.put, []string{"codex"}) || !slices.Equal(w.kept, []string{"agent=codex"}) {
		t.Errorf("baked %q, kept %q", w.put, w.kept)
	}
	base := bakery.Job{Name: bakery.Base, State: bakery.Baking, Began: noon.Add(-12 * time.Second), Steps: []bakery.JobStep{
		{Text: "[2/9] RUN apt-get install", Kind: bakery.StepStarted, Began: noon.Add(-9 * time.Second)},
	}, Log: []string{"▸ [2/9] RUN apt-get install", "  unpacking git"}}
	s.bakes(bakery.Job{Name: "codex"}, base)
	s.sees("codex: baking the base image, step 2/9 · 12s", "Baking base, the base image of codex", "RUN apt-get install", "unpacking git")
	base.State = bakery.Done
	s.bakes(bakery.Job{Name: "codex", State: bakery.Baking, Began: noon.Add(-3 * time.Second)}, base)
	s.sees("codex: baking, 3s", "Baking codex")
	s.bakes(bakery.Job{Name: "codex", State: bakery.Done, Began: noon, Ended: noon}, base)
	s.sees("2 ✓ an agent      codex is ready", "▸ 3 · a model")
}

func TestABakeContinuesInTheBackgroundAndComesBack(t *testing.T) {
	s := open(t, newWorld(daemon))
	s.press("enter")
	s.bakes(bakery.Job{Name: "opencode", State: bakery.Baking, Began: noon})
	s.press("esc")
	s.sees("opencode: baking, 0s", "▸ 3 · a model", "▸ qwen3-coder:30b")
	s.press("enter") // meanwhile the model is chosen
	s.sees("3 ✓ a model       qwen3-coder:30b of ollama", "▸ 2")
	s.press("p")
	s.sees("Baking opencode")
	s.press("tab", "tab")
	s.sees("▸ 4", "The steps above are not done yet")
	s.bakes(bakery.Job{Name: "opencode", State: bakery.Failed, Began: noon, Ended: noon, Err: errors.New("no space left")})
	s.press("shift+tab", "shift+tab")
	s.sees("opencode failed to bake", "no space left")
	s.press("esc")
	s.sees("✗ failed")
	s.press("p")
	s.sees("no space left")
	s.press("enter")
	if w := s.services.Images.(*world); !slices.Equal(w.put, []string{"opencode", "opencode"}) {
		t.Errorf("baked %q", w.put)
	}
}

func TestAFailedBaseImageShowsItsReason(t *testing.T) {
	s := open(t, newWorld(daemon))
	s.press("enter")
	s.bakes(bakery.Job{Name: "opencode", State: bakery.Failed, Err: errors.New("the base image was not baked")},
		bakery.Job{Name: bakery.Base, State: bakery.Failed, Err: errors.New("no route to the packages")})
	s.sees("opencode failed to bake", "Baking base, the base image of opencode", "no route to the packages")
}

func TestAModelOfThisMachineIsChosenAndKept(t *testing.T) {
	w := newWorld(daemon, codex)
	s := open(t, w)
	s.sees("2 ✓ an agent      codex is ready", "▸ 3 · a model", "qwen3-coder:30b", "llama3", "ollama, on this machine",
		"hosted; your code goes there; asks for a key", "key of GEMINI_API_KEY", "without a model")
	s.press("down", "enter")
	s.sees("3 ✓ a model       llama3 of ollama", "▸ 4")
	if !slices.Equal(w.kept, []string{"inference=ollama", "model=llama3"}) {
		t.Errorf("kept %q", w.kept)
	}
	s.press("enter")
	begin := s.asked[0].(page.NewRun).Begin
	if begin.Agent != "codex" || begin.Settings.Text("inference") != "ollama" || begin.Settings.Text("model") != "llama3" || begin.Prompt != "" {
		t.Errorf("begins with %+v", begin)
	}
}

func TestAHostedModelAsksForItsKeyHidden(t *testing.T) {
	w := newWorld(daemon, codex)
	s := open(t, w)
	s.press("down", "down", "enter")
	s.sees("Paste or type your OpenAI API key", "To keep it for later, set OPENAI_API_KEY")
	if !s.Typing() {
		t.Error("keys are not text")
	}
	s.press("enter") // nothing was typed
	s.types("sk-12345")
	s.Paste(tea.PasteMsg{Content: "6789"})
	if strings.Contains(s.view(), "sk-1") || strings.Contains(s.view(), "6789") {
		t.Errorf("the key is shown:\n%s", s.view())
	}
	s.press("enter")
	if got := w.keys["OPENAI_API_KEY"].Reveal(); got != "sk-123456789" || !slices.Equal(w.kept, []string{"list openai"}) {
		t.Errorf("the key is %q, asked %q", got, w.kept)
	}
	s.sees("▸ gpt-large", "gpt-mini", "whisper")
	s.types("mini")
	s.press("enter")
	s.sees("3 ✓ a model       gpt-mini of OpenAI")
	if len(w.kept) != 1 {
		t.Errorf("a model whose key is gone later became the default: %q", w.kept)
	}
	s.press("enter")
	if begin := s.asked[0].(page.NewRun).Begin; begin.Settings.Text("inference") != "openai" || begin.Settings.Text("model") != "gpt-mini" {
		t.Errorf("begins with %+v", begin)
	}
}

func TestAModelWhoseKeyWasTypedDoesNotBecomeTheDefaultLater(t *testing.T) {
	w := newWorld(daemon, codex)
	typed := openai
	typed.HasKey, typed.Typed = true, true
	w.models.Servers = []firstrun.Server{typed}
	s := open(t, w)
	s.sees("with the key that you typed")
	s.press("enter", "enter")
	s.sees("gpt-large of OpenAI")
	if !slices.Equal(w.kept, []string{"list openai"}) {
		t.Errorf("kept %q", w.kept)
	}
}

func TestServersThatTheAgentCannotUseAreBelowTheOthersAndTheirErrorGoesWithTheSelection(t *testing.T) {
	w := newWorld(daemon, codex)
	w.models.Servers = []firstrun.Server{unspoken, openai}
	s := open(t, w)
	s.sees("▸ OpenAI")
	s.press("down", "enter")
	if got := strings.Count(s.view(), unspoken.Problem.Error()); got != 2 { // in its row and below the list
		t.Errorf("the error is shown %d times:\n%s", got, s.view())
	}
	for _, leave := range []string{"up", "shift+tab"} {
		s.press("enter", leave)
		if s.err != nil {
			t.Errorf("after %s, the error is still shown:\n%s", leave, s.view())
		}
		s.press("down")
	}
}

func TestAModelThatIsNotListedCanBeTypedAndEscGoesBack(t *testing.T) {
	w := newWorld(daemon, codex)
	w.fail = errors.New("the server refuses the key")
	s := open(t, w)
	s.press("down", "down", "down", "enter") // its key is known
	s.sees("A model of Google Gemini", "the server refuses the key")
	s.press("esc")
	s.sees("▸ Google Gemini")
	s.press("down", "enter")
	s.sees("no dialect of Anthropic is spoken")
	w.fail = nil
	s.press("up", "enter")
	s.types("mine")
	s.sees("enter uses mine")
	s.press("enter")
	s.sees("mine of Google Gemini")
	if !slices.Contains(w.kept, "inference=gemini") {
		t.Errorf("kept %q", w.kept)
	}
}

func TestLeavingAQuestionDoesNotDropTheListOfServers(t *testing.T) {
	w := newWorld(daemon, codex)
	for _, ends := range []func(s *screen){
		func(s *screen) { s.press("esc") },
		func(s *screen) { s.types("sk-1"); s.press("enter") },
	} {
		s := open(t, w)
		s.press("down", "down", "enter")
		s.sees("API key")
		late := s.loadModels(t.Context(), "codex")
		ends(s)
		s.run(late)
		if s.press("esc"); !s.model.loaded {
			t.Errorf("the models are not loaded:\n%s", s.view())
		}
	}
}

func TestWithoutAModelTheSessionIsAFixedExampleAndSaysSo(t *testing.T) {
	w := newWorld(daemon, codex)
	s := open(t, w)
	s.press("end", "enter")
	s.sees("none: a built-in script plays a fixed example", "cannot", "hello.txt")
	if len(w.kept) != 0 {
		t.Errorf("the script became the default: %q", w.kept)
	}
	s.press("enter")
	begin := s.asked[0].(page.NewRun).Begin
	if begin.Settings.Text("inference") != "scripted" || !strings.Contains(begin.Prompt, "hello.txt") {
		t.Errorf("begins with %+v", begin)
	}
}

func TestWhatIsReadyAlreadyIsNotAskedFor(t *testing.T) {
	w := newWorld(daemon, codex)
	w.models.Current = firstrun.Model{Name: "qwen3", Title: "ollama"}
	s := open(t, w)
	s.sees("2 ✓ an agent", "3 ✓ a model       qwen3 of ollama", "▸ 4 ▸ your session")
	s.press("enter")
	if begin := s.asked[0].(page.NewRun).Begin; begin.Agent != "codex" || begin.Settings.Has("inference") {
		t.Errorf("begins with %+v", begin)
	}
}

func TestTheMachineIsCheckedOnceAndAgainWhenAsked(t *testing.T) {
	w := newWorld(stopped)
	s := open(t, w)
	if s.Begin(t.Context()) != nil {
		t.Error("it checks again by itself")
	}
	w.found = []doctor.Finding{daemon, codex}
	s.press("r")
	s.sees("1 ✓ this machine", "2 ✓ an agent")
	if w.looks != 2 {
		t.Errorf("%d checks", w.looks)
	}
}

func TestAStepThatIsStillCheckedIsWaitedFor(t *testing.T) {
	w := newWorld()
	w.hang = true
	model := New(Services{Machine: w, Images: w, Choices: w})
	s := &screen{Model: model, t: t, theme: theme.New(true), width: 80, height: 20}
	cmd := model.checkup.Begin(t.Context())
	for range 2 { // the list of checks, and the images
		msg := uitest.Answer(cmd)
		cmd, _ = model.checkup.Take(msg)
	}
	s.sees("1 … this machine  checking…")
	s.press("enter")
	if len(s.asked) != 0 {
		t.Errorf("asked %+v", s.asked)
	}
}

func TestTheStepsFitEveryScreen(t *testing.T) {
	ways := map[string][]string{
		"agents": {}, "progress": {"enter"}, "models": {"tab"}, "key": {"tab", "down", "down", "enter"}, "names": {"tab", "down", "down", "down", "enter"}, "session": {"tab", "tab"}, "machine": {"shift+tab"},
	}
	for name, keys := range ways {
		for _, size := range [][2]int{{40, 8}, {40, 9}, {80, 14}, {80, 20}, {120, 36}, {200, 56}} {
			s := open(t, newWorld(daemon))
			s.width, s.height = size[0], size[1]
			s.press(keys...)
			if name == "progress" {
				s.bakes(bakery.Job{Name: "opencode", State: bakery.Failed, Err: errors.New(strings.Repeat("no space ", 60)), Log: slices.Repeat([]string{"line"}, 50)})
			}
			lines := s.View(s.theme, size[0], size[1])
			if len(lines) > size[1] {
				t.Errorf("%s at %v: %d rows", name, size, len(lines))
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > size[0] {
					t.Errorf("%s at %v: %q", name, size, line)
				}
			}
		}
	}
}

func TestWithoutAMachineItOnlySaysHowToStart(t *testing.T) {
	m := New(Services{})
	if m.Begin(t.Context()) != nil || m.Keys() != nil || m.Click(t.Context(), 5) != nil {
		t.Error("it does something")
	}
	if _, own := m.Press(t.Context(), keymap.Press("enter")); own {
		t.Error("it takes keys")
	}
	if _, own := m.Take(t.Context(), tea.WindowSizeMsg{}); own {
		t.Error("it takes messages of others")
	}
	if view := strings.Join(m.View(theme.New(true), 80, 20), "\n"); !strings.Contains(ansi.Strip(view), "n starts one") {
		t.Error(view)
	}
}

func TestOnlyStepsThatExistAreOffered(t *testing.T) {
	s := open(t, newWorld(daemon, codex))
	offered := func() (titles []string) {
		for _, b := range s.Keys() {
			if k := b.Help().Key; k == "tab" || k == "shift+tab" {
				titles = append(titles, k)
			}
		}
		return titles
	}
	for range stepCount {
		s.press("tab")
	}
	if got := offered(); !slices.Equal(got, []string{"shift+tab"}) {
		t.Errorf("the last step offers %q", got)
	}
	for range stepCount {
		s.press("shift+tab")
	}
	if got := offered(); !slices.Equal(got, []string{"tab"}) {
		t.Errorf("the first step offers %q", got)
	}
}
