package cli

import (
	"aibox/app"
	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/paths"
	"aibox/session/manager"
	"aibox/ui/newrun"
)

// newRuns returns the services of the screen for a new run.
func (a *cli) newRuns(service *manager.Manager) (newrun.Services, error) {
	dirs, err := paths.Default()
	runner := a.runner(service)
	runner.WatchesRequests = true // nothing but the terminal UI starts runs with it
	refuse := func(request run.Request) error { return a.checkInteractive(request, presentation{}) }
	return newrun.Services{
		Places:  compose.NewRepositories(a.app, service, runner, dirs),
		Choices: compose.NewChoices(a.app, service, runner),
		Runs:    compose.NewRuns(runner, dirs, refuse),
		Servers: app.InferenceNames(),
	}, err
}
