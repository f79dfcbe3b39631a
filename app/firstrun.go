package app

import (
	"cmp"
	"context"

	"aibox/agents"
	"aibox/app/firstrun"
	"aibox/internal/secret"
	"aibox/internal/sorting"
	"aibox/netguard/gateway/modelserver"
)

// FirstRun finds the choices of a new user, and stores them.
type FirstRun struct{ app *App }

// FirstRun returns the choices of the first run.
func (a *App) FirstRun() FirstRun { return FirstRun{a} }

// Agents returns the agents that need a model and can run in a sandbox. The one in the
// user's settings comes first.
func (f FirstRun) Agents(context.Context) ([]firstrun.Agent, error) {
	own, err := f.app.UserSettings()
	if err != nil {
		return nil, err
	}
	var all []firstrun.Agent
	for _, agent := range f.app.Agents().All() {
		info := agent.Info()
		if info.OwnCloud || len(info.Dialects) == 0 {
			continue
		}
		all = append(all, firstrun.Agent{
			Name: info.Name, Title: info.Title, Summary: info.Summary, Image: info.Image, Default: info.Name == own.Settings.Agent,
		})
	}
	sorting.StableFunc(all, func(a, b *firstrun.Agent) int { return cmp.Compare(rank(*a), rank(*b)) })
	return all, nil
}

// rank is 0 for the default agent, 1 for other agents.
func rank(a firstrun.Agent) int {
	if a.Default {
		return 0
	}
	return 1
}

// Models returns the models that an agent can use: those of the servers that answer on
// this machine, and those of the vendors whose names are known.
func (f FirstRun) Models(ctx context.Context, agent string) (firstrun.Models, error) {
	chosen, err := f.app.Agents().Find(agent)
	if err != nil {
		return firstrun.Models{}, err
	}
	info := chosen.Info()
	found := firstrun.Models{Current: f.current(ctx, info)}
	for _, upstream := range modelserver.Local(ctx, f.app.keys.lookup, admitsOwner) {
		found.Servers = append(found.Servers, f.local(ctx, info, upstream))
	}
	for _, vendor := range modelserver.Vendors() {
		server := firstrun.Server{Inference: vendor.Name, Title: vendor.Title, KeyName: vendor.KeyNames[0]}
		for _, name := range vendor.KeyNames {
			if key, ok := f.app.keys.lookup(name); ok && key != "" && !server.HasKey {
				server.KeyName, server.HasKey, server.Typed = name, true, f.app.keys.isTyped(name)
			}
		}
		_, server.Problem = info.CommonDialect(inference{upstream: modelserver.Server{Dialects: vendor.Dialects}}.Speaks(""))
		found.Servers = append(found.Servers, server)
	}
	return found, nil
}

// current returns the model that a run of the agent would use with the user's settings, or
// the zero value if it would not start.
func (f FirstRun) current(ctx context.Context, info agents.Info) firstrun.Model {
	own, err := f.app.UserSettings()
	if err != nil {
		return firstrun.Model{}
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	server, err := openInference(ctx, own.Settings.Inference, f.app.keys.lookup, f.app.providers())
	if err != nil {
		return firstrun.Model{}
	}
	if _, err := info.CommonDialect(server.Speaks(own.Settings.Model)); err != nil {
		return firstrun.Model{}
	}
	model, err := server.Model(ctx, own.Settings.Model)
	if err != nil {
		return firstrun.Model{}
	}
	return firstrun.Model{Name: model.ID, Title: server.Name()}
}

// local describes a server on this machine.
func (f FirstRun) local(ctx context.Context, info agents.Info, upstream modelserver.Server) firstrun.Server {
	server := firstrun.Server{Inference: upstream.Setting(), Title: upstream.Name, Local: true, KeyName: upstream.KeyName}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	models, err := modelserver.Models(ctx, upstream)
	if err != nil {
		server.Problem = err
		return server
	}
	for _, model := range models {
		if upstream.RemoteHost(model) == "" { // the prompts stay on this machine
			server.Models = append(server.Models, model.ID)
		}
	}
	speaker := inference{upstream: upstream, version: modelserver.OllamaVersion(ctx, upstream)}
	_, server.Problem = info.CommonDialect(speaker.Speaks(""))
	return server
}

// ListModels returns the models that a server lists now, raw. The key must be known.
func (f FirstRun) ListModels(ctx context.Context, server string) ([]string, error) {
	report, err := f.app.Models(ctx, server, true)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, model := range report.ModelList.Models {
		names = append(names, model.ID)
	}
	return names, nil
}

// UseKey keeps the key of a model server until the program ends.
func (f FirstRun) UseKey(variable string, key secret.Value) { f.app.keys.set(variable, key) }

// Keep saves a setting to the user's file, unless it already has the value.
func (f FirstRun) Keep(ctx context.Context, key, text string) error {
	own, err := f.app.UserSettings()
	if err != nil {
		return err
	}
	if setting, err := own.Find(key); err == nil && setting.Text() == text {
		return nil
	}
	defer f.app.ForgetUserSettings()
	return f.app.SettingsEditor().Set(ctx, key, text)
}
