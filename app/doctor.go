package app

import (
	"context"

	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/runtime"
)

// Doctor examines this machine with the resources of the app.
func (a *App) Doctor() *doctor.Doctor {
	return doctor.New(doctor.Sources{
		InstallInit:   a.InstallInit,
		UserSettings:  a.UserSettings,
		SystemDocker:  a.SystemDocker,
		CustomAgents:  a.customAgentsReport,
		Daemon:        a.daemonInfo,
		Guard:         a.Locks,
		Images:        a.imageReport,
		HostNotes:     func() []string { return a.host.Read().Notes },
		ModelServer:   a.findModelServer,
		StaleSessions: a.staleSessions,
		Limits:        limitReport,
		Unrepaired:    a.unrepaired,
	})
}

func (a *App) customAgentsReport() doctor.CustomAgents {
	custom := a.CustomAgents()
	report := doctor.CustomAgents{Files: len(custom.Files)}
	for _, broken := range custom.Broken {
		report.Broken = append(report.Broken, doctor.BrokenAgent(broken))
	}
	return report
}

func (a *App) daemonInfo(ctx context.Context) (runtime.Info, error) {
	daemon, err := a.Docker(ctx)
	if err != nil {
		return runtime.Info{}, err
	}
	return daemon.Backend.Info(ctx)
}

func (a *App) imageReport(ctx context.Context) ([]bakery.Status, error) {
	builder, err := a.Builder(ctx)
	if err != nil {
		return nil, err
	}
	return builder.Check(ctx)
}

func (a *App) staleSessions() int {
	own, err := a.UserSettings()
	if err != nil {
		return 0
	}
	service, err := a.Sessions()
	if err != nil {
		return 0
	}
	return service.Stale(own.Settings.Keep)
}

func (a *App) unrepaired(ctx context.Context) []string {
	service, err := a.Sessions()
	if err != nil {
		return nil // the checks of folders report it
	}
	return service.Unrepaired(ctx)
}
