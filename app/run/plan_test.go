package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
)

// world is a user with settings and sessions.
type world struct {
	user, repository *config.Document
	sessions         map[string]session.Session
	feedback         feedback.Feedback
}

func (w *world) Agents() agents.Set { return agents.Builtin() }

func (w *world) Settings(_ string, flags ...config.Override) (*config.Resolved, error) {
	var catalog config.Catalog
	for _, agent := range agents.Builtin().All() {
		catalog.Agents = append(catalog.Agents, config.Agent{Name: agent.Info().Name, Options: agents.Options(agent), Login: agent.Info().HasLogin()})
	}
	catalog.Words, catalog.Narrows = ListChecks(), preset.Narrows
	return catalog.Resolve(config.Input{User: w.user, Repository: w.repository, Flags: flags})
}

func (w *world) SystemPrompts(_ string, names []string) ([]session.SystemPrompt, error) {
	var all []session.SystemPrompt
	for _, name := range names {
		all = append(all, session.SystemPrompt{Name: name, Text: "text of " + name})
	}
	return all, nil
}

func (w *world) ModelKeys() map[string]string {
	return map[string]string{"OPENAI_API_KEY": os.Getenv("OPENAI_API_KEY")}
}

func (w *world) Find(prefix string) (session.Session, error) {
	if s, ok := w.sessions[prefix]; ok {
		return s, nil
	}
	for _, s := range w.sessions {
		if string(s.ID) == prefix {
			return s, nil
		}
	}
	return session.Session{}, fault.New(fault.Usage, "no session %q", prefix)
}

func (w *world) Feedback(session.ID) (feedback.Feedback, error) { return w.feedback, nil }

func (w *world) Repair(context.Context) ([]manager.Repaired, error) { return nil, nil }

func (w *world) NewBatch(context.Context) (session.BatchID, error) { return "b-0dq4f", nil }

func (w *world) Spawn() (*manager.Launcher, error)               { return nil, errors.New("nothing is started") }
func (w *world) ChooseID(context.Context, *session.Launch) error { return nil }

func runner(w *world) *Runner { return &Runner{Sessions: w, User: w} }

// userOf reads settings of the user.
func userOf(t *testing.T, text string) *config.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), config.UserName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	document, err := config.ReadUser(file)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// repositoryOf reads settings that come from a repository.
func repositoryOf(t *testing.T, text string) *config.Document {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.RepositoryName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	document, err := config.ReadRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// give sets settings of the request.
func (r *Request) give(t *testing.T, settings ...string) {
	t.Helper()
	for _, setting := range settings {
		key, text, _ := strings.Cut(setting, "=")
		if err := r.Settings.Append(key, text); err != nil {
			t.Fatal(err)
		}
	}
}

// request returns a valid request, modified by change.
func request(change func(*Request)) Request {
	r := Request{Agent: "codex", Prompt: "mend it", Repository: "."}
	change(&r)
	return r
}

func TestAnInvalidRequestIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	give := func(settings ...string) func(*Request) {
		return func(r *Request) { r.give(t, settings...) }
	}
	for name, change := range map[string]func(*Request){
		"no agent":              func(r *Request) { r.Agent = "" },
		"unknown agent":         func(r *Request) { r.Agent = "codx" },
		"no prompt":             func(r *Request) { r.Prompt = "" },
		"huge prompt":           func(r *Request) { r.Prompt = strings.Repeat("x", MaxPrompt+1) },
		"unknown option":        func(r *Request) { r.Options = map[string]string{"shade": "red"} },
		"impossible choice":     func(r *Request) { r.Options = map[string]string{"verbosity": "some"} },
		"option without effect": func(r *Request) { r.Agent, r.Options = "aider", map[string]string{"editor-model": "x"} },
		"unset variable":        give("env=AIBOX_NO_SUCH_VARIABLE"),
		"nameless variable":     give("env==x"),
		"detached delivery":     func(r *Request) { r.Detached = true; r.give(t, "accept=branch") },
		"detached requirement":  func(r *Request) { r.Detached = true; r.give(t, "require-changes=true") },
		"pattern":               give(`hide="["`),
		"endless verification":  give("verify=" + strings.Repeat("x", maxVerify+1)),
		"feedback of nothing":   func(r *Request) { r.NoFeedback = true },
		"unknown session":       func(r *Request) { r.Resumes = "0zzzz" },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := runner(new(world)).Resolve(request(change)); err == nil || fault.KindOf(err) != fault.Usage {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// An agent's command line has different options when it is interactive.
func TestAnOptionOfTheOtherModeIsRefused(t *testing.T) {
	tried := map[spec.Mode]bool{}
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		fields, err := spec.Of(agents.Options(agent))
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if field.Mode == spec.Both || field.When != "" || field.Type != spec.Bool || info.OwnCloud {
				continue
			}
			tried[field.Mode] = true
			other := Request{Agent: info.Name, Prompt: "mend it", Interactive: field.Mode == spec.Headless, Options: map[string]string{field.Key: "true"}}
			if field.Default == "true" {
				other.Options[field.Key] = "false"
			}
			if _, err := runner(new(world)).Resolve(other); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), field.Key) || !strings.Contains(err.Error(), "--interactive") {
				t.Errorf("%s --%s: %v", info.Name, field.Key, err)
			}
			other.Interactive = !other.Interactive
			if _, err := runner(new(world)).Resolve(other); err != nil {
				t.Errorf("%s --%s: %v", info.Name, field.Key, err)
			}
			if got := other.Options[field.Key]; got == "" || other.ForMode(agents.Options(agent)).Options[field.Key] != got {
				t.Errorf("%s --%s is lost", info.Name, field.Key)
			}
			// The settings have options of both modes.
			set := &world{user: userOf(t, "[agents."+info.Name+"]\n"+field.Key+" = "+other.Options[field.Key]+"\n")}
			other.Interactive, other.Options = !other.Interactive, nil
			if _, err := runner(set).Resolve(other); err != nil {
				t.Errorf("%s with %s in the settings: %v", info.Name, field.Key, err)
			}
		}
	}
	if !tried[spec.Headless] && !tried[spec.Interactive] {
		t.Error("no agent has such an option")
	}
}

func TestAnAgentOfAVendorsCloudIsRefusedAtOnce(t *testing.T) {
	t.Setenv("CURSOR_API_KEY", "canary")
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if !info.OwnCloud {
			continue
		}
		_, err := runner(new(world)).Resolve(request(func(r *Request) { r.Agent = info.Name }))
		if fault.KindOf(err) != fault.Refused || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, want a refusal with a hint", info.Name, err)
			continue
		}
		for _, host := range info.Hosts {
			if !strings.Contains(err.Error(), host) {
				t.Errorf("%s: the host %s is not named: %v", info.Name, host, err)
			}
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the key is in %v", info.Name, err)
		}
	}
}

func TestALaunchKeepsSecretsOutOfTheSpec(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-key")
	t.Setenv("TOKEN", "canary-token")
	plan, err := runner(new(world)).Resolve(request(func(r *Request) { r.give(t, "env=TOKEN", "env=PLAIN=value") }))
	if err != nil {
		t.Fatal(err)
	}
	launch := plan.Launch
	if !slices.Equal(launch.Env, []string{"TOKEN=canary-token", "PLAIN=value"}) || launch.Keys["OPENAI_API_KEY"] != "canary-key" {
		t.Errorf("env %q, keys %q", launch.Env, launch.Keys)
	}
	data, err := json.Marshal(launch.Spec)
	if err != nil || strings.Contains(string(data), "canary") || !slices.Equal(launch.Spec.Env, []string{"TOKEN", "PLAIN"}) {
		t.Errorf("the spec is %s, %v", data, err)
	}
}

func TestTypedSecretsAreOnlyInTheLaunch(t *testing.T) {
	r := request(func(r *Request) { r.Secrets = map[string]secret.Value{"token": secret.New("canary")} })
	plan, err := runner(new(world)).Resolve(r)
	if err != nil || plan.Launch.Secrets["token"] != "canary" {
		t.Fatalf("got %v, %v", plan.Launch.Secrets, err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	preview, err := runner(new(world)).Preview(plan)
	if all := string(data) + strings.Join(r.CommandLine(nil), " ") + preview; err != nil || strings.Contains(all, "canary") {
		t.Errorf("the secret is in %s, %v", all, err)
	}
}

func TestOnlyTheScriptsPathIsMadeAbsolute(t *testing.T) {
	for given, want := range map[string]string{"scripted": "scripted", "scripted:demo": "scripted:demo", "http://127.0.0.1:1/v1": "http://127.0.0.1:1/v1"} {
		if got, err := absoluteScript(given); got != want || err != nil {
			t.Errorf("%q became %q, %v", given, got, err)
		}
	}
	if got, err := absoluteScript("scripted:./task.toml"); err != nil || !filepath.IsAbs(strings.TrimPrefix(got, "scripted:")) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTheSettingsCompleteTheRequest(t *testing.T) {
	t.Setenv("TOKEN", "x")
	w := &world{user: userOf(t, `agent = "codex"
timeout = "30m"
model = "qwen3"
env = ["TOKEN", "AIBOX_NO_SUCH_VARIABLE"]
hide = ["*.key"]
accept = "branch"
[agents.codex]
verbosity = "low"
picture = ["a,b", "c"]
[agents.opencode]
thinking = true
`), repository: repositoryOf(t, "network = \"none\"\npids = 64\nhide = [\"vault\"]\n")}
	r := Request{Prompt: "mend it", Options: map[string]string{"verbosity": "high"}}
	r.give(t, "model=other", "hide=mine", "env=PLAIN=1")
	plan, err := runner(w).Resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	launched := plan.Launch.Spec
	switch {
	case launched.Agent != "codex", launched.Timeout != amount.Duration(30*time.Minute), launched.Model != "other", launched.Network != "none", launched.Pids != 64,
		launched.Accept != "branch", plan.Accept == nil, !plan.WaitsForEnd():
		t.Errorf("got %+v", launched)
	case !slices.Equal(plan.Hide, []string{"*.key", "vault", "mine"}), !slices.Equal(launched.Env, []string{"TOKEN", "PLAIN"}):
		t.Errorf("hides %q, passes %q on", plan.Hide, launched.Env)
	case launched.Options["verbosity"] != "high", launched.Options["picture"] != `"a,b",c`, len(launched.Options) != 2:
		t.Errorf("the options are %q", launched.Options)
	}
	if want := "network none, pids 64, hide *.key,vault,mine"; plan.RepositorySettings != want {
		t.Errorf("the repository set %q, not %q", plan.RepositorySettings, want)
	}
	if setting, err := plan.Settings.Find("model"); err != nil || setting.Source() != (config.Source{Kind: config.Flag, Name: "--model"}) {
		t.Errorf("the model comes from %v, %v", setting.From, err)
	}
}

func TestWithoutSettingsTheDefaultsHold(t *testing.T) {
	plan, err := runner(new(world)).Resolve(request(func(*Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	got, want := plan.Launch.Spec.Run, config.Defaults().Run
	if len(plan.Hide)+len(got.Env)+len(got.System)+len(plan.Launch.Spec.Options) > 0 || plan.RepositorySettings != "" || plan.WaitsForEnd() {
		t.Errorf("got %+v", plan)
	}
	got.Hide, want.VerifyTimeout = nil, 0
	for _, field := range config.RunFields() {
		if field.Text(&got) != field.Text(&want) {
			t.Errorf("%s is %s", field.Key, field.Text(&got))
		}
	}
}

func TestADetachedRunDeliversNothing(t *testing.T) {
	w := &world{user: userOf(t, "accept = \"branch\"\nrequire-changes = true\n")}
	plan, err := runner(w).Resolve(request(func(r *Request) { r.Detached = true }))
	if err != nil || plan.Accept != nil || plan.WaitsForEnd() || plan.Launch.Spec.Accept != "none" {
		t.Errorf("got %+v, %v", plan.Launch.Spec, err)
	}
}

// ended is a session that a request can resume.
func ended(s session.Spec) *world {
	s.ID = "0dq4f-codex"
	old := session.Session{Spec: s}
	old.State.Phase = session.Ended
	return &world{sessions: map[string]session.Session{"0dq4f": old}}
}

func TestAResumedSessionStaysAsItWas(t *testing.T) {
	w := ended(session.Spec{Agent: "codex", Repository: "/home/ann/shop", Options: map[string]string{"verbosity": "high"}, Run: config.Run{Network: netguard.Local.String(), Inference: "scripted", Timeout: amount.Duration(time.Minute), Pids: 7, Hide: []string{"*.key"}}})
	w.user = userOf(t, "timeout = \"30m\"\nagent = \"opencode\"\n[agents.codex]\nverbosity = \"low\"\n")
	w.repository = repositoryOf(t, "network = \"none\"\nhide = [\"vault\"]\n")
	plan, err := runner(w).Resolve(Request{Resumes: "0dq4f", Prompt: "more"})
	launched := plan.Launch.Spec
	if err != nil || launched.Agent != "codex" || launched.Network != "local" || launched.Timeout != amount.Duration(time.Minute) || launched.Pids != 7 || launched.Inference != "scripted" ||
		launched.Options["verbosity"] != "high" || plan.RepositorySettings != "" || launched.Resumes != "0dq4f-codex" || launched.Repository != "/home/ann/shop" || !slices.Equal(launched.Hide, []string{"*.key"}) {
		t.Errorf("got %+v, %v", plan, err)
	}
	given := Request{Resumes: "0dq4f", Prompt: "more"}
	given.give(t, "pids=9")
	plan, err = runner(w).Resolve(given)
	if err != nil || plan.Launch.Spec.Pids != 9 {
		t.Errorf("got %+v, %v", plan.Launch.Spec, err)
	}
}

// What the record no longer says is not taken for no limit, and not for nothing denied.
func TestASessionThatResumesARestoredOneHasTheCurrentSettings(t *testing.T) {
	for recorded, want := range map[string]string{"none": "none", "local": "local", "allowlist": "allowlist", "public": "local"} {
		w := ended(session.Spec{Agent: "codex", Repository: "/home/ann/shop", Restored: true, DefaultMemory: true, Run: config.Run{Network: recorded, Inference: "scripted", Sandboxes: 2, Hide: []string{"*.key"}}})
		w.user = userOf(t, "sandboxes = 4\ntimeout = \"30m\"\nmemory = \"3GiB\"\ndeny = [\"evil.example.com\"]\n")
		w.repository = repositoryOf(t, "pids = 64\n")
		plan, err := runner(w).Resolve(Request{Resumes: "0dq4f", Prompt: "more"})
		if err != nil {
			t.Fatal(err)
		}
		launched := plan.Launch.Spec
		if launched.Network != want || launched.Inference != "scripted" || launched.Timeout != amount.Duration(30*time.Minute) || launched.Memory != 3<<10 || launched.DefaultMemory ||
			launched.Pids != 64 || launched.Sandboxes != 2 || launched.MaxUpload != 1<<10 || !slices.Equal(launched.Deny, []string{"evil.example.com"}) || !slices.Equal(launched.Hide, []string{"*.key"}) {
			t.Errorf("%s: got %+v", recorded, launched)
		}
		if plan.RepositorySettings != "pids 64" {
			t.Errorf("the repository set %q", plan.RepositorySettings)
		}
		again, err := FromSession(w.sessions["0dq4f"].Spec)
		if err != nil || again.Settings.Has("timeout") || again.Settings.Has("pids") || again.Settings.Has("network") != (recorded != "public") {
			t.Errorf("%s: a rerun has %q, %v", recorded, again.Settings.Keys(), err)
		}
	}
}

// A session without an egress proxy says nothing about the proxy of the one that continues it.
func TestASessionThatContinuesOneWithoutAProxyHasTheCurrentSettingsOfTheProxy(t *testing.T) {
	for _, old := range []string{"none", "local"} {
		w := ended(session.Spec{Agent: "codex", Repository: "/home/ann/shop", Run: config.Run{Network: old, Inference: "scripted", Pids: 7}})
		w.user = userOf(t, "pids = 9\nallow = [\"npm\"]\ndeny = [\"evil.example.com\"]\nask = true\negress-upload = \"1MiB\"\negress-upload-host = \"2MiB\"\n")
		w.repository = repositoryOf(t, "egress-download = \"3MiB\"\n")
		for _, r := range []Request{{Resumes: "0dq4f", Prompt: "more"}, {Forks: "0dq4f", Prompt: "more"}} {
			r.give(t, "network=allowlist", "allow=example.org")
			plan, err := runner(w).Resolve(r)
			launched := plan.Launch.Spec
			if err != nil || launched.Pids != 7 || launched.EgressUpload != 1 || launched.EgressUploadHost != 2 || launched.EgressDownload != 3 || !launched.Ask ||
				!slices.Contains(launched.Allow, "example.org") || !slices.Equal(launched.Deny, []string{"evil.example.com"}) {
				t.Errorf("%s: got %+v, %v", old, launched, err)
			}
			if plan.RepositorySettings != "egress-download 3MiB" {
				t.Errorf("%s: the repository set %q", old, plan.RepositorySettings)
			}
		}
		plan, err := runner(w).Resolve(Request{Resumes: "0dq4f", Prompt: "more"})
		if err != nil || plan.Launch.Spec.Network != old {
			t.Errorf("%s: got %+v, %v", old, plan.Launch.Spec, err)
		}
	}
}

func TestAResumedSessionKeepsItsWorkspace(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"repo": func(r *Request) { r.Repository = "/elsewhere" }, "branch": func(r *Request) { r.Branch = "dark" },
		"clean": func(r *Request) { r.give(t, "clean=true") }, "hide": func(r *Request) { r.give(t, "hide=x") },
	} {
		r := Request{Resumes: "0dq4f", Prompt: "more"}
		change(&r)
		if _, err := runner(ended(session.Spec{Agent: "codex"})).Resolve(r); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--"+name+" cannot be used with --resume") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAResumedOrForkedShellNeedsACommandBeforeItStarts(t *testing.T) {
	for what, r := range map[string]Request{"resumed": {Resumes: "0dq4f"}, "forked": {Forks: "0dq4f"}, "with a prompt": {Resumes: "0dq4f", Prompt: "more"}} {
		w := ended(session.Spec{Agent: "shell", Args: []string{"make"}})
		if _, err := runner(w).Resolve(r); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no command was given") {
			t.Errorf("%s: %v", what, err)
		}
		interactive := r.Clone()
		interactive.Interactive = true
		r.Args = []string{"make", "test"}
		for _, fine := range []Request{r, interactive} {
			if _, err := runner(w).Resolve(fine); err != nil {
				t.Errorf("%s, %+v: %v", what, fine, err)
			}
		}
	}
}

// The session that continues it may have its feedback, so that a task is missing as well.
func TestASessionThatAnotherContinuedIsNotResumed(t *testing.T) {
	w := ended(session.Spec{Agent: "codex"})
	old := w.sessions["0dq4f"]
	old.State.ContinuedBy = "0dq5g-codex"
	w.sessions["0dq4f"] = old
	for _, r := range []Request{{Resumes: "0dq4f"}, {Resumes: "0dq4f", Prompt: "more"}, {Forks: "0dq4f", Prompt: "more"}} {
		if _, err := runner(w).Resolve(r); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "was continued by 0dq5g-codex") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestATaskIsReadOnlyWhereItIsNeeded(t *testing.T) {
	read := 0
	r := runner(new(world))
	r.ReadTask = func() (string, error) { read++; return "from the input", nil }
	for _, request := range []Request{{Agent: "codex", Prompt: "mend it"}, {Agent: "codex", Interactive: true}, {Agent: "shell", Args: []string{"true"}}} {
		if plan, err := r.Resolve(request); err != nil || read > 0 || plan.Launch.Spec.Prompt != request.Prompt {
			t.Errorf("%+v: %v, read %d times", request, err, read)
		}
	}
	if plan, err := r.Resolve(Request{Agent: "codex"}); err != nil || plan.Launch.Spec.Prompt != "from the input" {
		t.Errorf("got %q, %v", plan.Launch.Spec.Prompt, err)
	}
	if _, err := r.Resolve(Request{Agent: "codex", Prompt: " \n"}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "needs a task") {
		t.Errorf("a task of spaces gave %v", err)
	}
}
