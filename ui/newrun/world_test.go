package newrun

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/compose"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/prompts"
	"aibox/internal/secret"
	"aibox/internal/shellquote"
	"aibox/session"
	"aibox/ui/form"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// codexOptions are those of an agent.
type codexOptions struct {
	Effort string       `label:"Effort" help:"How hard it tries" choices:"low mid high" default:"mid"`
	Turns  int          `label:"Turns" help:"How often it may go on" min:"1" max:"99"`
	Web    bool         `label:"Web" help:"Search the web" mode:"interactive"`
	Key    secret.Value `label:"Key" help:"For its vendor" secret:"true" env:"VENDOR_KEY"`
}

// world is services that record the calls.
type world struct {
	t        testing.TB
	recent   []string
	places   map[string]compose.Place
	folders  []compose.Folder
	again    run.Request
	models   map[string][]string
	states   map[string]string
	fail     error // of the next start
	partly   error // why some of several sessions do not start
	noImage  bool
	noDocker error
	noModel  error    // of every model server but the scripted one
	asked    int      // how often the model server was asked
	output   []string // of the bake that fails
	delivers bool
	command  string   // of the sandbox; empty for that of Codex
	clouds   bool     // the user can accept the clouds of agents
	hosts    []string // the hosts of clouds that the user has accepted before

	accepted   map[string]bool // the clouds that are accepted, by agent
	loggedIn   bool            // to Amp
	unwritable error           // of the user's settings
	started    []string
	remembered []run.Request
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

// overrides are the settings that a run gives itself.
func overrides(texts map[string]string) config.RunOverrides {
	var o config.RunOverrides
	for key, text := range texts {
		if err := o.Set(key, text); err != nil {
			panic(err)
		}
	}
	return o
}

func newWorld(t testing.TB) *world {
	shop := compose.Place{
		Place: workspace.Place{Top: "/home/ann/shop", Branch: "main"}, Settings: resolved(t),
		Prompts: []prompts.Prompt{{Name: "careful", Source: prompts.User, Text: "# Take care\nof all.\n"}, {Name: "evil", Source: prompts.Repository, Text: "bad \x1b[2J text"}},
	}
	blog := compose.Place{Place: workspace.Place{Top: "/home/ann/blog", Branch: "dark"}, Settings: resolved(t)}
	far := compose.Place{Place: workspace.Place{Top: "https://example.org/far.git"}, Settings: resolved(t)}
	return &world{
		t: t, recent: []string{"/home/ann/shop", "/home/ann/blog"},
		places:  map[string]compose.Place{shop.Top: shop, blog.Top: blog, far.Top: far},
		folders: []compose.Folder{{Path: "~/code/ship"}, {Path: "/home/ann/blog", Repository: true}},
		models:  map[string][]string{"auto": {"qwen3", "llama3"}, "openai": {"gpt"}},
		states:  map[string]string{"codex": "fresh", "aider": "missing"},
	}
}

func (w *world) services() Services { return Services{Places: w, Choices: w, Runs: w} }

func (w *world) Recent(context.Context) ([]string, error) { return w.recent, nil }

func (w *world) Look(_ context.Context, repository string) (compose.Place, error) {
	if p, ok := w.places[repository]; ok {
		return p, nil
	}
	return compose.Place{}, fault.New(fault.Usage, "%s is not in a git repository", repository).Hint("name one with --repo")
}

func (w *world) Branches(_ context.Context, repository string) ([]string, error) {
	if strings.Contains(repository, "far") {
		return []string{"trunk", "evil\x1b[2J"}, nil
	}
	return []string{"main", "dark/mode", "feature"}, nil
}

func (w *world) Prompts(_ context.Context, top string) ([]prompts.Prompt, error) {
	return w.places[top].Prompts, nil
}

func (w *world) Folders(_ context.Context, typed string) (on []compose.Folder, there bool) {
	for _, f := range w.folders {
		if strings.HasPrefix(f.Path, typed) {
			on = append(on, f)
		}
		there = there || strings.HasPrefix(f.Path+"/", strings.TrimSuffix(typed, "/")+"/")
	}
	return on, there
}

func (w *world) Agents(context.Context) ([]compose.Agent, error) {
	flag := func(key string) bool { return key != "turns" }
	return []compose.Agent{
		{Name: "codex", Title: "Codex", Summary: "OpenAI's agent", NeedsPrompt: true, Options: defaults(w.t), Flag: flag},
		{Name: "aider", Title: "Aider", Summary: "Pairs with you", NeedsPrompt: true, Options: new(noOptions), Flag: flag},
		{Name: "shell", Title: "Shell", Summary: "Runs a command", Shell: true, Options: new(noOptions), Flag: flag},
		{Name: "amp", Title: "Amp", Summary: "Its own cloud", Unservable: w.unserved("amp"), LoggedIn: w.loggedIn, Options: new(noOptions), Flag: flag},
	}, nil
}

// unserved is the reason why an agent cannot run.
func (w *world) unserved(name string) error {
	switch {
	case !w.clouds:
		return fault.New(fault.Refused, "Amp talks to its vendor's servers only")
	case w.accepted[name]:
		return nil
	}
	return fault.New(fault.Refused, "%w", run.UnacceptedCloud{Accepted: w.hosts, Agent: agents.Info{Name: name, Title: strings.ToUpper(name[:1]) + name[1:], Hosts: []string{name + ".example", "evil\x1b[2J.example"}}})
}

func (w *world) AcceptCloud(_ context.Context, cloud run.UnacceptedCloud) error {
	if w.unwritable != nil {
		return w.unwritable
	}
	if w.accepted == nil {
		w.accepted = map[string]bool{}
	}
	w.accepted[cloud.Agent.Name] = true
	return nil
}

func (w *world) Images(context.Context) (map[string]string, error) {
	if w.noDocker != nil {
		return nil, w.noDocker
	}
	return w.states, nil
}

func (w *world) Models(_ context.Context, inference string) []string { return w.models[inference] }

func (w *world) Again(_ context.Context, id session.ID) (run.Request, error) {
	if w.again.Agent == "" {
		return run.Request{}, fault.New(fault.Usage, "no session %q", id)
	}
	return w.again.Clone(), nil
}

func (w *world) Files(_ context.Context, d run.Request) (visible, hidden []string, err error) {
	globs, err := workspace.ParseGlobs(append(workspace.DefaultHide(), d.Settings.Words("hide")...))
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

func (w *world) Check(_ context.Context, d run.Request) (compose.Checked, error) {
	c := compose.Checked{Command: cmp.Or(w.command, "codex exec\nKEY=••••••••"), Hide: d.Settings.Words("hide"), Delivers: w.delivers}
	if w.clouds && d.Agent == "codex" && d.Settings.Text("inference") == "cloud" && !w.accepted["codex"] {
		return c, w.unserved("codex")
	}
	if d.Prompt == "" && len(d.Args) == 0 && !d.Interactive {
		return c, fault.New(fault.Usage, "Codex needs a task").Hint("give it with --prompt")
	}
	return c, w.noDocker
}

func (w *world) CheckModel(_ context.Context, d run.Request) error {
	w.asked++
	if d.Settings.Text("inference") == "scripted" {
		return nil
	}
	return w.noModel
}

func (w *world) Start(_ context.Context, d run.Request, bake bool, step func(session.Step)) (compose.Started, error) {
	line := shellquote.Join(d.CommandLine(nil)[1:])
	if bake {
		line += " (baked)"
		step(session.Step{Name: "image", Done: true, Detail: "baked", Took: time.Second})
	}
	w.started = append(w.started, line)
	step(session.Step{Name: "workspace"})
	if key, typed := d.Secrets["key"]; typed {
		w.secrets = append(w.secrets, key.Reveal())
	}
	if err := w.fail; err != nil {
		w.fail = nil
		return compose.Started{MissingImage: w.noImage, Output: w.output}, err
	}
	step(session.Step{Name: "workspace", Done: true, Detail: "7 files \x1b[2J", Took: 400 * time.Millisecond})
	if d.IsBatch() {
		return compose.Started{ID: "0dq4f-codex", Batch: "b-0dq4f", Failed: w.partly}, nil
	}
	return compose.Started{ID: "0dq4f-codex"}, nil
}

func (w *world) Remember(d run.Request) error {
	w.remembered = append(w.remembered, d)
	return nil
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// user is a user of the screen; the time is always noon.
type user struct {
	*uitest.User
	m *Model
	w *world

	retries []time.Duration // before the model server is asked again
}

// newUser opens the screen for a user.
func newUser(t testing.TB, w *world, width, height int, wanted page.NewRun) *user {
	t.Helper()
	m := New(t.Context(), w.services(), wanted)
	m.now = func() time.Time { return noon }
	p := &user{User: uitest.New(t, m, width, height), m: m, w: w}
	m.model.after = func(d time.Duration, msg tea.Msg) tea.Cmd {
		p.retries = append(p.retries, d)
		return func() tea.Msg { return msg }
	}
	p.Withhold = func(msg tea.Msg) bool {
		switch msg.(type) {
		case tick, modelRetry:
			return true
		}
		return false
	}
	p.Run(m.Init())
	return p
}

// open opens it for a new run, at the usual size.
func open(t testing.TB, w *world) *user {
	t.Helper()
	return newUser(t, w, 80, 24, page.NewRun{})
}

// tell selects the current agent and enters its task.
func (p *user) tell(task string) {
	p.T.Helper()
	p.Press("enter")
	p.Type(task)
}

// goTo selects a field of the form that is shown.
func (p *user) goTo(key string) {
	p.T.Helper()
	p.m.form().Edit(key)
	if !p.m.form().Editing() {
		p.T.Fatalf("the form has no field %s", key)
	}
	p.Press("esc")
}

// last is the latest request to the owner of the screen.
func (p *user) last() page.Request {
	if len(p.Asked) == 0 {
		return nil
	}
	return p.Asked[len(p.Asked)-1]
}

// form is the form of the current step; nil if it has none.
func (m *Model) form() *form.Part {
	switch m.at {
	case stepOptions:
		return m.options.part
	case stepSandbox:
		return m.sandbox.part
	}
	return nil
}
