package app

import (
	"context"

	"aibox/app/run"
	"aibox/app/sandbox"
	"aibox/app/template"
	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/snapshot"
	"aibox/session/volume"
)

// Sandboxes returns the service that creates and changes sandboxes. The caller may set
// Defaults.
func (a *App) Sandboxes(sessions *manager.Manager) (*sandbox.Service, error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	service := &sandbox.Service{
		Sessions: sessions, Templates: templates{a}, Volumes: volume.NewStore(dirs), Snapshots: snapshot.NewStore(dirs),
		Settings: func(overrides ...config.Override) (*config.Resolved, error) { return a.Settings("", overrides...) },
		Secrets:  run.ReadSecrets, CheckAddresses: a.DecideAddresses,
		ModelKeys: a.ModelKeys, NamedImage: a.NamedImage,
	}
	service.Launch = service.ClaimOr(sandbox.LimitStarts(sessions.Launch)) // a claim waits for no start
	return service, nil
}

// CheckSandbox refuses settings of a sandbox that are freer than the user's own with those of base.
func (a *App) CheckSandbox(base, given config.RunOverrides) error {
	asked := base.Clone()
	if err := asked.Override(given); err != nil {
		return err
	}
	own, err := a.Settings("", allowlisted(base).ForResolve(nil)...)
	if err != nil {
		return err
	}
	next, err := a.Settings("", allowlisted(asked).ForResolve(nil)...)
	if err != nil {
		return err
	}
	free := []string{"model"}
	for _, field := range config.RunFields() {
		if field.Auto != "" && !given.Has(field.Key) { // depends on the machine's state
			free = append(free, field.Key)
		}
	}
	return own.CheckBound(&next.Settings.Run, free...)
}

// allowlisted returns settings in which an allow list implies its policy, as for a run.
func allowlisted(settings config.RunOverrides) config.RunOverrides {
	settings = settings.Clone()
	if len(settings.Words("allow")) > 0 && !settings.Has("network") {
		_ = settings.Set("network", netguard.Allowlist.String()) // a valid value
	}
	return settings
}

// templates adapts App to sandbox.Templates.
type templates struct{ *App }

// Template finds a template of aibox or of the tenant.
func (t templates) Template(_ context.Context, tenant session.Tenant, name string) (template.Template, error) {
	return t.TenantTemplates(tenant).Find(name)
}

// Image finds the image of a template.
func (t templates) Image(ctx context.Context, of *template.Template) (sandbox.Image, error) {
	if of.Image.Reference != "" {
		id, err := t.NamedImage(ctx, of.Image.Reference)
		return sandbox.Image{ID: id, Ref: of.Image.Reference}, err
	}
	builder, err := t.Builder(ctx)
	if err != nil {
		return sandbox.Image{}, err
	}
	image, err := builder.Find(ctx, of.Image.Recipe)
	if err != nil {
		return sandbox.Image{}, t.DaemonFault(ctx, err)
	}
	found := sandbox.Image{ID: runtime.ImageID(image.ID)}
	if len(image.Refs) > 0 {
		found.Ref = image.Refs[0]
	}
	return found, nil
}
