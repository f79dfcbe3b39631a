package compose

import (
	"context"
	"slices"

	"aibox/agents"
	"aibox/app"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/session"
	"aibox/session/manager"
)

// Choices lists the values from which the user chooses.
type Choices struct {
	app      *app.App
	sessions *manager.Manager
	runner   *run.Runner
}

// NewChoices returns the choices of this user.
func NewChoices(a *app.App, sessions *manager.Manager, runner *run.Runner) Choices {
	return Choices{a, sessions, runner}
}

// Agent is an agent that the user can choose.
type Agent struct {
	Name, Title, Summary string
	NeedsPrompt          bool
	Shell                bool  // it runs a command in place of a task
	LoggedIn             bool  // aibox has the key of the user's account at its vendor
	Unservable           error // why it cannot run: it needs its vendor's servers, which the user has not accepted
	// Options is a pointer to its options: the defaults, and the secrets of the
	// environment.
	Options any
	Flag    func(key string) bool // whether an option is a flag of `aibox run AGENT`
}

// Agents returns all agents, including the user's own.
func (c Choices) Agents(context.Context) ([]Agent, error) {
	own, err := c.app.UserSettings()
	if err != nil {
		return nil, err
	}
	var all []Agent
	for _, agent := range c.app.Agents().All() {
		if err := run.SetEnvironmentSecrets(agent); err != nil {
			return nil, err
		}
		info := agent.Info()
		_, loggedIn := own.Logins[info.Name]
		all = append(all, Agent{
			Name: info.Name, Title: info.Title, Summary: info.Summary, NeedsPrompt: info.NeedsPrompt, Shell: info.NeedsCommand, LoggedIn: loggedIn,
			Unservable: run.CheckCloud(info, "", own), Options: agents.Options(agent), Flag: run.OwnFlags(agent),
		})
	}
	return all, nil
}

// AcceptCloud writes to the user's settings that an agent may connect to its vendor's
// servers.
func (c Choices) AcceptCloud(ctx context.Context, cloud run.UnacceptedCloud) error {
	key, value := cloud.Accept()
	return c.app.SettingsEditor().Set(ctx, key, value)
}

// Images returns the state of each agent's image by the agent's name.
func (c Choices) Images(ctx context.Context) (map[string]string, error) {
	builder, err := c.app.Builder(ctx)
	if err != nil {
		return nil, err
	}
	all, err := builder.Check(ctx)
	if err != nil {
		return nil, c.app.DaemonFault(ctx, err)
	}
	states := map[string]string{}
	for _, agent := range c.app.Agents().All() {
		i := slices.IndexFunc(all, func(image bakery.Status) bool { return image.Name == agent.Info().Image })
		if i >= 0 {
			states[agent.Info().Name] = all[i].State.String()
		}
	}
	return states, nil
}

// Models returns the models of a model server, from its last answer if it is slow.
func (c Choices) Models(ctx context.Context, inference string) []string {
	var names []string
	for _, model := range c.app.CompleteModels(ctx, inference) {
		names = append(names, model.ID)
	}
	return names
}

// Again returns the request that repeats a session, without values that the settings
// already have.
func (c Choices) Again(_ context.Context, id session.ID) (run.Request, error) {
	old, err := c.sessions.Find(string(id))
	if err != nil {
		return run.Request{}, err
	}
	request, err := run.FromSession(old.Spec)
	if err != nil {
		return run.Request{}, err
	}
	resolved, err := c.app.Settings(request.Repository)
	if err != nil {
		return request, nil //nolint:nilerr // the screen reports it when it looks at the repository
	}
	return c.runner.WithoutDefaults(request, resolved), nil
}
