package newrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/config"
	"aibox/internal/fault"
	"aibox/internal/prompts"
	"aibox/internal/secret"
	"aibox/session"
	"aibox/session/draft"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// options are those of an agent.
type codexOptions struct {
	Effort string       `label:"Effort" help:"How hard it tries" choices:"low mid high" default:"mid"`
	Turns  int          `label:"Turns" help:"How often it may go on" min:"1" max:"99"`
	Web    bool         `label:"Web" help:"Search the web" mode:"interactive"`
	Key    secret.Value `label:"Key" help:"For its vendor" secret:"true" env:"VENDOR_KEY"`
}

// world is services that remember what was asked of them.
type world struct {
	t       testing.TB
	recent  []string
	places  map[string]Place
	folders []Folder
	again   draft.Draft
	models  map[string][]string
	states  map[string]string
	fail    error // of the next start
	noImage bool
	stays   bool

	started    []string
	remembered []draft.Draft
	secrets    []string
}

func resolved(t testing.TB) *config.Resolved {
	r, err := config.Catalog{Agents: []config.Agent{{Name: "codex", Options: defaults(t)}}}.Resolve(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func defaults(t testing.TB) *codexOptions {
	o := new(codexOptions)
	if err := spec.Defaults(o); err != nil {
		t.Fatal(err)
	}
	return o
}

func newWorld(t testing.TB) *world {
	shop := Place{
		Place: workspace.Place{Top: "/home/ann/shop", Branch: "main"}, Settings: resolved(t),
		Prompts: []prompts.Prompt{{Name: "careful", Source: prompts.User, Text: "# Take care\nof all.\n"}, {Name: "evil", Source: prompts.Repository, Text: "bad \x1b[2J text"}},
	}
	blog := Place{Place: workspace.Place{Top: "/home/ann/blog", Branch: "dark"}, Settings: resolved(t)}
	far := Place{Place: workspace.Place{Top: "https://example.org/far.git"}, Settings: resolved(t)}
	return &world{
		t: t, recent: []string{"/home/ann/shop", "/home/ann/blog"},
		places:  map[string]Place{shop.Top: shop, blog.Top: blog, far.Top: far},
		folders: []Folder{{Path: "~/work/ship"}, {Path: "/home/ann/blog", Repository: true}},
		models:  map[string][]string{"auto": {"qwen3", "llama3"}, "openai": {"gpt"}},
		states:  map[string]string{"codex": "fresh", "aider": "missing"},
	}
}

func (w *world) services() Services { return Services{Places: w, Choices: w, Runs: w} }

func (w *world) Recent(context.Context) ([]string, error) { return w.recent, nil }

func (w *world) Look(_ context.Context, repository string) (Place, error) {
	if p, ok := w.places[repository]; ok {
		return p, nil
	}
	return Place{}, fault.New(fault.Usage, "%s is not in a git repository", repository).Hint("name one with --repo")
}

func (w *world) Branches(_ context.Context, repository string) ([]string, error) {
	if strings.Contains(repository, "far") {
		return []string{"trunk", "evil\x1b[2J"}, nil
	}
	return []string{"main", "dark/mode", "feature"}, nil
}

func (w *world) Folders(_ context.Context, typed string) []Folder {
	return slices.DeleteFunc(slices.Clone(w.folders), func(f Folder) bool { return !strings.HasPrefix(f.Path, typed) })
}

func (w *world) Agents(context.Context) ([]Agent, error) {
	flag := func(key string) bool { return key != "turns" }
	return []Agent{
		{Name: "codex", Title: "Codex", Summary: "OpenAI's agent", NeedsPrompt: true, Options: defaults(w.t), Flag: flag},
		{Name: "aider", Title: "Aider", Summary: "Pairs with you", NeedsPrompt: true, Options: new(nothing), Flag: flag},
		{Name: "amp", Title: "Amp", Summary: "Its own cloud", Unservable: fault.New(fault.Refused, "Amp talks to its vendor's servers only"), Options: new(nothing), Flag: flag},
	}, nil
}

func (w *world) Images(context.Context) (map[string]string, error) { return w.states, nil }

func (w *world) Models(_ context.Context, inference string) []string { return w.models[inference] }

func (w *world) Again(_ context.Context, id session.ID) (draft.Draft, error) {
	if w.again.Agent == "" {
		return draft.Draft{}, fault.New(fault.Usage, "no session %q", id)
	}
	return w.again.Clone(), nil
}

func (w *world) Files(_ context.Context, d draft.Draft) (visible, hidden []string, err error) {
	globs, err := workspace.ParseGlobs(append(workspace.DefaultHide(), draft.List(d.Settings["hide"])...))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{".env", "README.md", "cmd/main.go", "evil\x1b[2J.go", "internal/shop/cart.go", "internal/shop/cart_test.go", "vault/key"} {
		if globs.Match(name) {
			hidden = append(hidden, name)
		} else {
			visible = append(visible, name)
		}
	}
	return visible, hidden, nil
}

func (w *world) Check(_ context.Context, d draft.Draft, _ any) (Checked, error) {
	c := Checked{Box: "codex exec\nKEY=••••••••", Hide: append(workspace.DefaultHide(), draft.List(d.Settings["hide"])...), Stays: w.stays}
	if d.Prompt == "" && !d.Interactive {
		return c, fault.New(fault.Usage, "Codex needs to be told what to do").Hint("say it with --prompt")
	}
	return c, nil
}

func (w *world) Start(_ context.Context, d draft.Draft, options any, bake bool, step func(session.Step)) (Started, error) {
	line := draft.Line(d.Words(nil))
	if bake {
		line += " (baked)"
		step(session.Step{Name: "image", Done: true, Detail: "baked", Took: time.Second})
	}
	w.started = append(w.started, line)
	step(session.Step{Name: "workspace"})
	if o, ok := options.(*codexOptions); ok {
		w.secrets = append(w.secrets, o.Key.Reveal())
	}
	if err := w.fail; err != nil {
		w.fail = nil
		return Started{NoImage: w.noImage}, err
	}
	step(session.Step{Name: "workspace", Done: true, Detail: "7 files \x1b[2J", Took: 400 * time.Millisecond})
	return Started{ID: "0dq4f-codex"}, nil
}

func (w *world) Remember(d draft.Draft) error {
	w.remembered = append(w.remembered, d)
	return nil
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sit opens the screen for somebody.
func sit(t testing.TB, w *world, width, height int, wanted page.NewRun) (*uitest.Person, *Model) {
	t.Helper()
	m := New(t.Context(), w.services(), wanted)
	m.now = func() time.Time { return noon }
	p := uitest.New(t, m, width, height)
	p.Quiet = func(msg tea.Msg) bool { _, ticks := msg.(tick); return ticks }
	p.Run(m.Init())
	return p, m
}

func open(t testing.TB, w *world) (*uitest.Person, *Model) {
	t.Helper()
	return sit(t, w, 80, 24, page.NewRun{})
}

// goTo walks to a question of the form that is shown.
func goTo(p *uitest.Person, m *Model, key string) {
	p.T.Helper()
	for range 30 {
		if m.part().Asks() == key {
			return
		}
		p.Press("tab")
	}
	p.T.Fatalf("nobody asks for %s", key)
}

// last is what the owner of the screen was asked for last.
func last(p *uitest.Person) page.Request {
	if len(p.Asked) == 0 {
		return nil
	}
	return p.Asked[len(p.Asked)-1]
}

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		w := newWorld(t)
		w.fail = fault.New(fault.Environment, "the daemon does not answer").Hint("aibox doctor")
		p, m := sit(t, w, size[0], size[1], page.NewRun{})
		p.Show("the agent, since the repository is known")
		p.Press("shift+tab")
		p.Show("the repository")
		p.Press("tab", "d")
		p.Show("its branches")
		p.Press("esc", "down", "enter")
		p.Press("enter")
		p.Type("mend the failing test in @cart")
		p.Show("the task, while a file is named")
		p.Press("enter", "ctrl+l", "space")
		p.Show("the library")
		p.Press("esc", "tab")
		p.Show("the agent's options")
		p.Press("up", "tab", "tab", "tab")
		p.Show("the box")
		goTo(p, m, "hide")
		p.Type("vault")
		p.Show("hidden files")
		p.Press("ctrl+s")
		p.Show("the start")
		p.Press("enter")
		p.Show("a start that failed")
		p.Press("esc")
		p.Show("the steps")
		p.Press("q")
		p.Show("a question")
		p.Golden("")
	}
}

func TestAPersonStartsARunWithAFewKeys(t *testing.T) {
	w := newWorld(t)
	p, _ := open(t, w)
	p.Press("enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("[ start ]")
	p.Press("enter")
	if want := []string{"run codex --repo=/home/ann/shop '--prompt=mend it'"}; !slices.Equal(w.started, want) {
		t.Errorf("started %q", w.started)
	}
	if want := (page.Attend{ID: "0dq4f-codex"}); last(p) != page.Request(want) {
		t.Errorf("asked for %+v", p.Asked)
	}
	p.Sees("0dq4f-codex runs")
	if len(w.remembered) != 1 || w.remembered[0].Agent != "codex" {
		t.Errorf("remembered %+v", w.remembered)
	}
	p.Send(page.Returned{Said: "seen"})
	if want := (page.Close{Said: "seen"}); last(p) != page.Request(want) {
		t.Errorf("back from the session it asks for %+v", last(p))
	}
}

func TestAnAgentThatOneTalksToIsAttachedTo(t *testing.T) {
	w := newWorld(t)
	p, _ := open(t, w)
	p.Press("enter", "ctrl+t", "ctrl+s", "enter")
	if len(w.started) != 1 || !strings.Contains(w.started[0], "--interactive") {
		t.Fatalf("started %q", w.started)
	}
	if command, ok := last(p).(page.Command); !ok || !slices.Equal(command.Args, []string{"attach", "0dq4f-codex"}) {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestARunThatDeliversAtItsEndIsACommandOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.stays = true
	p, _ := open(t, w)
	p.Press("enter")
	p.Type("mend it")
	p.Press("ctrl+s", "enter")
	command, ok := last(p).(page.Command)
	if !ok || !command.Wait || !slices.Equal(command.Args, []string{"run", "codex", "--repo=/home/ann/shop", "--prompt=mend it"}) || len(w.started) > 0 {
		t.Errorf("asked for %+v, started %q", p.Asked, w.started)
	}
	p.Send(page.Returned{})
	if last(p) != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", last(p))
	}
}

func TestNothingIsStartedThatCannotStand(t *testing.T) {
	w := newWorld(t)
	p, _ := open(t, w)
	p.Press("enter", "ctrl+s")
	p.Sees("not yet")
	p.Sees("Codex needs to be told what to do → say it with --prompt")
	p.Press("enter", "enter")
	if len(w.started) > 0 || len(p.Asked) > 0 {
		t.Errorf("started %q, asked for %+v", w.started, p.Asked)
	}
	p.Press("esc", "up", "up", "up", "enter")
	p.Type("mend it")
	p.Press("tab", "tab")
	p.Type("1000")
	p.Press("ctrl+s", "enter")
	if len(w.started) > 0 {
		t.Errorf("started %q with options that cannot stand", w.started)
	}
	p.Sees("turns")
}

func TestAStartWaitsForTheCheckUnlessAKeyComesFirst(t *testing.T) {
	for key, want := range map[string]int{"": 1, "x": 0} {
		w := newWorld(t)
		p, m := open(t, w)
		p.Press("enter")
		p.Type("mend it")
		p.Press("ctrl+s")
		m.checking = true
		p.Press("enter")
		p.Sees("it is still being checked")
		if len(w.started) > 0 {
			t.Errorf("started %q", w.started)
		}
		if key != "" {
			p.Press(key)
		}
		p.Send(checkKnown{m, m.checked, nil})
		if len(w.started) != want {
			t.Errorf("started %q after %q", w.started, key)
		}
	}
}

func TestAStartThatFailsStaysOnTheScreenAndCanBeTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Environment, "the daemon \x1b[2J does not answer").Hint("`aibox doctor` tells more")
	p, m := open(t, w)
	p.Press("enter")
	p.Type("mend it")
	p.Press("ctrl+s", "enter")
	p.Sees("· workspace")
	p.Sees("does not answer")
	p.Sees("→ `aibox doctor` tells more")
	if strings.Contains(m.View(), "\x1b[2J") {
		t.Error("an error reached the terminal raw")
	}
	p.DoesNotSee("b bakes")
	p.Press("b", "enter")
	if len(w.started) != 2 || last(p) != page.Request(page.Attend{ID: "0dq4f-codex"}) {
		t.Errorf("started %q, asked for %+v", w.started, p.Asked)
	}
}

func TestAMissingImageIsBakedWithAKey(t *testing.T) {
	w := newWorld(t)
	w.fail, w.noImage = errors.New("there is no image"), true
	p, _ := open(t, w)
	p.Sees("to bake")
	p.Press("down", "enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("has to be baked first")
	p.Press("enter")
	p.Sees("b bakes the image")
	p.Press("b")
	if len(w.started) != 2 || !strings.HasSuffix(w.started[1], "(baked)") || strings.HasSuffix(w.started[0], "(baked)") {
		t.Errorf("started %q", w.started)
	}
}

func TestEscTakesAStartBack(t *testing.T) {
	w := newWorld(t)
	_, m := open(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	m.begin = &launching{cancel: cancel, steps: make(chan session.Step, 1), running: true}
	m.step = begin
	if !m.Typing() {
		t.Error("keys of the owner count while a run starts")
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	if ctx.Err() == nil {
		t.Error("it goes on")
	}
	m.Update(started{m.begin, Started{}, ctx.Err()})
	if m.begin.running || m.begin.err == nil {
		t.Error("it does not end")
	}
}

func TestTheBranchOfAnAddressIsPickedFromItsServersList(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("shift+tab")
	p.Type("https://example.org/far.git")
	p.Sees("clone this address")
	p.Press("enter")
	p.Sees("trunk")
	if strings.Contains(m.View(), "\x1b[2J") {
		t.Error("a branch reached the terminal raw")
	}
	p.Type("tru")
	p.Press("enter", "enter")
	p.Type("x")
	p.Sees("--branch=trunk")
	if m.draft.Repository != "https://example.org/far.git" || m.draft.Branch != "trunk" {
		t.Errorf("got %+v", m.draft)
	}
}

func TestAPathIsTypedWithTheFoldersThatGoOn(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("shift+tab")
	p.Type("~/wo")
	p.Sees("~/work/ship")
	p.Press("enter")
	p.Sees("~/work/ship/")
	if m.place == nil || m.place.Top != "/home/ann/shop" {
		t.Error("a folder was taken for a repository")
	}
	p.Press("enter")
	p.Sees("✗ ~/work/ship/ is not in a git repository")
	p.Press("ctrl+u")
	p.Type("blo")
	p.Press("enter")
	if m.place == nil || m.place.Top != "/home/ann/blog" {
		t.Errorf("at %+v", m.place)
	}
}

func TestAnAnswerForAnotherRepositoryIsDropped(t *testing.T) {
	w := newWorld(t)
	_, m := open(t, w)
	m.choose("/home/ann/blog")
	m.Update(placeKnown{m, m.asked - 1, w.places["/home/ann/shop"], nil})
	m.Update(branchesKnown{m, m.asked - 1, []string{"old"}, nil})
	m.Update(filesKnown{m, "x", m.asked - 1, namesOf([]string{"old"}), []string{"old"}, nil})
	m.Update(placeKnown{new(Model), m.asked, w.places["/home/ann/shop"], nil})
	if m.place != nil || m.where.branches != nil || m.files.hidden != nil {
		t.Errorf("took %+v, %q and %q", m.place, m.where.branches, m.files.hidden)
	}
}

func TestAFileIsNamedWithItsBeginning(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter")
	p.Type("mend @cart")
	p.Sees("▸ @internal/shop/cart.go")
	p.Press("down", "enter")
	p.Type("and a@cart.org")
	if got := m.task.prompt(); got != "mend @internal/shop/cart_test.go and a@cart.org" {
		t.Errorf("the task is %q", got)
	}
	p.DoesNotSee("▸ @")
	p.Type(" @")
	p.DoesNotSee("evil")
	p.Press("esc")
	p.DoesNotSee("▸ @")
	if !m.inside {
		t.Error("esc left the step with the list")
	}
}

func TestPromptsOfTheLibraryGoBeforeTheTaskOrIntoIt(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter", "ctrl+l", "enter")
	p.Sees("[x] careful")
	p.Press("down", "i")
	if got := m.task.prompt(); !strings.HasPrefix(got, "bad ") || strings.Contains(got, "\x1b") {
		t.Errorf("the task is %q", got)
	}
	p.Sees("said before it: careful")
	p.Sees("--system=careful")
	p.Press("ctrl+l", "space")
	p.Press("esc")
	p.DoesNotSee("--system=careful")
}

func TestHiddenFilesAreShownAsTheGlobsAreTyped(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter")
	p.Type("x")
	p.Press("esc", "down", "down", "enter")
	p.Sees("1: .env")
	goTo(p, m, "hide")
	p.Type("vault")
	p.Sees("2: .env · vault/key")
	p.Sees("--hide=vault")
	p.Press("backspace", "backspace", "backspace", "backspace", "backspace")
	p.Sees("1: .env")
	p.DoesNotSee("--hide")
}

func TestModelsAreThoseOfTheServerThatIsChosen(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter", "esc", "down", "down", "enter", "tab", "tab")
	p.Sees("qwen3")
	p.Press("shift+tab", "ctrl+u")
	p.Type("openai")
	p.Press("tab")
	p.Sees("gpt")
	p.DoesNotSee("qwen3")
	if m.draft.Settings["inference"] != "openai" {
		t.Errorf("got %+v", m.draft.Settings)
	}
}

func TestOptionsFollowTheAgentAndTheWayOfRunning(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter", "tab")
	p.Sees("Effort")
	p.DoesNotSee("Web")
	p.Press("up")
	p.Press("tab")
	p.Sees("--effort=low")
	p.Press("ctrl+t")
	p.Sees("Web")
	p.Sees("--effort=low")
	p.Press("esc", "up", "up", "enter", "down", "enter")
	if len(m.draft.Options) > 0 || m.draft.Agent != "aider" {
		t.Errorf("another agent has %+v", m.draft)
	}
}

func TestATypedSecretGoesToTheStartAndNowhereElse(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter")
	p.Type("mend it")
	p.Press("tab", "tab", "tab")
	p.Type("canary")
	p.DoesNotSee("canary")
	p.Press("ctrl+s")
	p.DoesNotSee("canary")
	p.Press("enter")
	if !slices.Equal(w.secrets, []string{"canary"}) {
		t.Errorf("the start was given %q", w.secrets)
	}
	if text := fmt.Sprintf("%+v %q %+v", m.draft, w.started, w.remembered); strings.Contains(text, "canary") {
		t.Errorf("it is in %s", text)
	}
}

func TestARunIsFilledInAsASessionWas(t *testing.T) {
	w := newWorld(t)
	w.again = draft.Draft{
		Agent: "codex", Repository: "/home/ann/blog", Branch: "dark/mode", Prompt: "mend @cart",
		Settings: map[string]string{"pids": "64", "hide": "vault", "system": "careful"}, Options: map[string]string{"effort": "high"},
	}
	p, _ := sit(t, w, 80, 24, page.NewRun{Again: "0aaaa"})
	p.Sees("mend @cart")
	p.DoesNotSee("▸ @") // nobody is naming a file
	p.Press("ctrl+s", "enter")
	want := "run codex --repo=/home/ann/blog --branch=dark/mode --pids=64 --hide=vault --system=careful --set effort=high '--prompt=mend @cart'"
	if !slices.Equal(w.started, []string{want}) {
		t.Errorf("started %q", w.started)
	}
	w.again = draft.Draft{}
	p, _ = sit(t, w, 80, 24, page.NewRun{Again: "0zzzz"})
	p.Sees(`no session "0zzzz"`)
}

func TestTheLastChoicesOfARepositoryComeBack(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	shop.Last = &draft.Draft{Agent: "codex", Repository: shop.Top, Settings: map[string]string{"timeout": "30m"}, Options: map[string]string{"effort": "low"}}
	w.places[shop.Top] = shop
	p, m := open(t, w)
	if m.step != task {
		t.Errorf("begins at %s", stepNames[m.step])
	}
	p.Type("mend it")
	if got := draft.Line(m.words()); got != "aibox run codex --repo=/home/ann/shop --timeout=30m --effort=low '--prompt=mend it'" {
		t.Errorf("the command is %s", got)
	}
}

func TestTheCommandLineIsCopiedWhole(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("enter")
	p.Type("it's " + strings.Repeat("long ", 100))
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	cmd := m.Update(tea.KeyPressMsg{Code: 'y', Mod: tea.ModCtrl})
	if got := fmt.Sprint(runs(cmd)); !strings.Contains(got, `--prompt=it'\''s long`) || !strings.HasSuffix(strings.TrimRight(got, "]'"), "long") {
		t.Errorf("copied %s", got)
	}
}

// runs is what a command and those in it bring.
func runs(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		var all []tea.Msg
		for _, cmd := range msg {
			all = append(all, runs(cmd)...)
		}
		return all
	default:
		return []tea.Msg{msg}
	}
}

func TestATaskIsNotLostByAKey(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Press("esc", "q")
	if last(p) != page.Request(page.Close{}) {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Asked = nil
	p.Press("enter", "enter")
	p.Type("mend it")
	p.Press("esc", "esc", "y", "y") // typed before the question could be read
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Sees("Leave without a start?")
	m.now = func() time.Time { return noon.Add(time.Minute) }
	p.Press("enter")
	p.Sees("mend it")
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Press("q")
	m.now = func() time.Time { return noon.Add(time.Hour) }
	p.Press("y")
	if last(p) != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestTheMouseChoosesStepsAndLines(t *testing.T) {
	for _, size := range uitest.Sizes {
		w := newWorld(t)
		p, m := sit(t, w, size[0], size[1], page.NewRun{})
		p.ClickOn("Repository")
		if m.step != where {
			t.Fatalf("%v: at %s", size, stepNames[m.step])
		}
		p.ClickOn("blog  ")
		p.ClickOn("blog  ")
		if m.place.Top != "/home/ann/blog" {
			t.Errorf("%v: at %s", size, m.place.Top)
		}
		p.ClickOn("Agent")
		p.ClickOn("aider")
		p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		p.ClickOn("aider")
		p.ClickOn("aider")
		if m.draft.Agent != "aider" || m.step != task {
			t.Errorf("%v: %q at %s", size, m.draft.Agent, stepNames[m.step])
		}
		p.Type("mend it")
		p.ClickOn("Start")
		p.ClickOn("[ start ]")
		if len(w.started) != 1 {
			t.Errorf("%v: started %q", size, w.started)
		}
	}
}

func TestAnAgentThatNoBoxCanServeIsNotTaken(t *testing.T) {
	w := newWorld(t)
	p, m := open(t, w)
	p.Type("amp")
	p.Press("enter")
	p.Sees("Amp talks to its vendor's servers only")
	if m.draft.Agent != "" {
		t.Errorf("took %q", m.draft.Agent)
	}
}
