// Package app joins the use cases with their adapters: it opens the sessions, the
// container daemon, the network guard, the image builder, the settings, the agents
// and the model servers. No other package knows which adapter implements which
// interface. It prints nothing, and knows neither the command line nor a terminal.
package app

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
	"sync"

	"aibox/bakery"
	"aibox/config"
	"aibox/internal/initbin"
	"aibox/internal/notification"
	"aibox/internal/paths"
	"aibox/netguard/egress"
	"aibox/netguard/gateway/modelserver"
	"aibox/review/risk/secrets"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/session/snapshot"
	"aibox/session/supervisor"
)

// App opens the resources for the use cases of one process. It is safe for concurrent use
// after UseSystemDocker was called.
type App struct {
	watchScan func() (progress func(names int), done func())
	rootful   *bool // nil if the settings decide

	settingsLock sync.Mutex // guards the two fields below
	settingsRead bool
	settings     *config.Resolved
	settingsErr  error

	keys typedKeys // typed keys of model servers

	providersOf  *config.Resolved // the settings from which providerList was made; settingsLock guards both
	providerList []modelserver.Provider

	customOnce sync.Once
	custom     *CustomAgents

	imageDaemons imageDaemons
	addresses    egress.Decider // of DecideAddresses
	host         bakery.HostReader
}

// New returns an App. watchScan, which may be nil, is called before each scan of a
// workspace; see manager.Deps.
func New(watchScan func() (progress func(names int), done func())) *App {
	return &App{watchScan: watchScan, host: bakery.HostReader{HasSecret: secrets.InURL}}
}

// UseSystemDocker overrides the settings: it selects the system's Docker, or the
// user's own.
func (a *App) UseSystemDocker(use bool) { a.rootful = &use }

// SystemDocker reports whether the system's Docker is used. Settings that cannot be
// read are an error, since they may select either.
func (a *App) SystemDocker() (bool, error) {
	if a.rootful != nil {
		return *a.rootful, nil
	}
	own, err := a.UserSettings()
	if err != nil {
		return false, err
	}
	return own.Settings.Rootful, nil
}

// Sessions opens the sessions of this user.
func (a *App) Sessions() (*manager.Manager, error) {
	deps, err := a.deps()
	if err != nil {
		return nil, err
	}
	return manager.New(deps), nil
}

// Supervise runs the session that in describes, and reports on out; see
// supervisor.Run. own serves the sandboxes that the session's agent creates.
func (a *App) Supervise(ctx context.Context, in io.Reader, out io.WriteCloser, own ServeOwn) error {
	deps, err := a.deps()
	if err != nil {
		return err
	}
	if _, err := a.UserSettings(); err != nil { // they may name an audit command
		return err
	}
	return supervisor.Run(ctx, supervisor.Deps{
		Deps: deps,
		Init: a.InstallInit,
		Inference: func(ctx context.Context, value string, env func(string) (string, bool)) (supervisor.Inference, error) {
			return openInference(ctx, value, env, a.providers())
		},
		Names:  serveNames,
		Proxy:  a.openProxy,
		Limits: limitEnforcer,

		OwnSandboxes: a.openOwn(deps, own),
	}, in, out)
}

// InstallInit installs the first process of a sandbox and returns its path.
func (a *App) InstallInit() (string, error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", err
	}
	return initbin.Install(filepath.Join(dirs.Cache, "init"))
}

// deps returns the dependencies of sessions.
func (a *App) deps() (manager.Deps, error) {
	dirs, err := paths.Default()
	if err != nil {
		return manager.Deps{}, err
	}
	return manager.Deps{
		Dirs:     dirs,
		Agents:   a.Agents(),
		Settings: a.sessionSettings,
		Docker:   a.Docker,
		Looking:  a.scan,
		Sweep:    snapshot.NewStore(dirs).Sweep,
	}, nil
}

// sessionSettings is manager.Deps.Settings. Unreadable settings are reported by the
// function that opens the daemon.
func (a *App) sessionSettings() manager.Settings {
	rootful, _ := a.SystemDocker()
	of := manager.Settings{Supervise: []string{"supervise", "--rootful=" + strconv.FormatBool(rootful)}}
	if own, err := a.UserSettings(); err == nil {
		of.AuditCommand, of.Notifications = auditlog.NewCommand(own.Settings.AuditCommand), notificationsOf(&own.Settings)
	}
	return of
}

// notificationsOf returns the notifications in the user's settings.
func notificationsOf(s *config.Settings) manager.Notifications {
	n := manager.Notifications{On: s.NotifyOn, Command: manager.NewNotifyCommand(s.NotifyCommand)}
	if s.Notify {
		n.Desktop = notification.OnDesktop
	}
	return n
}

// scan is manager.Deps.Looking.
func (a *App) scan() (progress func(names int), done func()) {
	if a.watchScan == nil {
		return nil, func() {}
	}
	return a.watchScan()
}
