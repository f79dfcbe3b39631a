package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"aibox/api/client"
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

// apiServer is the API with everything that it uses. close must be called.
type apiServer struct {
	*server.Server

	dirs      paths.Dirs
	store     *store.Store
	sessions  *manager.Manager
	sandboxes *sandbox.Service
	e2b       *e2b.Server
	enforcer  *quota.Enforcer
	creations *creation.Recorder
	trees     agentsession.Trees
}

// openAPI opens the API. complete may change its options first.
func (a *cli) openAPI(ctx context.Context, complete func(*server.Options)) (*apiServer, error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	sessions, err := a.app.Sessions()
	if err != nil {
		return nil, err
	}
	sandboxes, err := a.app.Sandboxes(sessions)
	if err != nil {
		return nil, err
	}
	s := &apiServer{dirs: dirs, sessions: sessions, sandboxes: sandboxes}
	if s.store, err = store.Open(ctx, store.Path(dirs)); err != nil {
		return nil, err
	}
	s.creations = &creation.Recorder{Store: s.store, Settle: s.settle}
	enforcer := &quota.Enforcer{Store: s.store, Sessions: sessions, Agents: s.agentsOf}
	s.enforcer = enforcer
	trees, err := a.app.Trees(sessions)
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.trees = trees
	enforcer.Volumes, enforcer.Trees = sandboxes.Volumes.Bytes, trees.Bytes
	enforcer.Snapshots, sandboxes.SnapshotRoom = sandboxes.Snapshots.Bytes, enforcer.SnapshotRoom
	sandboxes.Defaults = s.store.Defaults
	sandboxes.Launch = enforcer.Limit(sandbox.LimitStarts(sandboxes.Launch))
	key, err := s.store.Key(ctx, "ports")
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	o := server.Options{
		Ports: &server.Ports{Sessions: sessions, Callers: s.store, Key: forward.Key(key)},
		Services: server.Services{
			Sandboxes: sandboxes, Processes: sessions, Quotas: enforcer, Creations: s.creations, Audit: sessions, Sessions: s.sessionsHandler(a), Templates: templatesHandler(a.app),
			Files: func(_ context.Context, id session.ID, user string) server.Files { return sessions.Files(id, user) },
			Code:  server.NewCode(code.NewRunner(sessions)),
		},
		Tokens:  s.store,
		Log:     slog.New(slog.NewTextHandler(a.err, nil)),
		Version: version(),
	}
	if complete != nil {
		complete(&o)
	}
	if s.Server, err = server.New(o); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

// settle settles the creation of a sandbox or of an agent's session; see creation.Recorder.
func (s *apiServer) settle(ctx context.Context, id session.ID) (stays bool, err error) {
	if id.Agent() == session.SandboxAgent {
		return false, s.sandboxes.Abandon(ctx, id)
	}
	return s.sessions.Settle(ctx, id)
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

// addE2B adds the calls of the packages named e2b, for callers that reach the server by one of
// the names.
func (s *apiServer) addE2B(ctx context.Context, names []string) error {
	key, err := s.store.Key(ctx, "e2b")
	if err != nil {
		return err
	}
	domains := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return net.ParseIP(name) != nil })
	if s.e2b, err = e2b.New(e2b.Config{API: s.Server, Key: key, Host: names[0], Domains: domains}); err != nil {
		return err
	}
	s.e2b.Attach(s.Server)
	return nil
}

// close closes everything that the API uses.
func (s *apiServer) close() error {
	s.Server.Close()
	var err error
	if s.e2b != nil {
		err = s.e2b.Close()
	}
	return errors.Join(err, s.store.Close())
}

// api returns a client of this user's server, or of the API in this process if no server
// runs, and what closes it.
func (a *cli) api(ctx context.Context) (*client.Client, func(), error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, nil, err
	}
	if path := server.SocketPath(dirs); server.Listens(path) {
		c := client.Unix(path)
		return c, c.Close, nil
	}
	s, err := a.openAPI(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := s.EndAbandoned(ctx); err != nil {
		fmt.Fprintf(a.err, "%s a sandbox of a command that was killed could not be ended: %s\n", a.errTerm.warn("!"), safe(err.Error()))
	}
	c, end := client.InProcess(server.WithLocal(context.WithoutCancel(ctx)), s)
	return c, func() { end(); _ = s.close() }, nil
}
