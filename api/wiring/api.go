// Package wiring opens the API with everything that it uses: the database, sessions, sandboxes,
// quotas, templates and agents, the routes of MCP and E2B. It serves nothing itself, and prints
// nothing.
package wiring

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"aibox/api/creation"
	"aibox/api/e2b"
	"aibox/api/forward"
	"aibox/api/quota"
	"aibox/api/server"
	"aibox/api/store"
	"aibox/api/templates"
	"aibox/app"
	"aibox/app/agentsession"
	"aibox/app/sandbox"
	"aibox/app/sandbox/code"
	"aibox/app/template"
	"aibox/bakery"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/manager"
)

// Config is what the API is opened with.
type Config struct {
	App     *app.App
	Version string    // of aibox, for callers
	Log     io.Writer // for errors of the server itself, as lines of text

	// Complete changes the options before the server is made. May be nil.
	Complete func(*server.Options)
}

// API is the API with everything that it uses. close must be called.
type API struct {
	*server.Server

	Dirs      paths.Dirs
	Store     *store.Store
	Sessions  *manager.Manager
	Sandboxes *sandbox.Service
	Trees     agentsession.Trees // that tenants uploaded

	app       *app.App
	version   string
	e2b       *e2b.Server
	enforcer  *quota.Enforcer
	creations *creation.Recorder
}

// Open opens the API.
func Open(ctx context.Context, c Config) (*API, error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	sessions, err := c.App.Sessions()
	if err != nil {
		return nil, err
	}
	sandboxes, err := c.App.Sandboxes(sessions)
	if err != nil {
		return nil, err
	}
	s := &API{Dirs: dirs, Sandboxes: sandboxes, app: c.App, version: c.Version, Sessions: sessions}
	if s.Store, err = store.Open(ctx, store.Path(dirs)); err != nil {
		return nil, err
	}
	s.creations = &creation.Recorder{Store: s.Store, Settle: s.settle}
	enforcer := &quota.Enforcer{Store: s.Store, Sessions: sessions, Agents: s.agentsOf}
	s.enforcer = enforcer
	trees, err := c.App.Trees(sessions)
	if err != nil {
		return nil, errors.Join(err, s.Store.Close())
	}
	s.Trees = trees
	enforcer.Volumes, enforcer.Trees = sandboxes.Volumes.Bytes, trees.Bytes
	enforcer.Snapshots, sandboxes.SnapshotRoom = sandboxes.Snapshots.Bytes, enforcer.SnapshotRoom
	sandboxes.Defaults = s.Store.Defaults
	sandboxes.Launch = enforcer.Limit(sandboxes.Launch)
	key, err := s.Store.Key(ctx, "ports")
	if err != nil {
		return nil, errors.Join(err, s.Store.Close())
	}
	o := server.Options{
		Ports: &server.Ports{Sessions: sessions, Key: forward.Key(key)},
		Services: server.Services{
			Sandboxes: sandboxes, Processes: sessions, Quotas: enforcer, Creations: s.creations, Audit: sessions, Sessions: s.sessionsHandler(), Templates: templatesHandler(c.App),
			Files: func(_ context.Context, id session.ID, user string) server.Files { return sessions.Files(id, user) },
			Code:  server.NewCode(code.NewRunner(sessions)),
		},
		Tokens:  s.Store,
		Log:     slog.New(slog.NewTextHandler(c.Log, nil)),
		Version: c.Version,
	}
	if c.Complete != nil {
		c.Complete(&o)
	}
	if s.Server, err = server.New(o); err != nil {
		return nil, errors.Join(err, s.Store.Close())
	}
	return s, nil
}

// settle settles the creation of a sandbox or of an agent's session; see creation.Recorder.
func (s *API) settle(ctx context.Context, id session.ID) (stays bool, err error) {
	if id.Agent() == session.SandboxAgent {
		return false, s.Sandboxes.Abandon(ctx, id)
	}
	return s.Sessions.Settle(ctx, id)
}

// templatesHandler serves the service Templates.
func templatesHandler(a *app.App) *templates.Handler {
	return &templates.Handler{
		Set: a.TenantTemplates, Store: app.TenantTemplateStore, CheckDefaults: sandbox.CheckTemplate,
		Images: func(ctx context.Context) (map[string]templates.Image, error) {
			built, err := a.BuiltImages(ctx)
			images := map[string]templates.Image{}
			for name, image := range built {
				images[name] = templates.Image{ID: image.ID, Size: image.Size}
			}
			return images, err
		},
		Build: func(ctx context.Context, t template.Template, log func(string)) error {
			return a.BuildTemplate(ctx, t, buildLog(log))
		},
	}
}

// buildLog passes on the lines of a build.
type buildLog func(line string)

// Handle implements bakery.Progress.
func (l buildLog) Handle(e bakery.Event) {
	switch e.Kind {
	case bakery.Note, bakery.StepStarted, bakery.StepLine, bakery.StepCached:
		l(e.Text)
	case bakery.StepFailed:
		l(e.Text + ": " + e.Err)
	}
}

// AddE2B adds the calls of the packages named e2b. The hosts of sandboxes are below the domains; with
// own, the packages learn the first one, whatever name they use for the server.
func (s *API) AddE2B(ctx context.Context, domains []string, own bool) error {
	key, err := s.Store.Key(ctx, "e2b")
	if err != nil {
		return err
	}
	if s.e2b, err = e2b.New(e2b.Config{API: s.Server, Key: key, Domains: domains, OwnDomain: own}); err != nil {
		return err
	}
	s.e2b.Attach(s.Server)
	return nil
}

// Close closes everything that the API uses.
func (s *API) Close() error {
	s.Server.Close()
	var err error
	if s.e2b != nil {
		err = s.e2b.Close()
	}
	return errors.Join(err, s.Store.Close())
}
