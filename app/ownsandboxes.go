package app

import (
	"context"
	"errors"
	"net"

	"aibox/app/sandbox"
	"aibox/app/sandbox/child"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/supervisor"
)

// OwnSandboxes are the use cases for the sandboxes that a session's agent creates.
type OwnSandboxes struct {
	Cases    *sandbox.Service
	Sessions *manager.Manager
	Tenant   session.Tenant // the only tenant
	Most     int            // maximum number of sandboxes at the same time
	// Called is called at each request of the agent.
	Called func()
}

// ServeOwn serves these use cases to the session's sandbox on a listener until ctx ends. It
// closes the listener.
type ServeOwn func(ctx context.Context, own OwnSandboxes, listener net.Listener) error

// ownSandboxes adapts a child.Manager and a ServeOwn to supervisor.OwnSandboxes.
type ownSandboxes struct {
	*child.Manager
	own   OwnSandboxes
	serve ServeOwn
}

func (o ownSandboxes) Serve(ctx context.Context, listener net.Listener) error {
	return o.serve(ctx, o.own, listener)
}

// openOwn returns the function for supervisor.Deps.OwnSandboxes.
func (a *App) openOwn(deps manager.Deps, serve ServeOwn) func(session.Host) (supervisor.OwnSandboxes, error) {
	return func(host session.Host) (supervisor.OwnSandboxes, error) {
		if serve == nil {
			return nil, errors.New("nothing serves the agent's own sandboxes")
		}
		sessions := manager.New(deps)
		cases, err := a.Sandboxes(sessions)
		if err != nil {
			return nil, err
		}
		manager := child.New(host, sessions)
		cases.ModelKeys = nil
		cases.Secrets = func(context.Context, *config.Resolved, *session.Spec) (map[string]string, error) {
			return nil, errNoSecrets
		}
		cases.Defaults = manager.Defaults
		cases.Launch = manager.Limit(sandbox.LimitStarts(sessions.Launch))
		spec := host.Spec()
		return ownSandboxes{manager, OwnSandboxes{
			Cases: cases, Sessions: sessions, Tenant: manager.Tenant(), Most: spec.OwnSandboxes(), Called: host.NoteActivity,
		}, serve}, nil
	}
}

var errNoSecrets = fault.New(fault.Refused, "a sandbox that an agent creates gets no secrets")
