package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/app"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/ui/newrun"
	"aibox/workspace"
)

// starter is what the screen for a new run works with: it reads drafts as the command
// lines that they are.
type starter struct {
	*cli
	service *session.Sessions
	dirs    paths.Dirs
}

// newRuns makes the services of the screen for a new run.
func (a *cli) newRuns(service *session.Sessions) (newrun.Services, error) {
	dirs, err := paths.Default()
	s := starter{a, service, dirs}
	return newrun.Services{Places: s, Choices: s, Runs: s, Servers: app.InferenceNames()}, err
}

// mostRecent bounds the repositories that are offered.
const mostRecent = 50

// Recent is the repository that aibox was called in, and those of the sessions.
func (s starter) Recent(context.Context) ([]string, error) {
	var all []string
	add := func(repository string) {
		if repository != "" && len(all) < mostRecent && !slices.Contains(all, repository) {
			all = append(all, repository)
		}
	}
	if workspace.WorkingTree(".") != "" {
		add(hereIn())
	}
	briefs, err := s.service.Summaries()
	for _, b := range slices.Backward(briefs) {
		add(b.Repository)
	}
	return all, err
}

// hereIn is the folder that aibox was called in, without symlinks; "." when it cannot be
// told.
func hereIn() string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return "."
	}
	return here
}

// Look is a look at a repository with what is set and remembered for it.
func (s starter) Look(ctx context.Context, repository string) (newrun.Place, error) {
	at, err := workspace.Look(ctx, s.path(repository), s.dirs)
	if err != nil {
		return newrun.Place{}, err
	}
	place := newrun.Place{Place: at}
	if place.Settings, err = s.app.Settings(at.Top); err != nil {
		return newrun.Place{}, err
	}
	last, ok := s.store().Last(filepath.Join(at.Top, at.Start))
	if !ok {
		last, ok = s.store().Last(at.Top) // a URL is no path to join, either
	}
	if ok {
		last = s.withoutDefaults(last, place.Settings)
		place.Last = &last
	}
	library, err := app.Prompts(at.Top)
	if err != nil {
		return newrun.Place{}, err
	}
	place.Prompts, _ = library.All() // one that cannot be read is not offered
	return place, nil
}

func (s starter) store() run.Store { return run.Open(filepath.Join(s.dirs.State, "choices")) }

// path is what a person typed as a path or an address.
func (s starter) path(typed string) string {
	if typed == "~" || strings.HasPrefix(typed, "~/") {
		return s.dirs.Home + typed[1:]
	}
	return typed
}

// Branches asks git.
func (s starter) Branches(ctx context.Context, repository string) ([]string, error) {
	return workspace.Branches(ctx, s.path(repository), s.dirs)
}

// mostFolders bounds the folders that are offered.
const mostFolders = 200

// Folders reads the folder that is typed as far as its last slash.
func (s starter) Folders(_ context.Context, typed string) (on []newrun.Folder, there bool) {
	begin, prefix := filepath.Split(typed)
	there = isFolder(s.path(typed))
	dir := s.path(begin)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, there
	}
	for _, entry := range entries {
		name := entry.Name()
		if len(on) == mostFolders || !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" {
			continue
		}
		full := filepath.Join(dir, name)
		if !isFolder(full) {
			continue
		}
		_, err := os.Lstat(filepath.Join(full, ".git"))
		on = append(on, newrun.Folder{Path: begin + name, Repository: err == nil})
	}
	return on, there
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Agents are all agents, those of files among them.
func (s starter) Agents(context.Context) ([]newrun.Agent, error) {
	var all []newrun.Agent
	for _, agent := range s.app.Agents().All() {
		if err := run.SetEnvironmentSecrets(agent); err != nil {
			return nil, err
		}
		info := agent.Info()
		all = append(all, newrun.Agent{
			Name: info.Name, Title: info.Title, Summary: info.Summary, NeedsPrompt: info.NeedsPrompt, Shell: info.Name == shellAgent,
			Unservable: info.Servable(),
			Options:    agents.Options(agent), Flag: run.OwnFlags(agent),
		})
	}
	return all, nil
}

// Images asks the daemon.
func (s starter) Images(ctx context.Context) (map[string]string, error) {
	builder, err := s.app.Builder(ctx)
	if err != nil {
		return nil, err
	}
	all, err := builder.Check(ctx)
	if err != nil {
		return nil, s.app.DaemonFault(ctx, err)
	}
	states := map[string]string{}
	for _, agent := range s.app.Agents().All() {
		i := slices.IndexFunc(all, func(image bakery.Status) bool { return image.Name == agent.Info().Image })
		if i >= 0 {
			states[agent.Info().Name] = all[i].State.String()
		}
	}
	return states, nil
}

// Models asks the model server, or what it said last.
func (s starter) Models(ctx context.Context, inference string) []string {
	var names []string
	for _, model := range app.CompleteModels(ctx, inference) {
		names = append(names, model.ID)
	}
	return names
}

// Again returns what a session ran, without what the settings have anyway.
func (s starter) Again(_ context.Context, id session.ID) (run.Request, error) {
	old, err := s.service.Find(string(id))
	if err != nil {
		return run.Request{}, err
	}
	request, err := run.FromSession(old.Spec)
	if err != nil {
		return run.Request{}, err
	}
	resolved, err := s.app.Settings(request.Repository)
	if err != nil {
		return request, nil //nolint:nilerr // the screen reports it when it looks at the repository
	}
	return s.withoutDefaults(request, resolved), nil
}

// Files returns the files of the repository, as a run of the request would sort them.
func (s starter) Files(ctx context.Context, request run.Request) (visible, hidden []string, err error) {
	return s.runner(s.service).Files(ctx, request)
}

// Check validates a request.
func (s starter) Check(_ context.Context, request run.Request) (newrun.Checked, error) {
	runner := s.runner(s.service)
	plan, err := runner.Resolve(request)
	checked := newrun.Checked{RepositorySettings: plan.RepositorySettings, Hide: plan.Hide, Delivers: plan.WaitsForEnd()}
	if sandbox, failed := runner.Preview(plan); failed == nil {
		checked.Command = sandbox
	}
	if err == nil {
		err = s.checkInteractive(request, presentation{})
	}
	return checked, err
}

// Start starts a request as `aibox run` does.
func (s starter) Start(ctx context.Context, request run.Request, bake bool, step func(session.Step)) (newrun.Started, error) {
	if err := s.checkInteractive(request, presentation{}); err != nil {
		return newrun.Started{}, err
	}
	runner := s.runner(s.service)
	plan, err := runner.Resolve(request)
	if err != nil {
		return newrun.Started{}, err
	}
	baking := &bakeSteps{step: step}
	with := run.Callbacks{Step: step}
	if bake {
		with.Bake = baking.bake
	}
	id, err := runner.Start(ctx, plan, with)
	return newrun.Started{ID: id, MissingImage: run.IsMissingImage(err), Output: baking.said}, err
}

// Remember keeps the choices in the state folder.
func (s starter) Remember(d run.Request) error { return s.store().Save(d) }

// bakeSteps tells of a bake as one stage of a start, whose detail is what it is at.
type bakeSteps struct {
	step func(session.Step)
	said []string // the last lines of the step that failed
}

// bake is run.Callbacks.Bake.
func (b *bakeSteps) bake(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error) {
	begun := time.Now()
	if _, err := builder.Bake(ctx, []string{image}, b); err != nil {
		return false, err
	}
	b.step(session.Step{Name: "image", Done: true, Detail: "of " + agent + ", baked", Took: time.Since(begun)})
	return true, nil
}

// Handle takes one piece of progress.
func (b *bakeSteps) Handle(e bakery.Event) {
	switch e.Kind {
	case bakery.StepStarted, bakery.ImageStarted:
		b.step(session.Step{Name: "image", Detail: strings.TrimSpace(e.Image + " " + e.Text)})
	case bakery.StepFailed:
		b.said = e.Tail
	}
}
