package app

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"aibox/app/pool"
	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/session"
	"aibox/session/manager"
)

// WarmPool creates a pool of kinds, each in the format of pool.ParseKind, and configures
// service to use it. The caller runs it (pool.Pool.Run).
func (a *App) WarmPool(ctx context.Context, service *sandbox.Service, kinds []string, options pool.Options) (*pool.Pool, error) {
	p := pool.New(warmStarter{a, service.Sessions}, options)
	for _, text := range kinds {
		template, size, err := pool.ParseKind(text)
		if err != nil {
			return nil, err
		}
		kept, err := p.Keep(ctx, func(ctx context.Context) (session.Launch, error) {
			return service.Plan(ctx, sandbox.Request{Tenant: session.LocalTenant, Template: template})
		}, size)
		if err != nil {
			return nil, err
		}
		if !kept {
			return nil, fault.New(fault.Usage, "sandboxes of the template %s cannot be kept warm: they have a model or secrets", template)
		}
	}
	service.Warm = p
	return p, nil
}

// warmStarter adapts App to pool.Starter.
type warmStarter struct {
	app      *App
	sessions *manager.Manager
}

func (w warmStarter) Start(ctx context.Context, launch session.Launch) (session.ID, error) {
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return "", err
	}
	blueprint, ok := launch.Blueprint(self)
	if !ok {
		return "", fault.New(fault.Usage, "no warm sandbox can serve this request")
	}
	return w.sessions.Launch(ctx, blueprint, func(session.Step) {})
}

func (w warmStarter) Claim(ctx context.Context, id session.ID, claim session.Claim) error {
	return w.sessions.ClaimSandbox(ctx, id, claim)
}

func (w warmStarter) Stop(ctx context.Context, id session.ID) error {
	_, err := w.sessions.Stop(ctx, id, "the pool has ended it")
	if errors.Is(err, fs.ErrNotExist) { // a warm sandbox leaves no record
		return nil
	}
	return err
}

func (w warmStarter) Facts(ctx context.Context) (string, error) {
	docker, err := w.app.Docker(ctx)
	if err != nil {
		return "", err
	}
	init, err := w.app.InstallInit()
	if err != nil {
		return "", err
	}
	return session.Facts(ctx, docker.Backend, init)
}

// Memory returns the available memory of this machine in bytes.
func (warmStarter) Memory() (int64, error) { return limit.AvailableMemory() }
