package app

import (
	"context"
	"path/filepath"

	"aibox/app/template"
	"aibox/bakery"
	"aibox/internal/paths"
	"aibox/session"
)

// Templates returns all templates of sandboxes.
func (a *App) Templates() template.Set {
	set := template.NewSet(a.Agents())
	store, err := TemplateStore()
	if err != nil {
		return set // operations that need a folder report why there is none
	}
	return store.AddTo(set)
}

// TemplateStore returns the store of the user's own templates.
func TemplateStore() (template.Store, error) {
	dirs, err := paths.Default()
	if err != nil {
		return template.Store{}, err
	}
	return template.Store{Dir: filepath.Join(dirs.Config, "templates")}, nil
}

// TenantTemplates returns the templates that a tenant can use: those that come with aibox,
// and its own. The machine's user is the tenant "local".
func (a *App) TenantTemplates(tenant session.Tenant) template.Set {
	if tenant == session.LocalTenant {
		return a.Templates()
	}
	set := template.NewSet(a.Agents())
	store, err := TenantTemplateStore(tenant)
	if err != nil {
		return set // operations that need a folder report why there is none
	}
	return store.AddTo(set)
}

// TenantTemplateStore returns the store of a tenant's own templates.
func TenantTemplateStore(tenant session.Tenant) (template.Store, error) {
	if _, err := session.ParseTenant(string(tenant)); err != nil {
		return template.Store{}, err
	}
	if tenant == session.LocalTenant {
		return TemplateStore()
	}
	dirs, err := paths.Default()
	if err != nil {
		return template.Store{}, err
	}
	return template.Store{Dir: filepath.Join(dirs.Data, "templates", string(tenant)), Hidden: true}, nil
}

// BuiltImages returns the images of templates that are built, by their recipes' names.
func (a *App) BuiltImages(ctx context.Context) (map[string]bakery.Image, error) {
	builder, err := a.Builder(ctx)
	if err != nil {
		return nil, err
	}
	all, err := builder.Check(ctx)
	built := map[string]bakery.Image{}
	for _, status := range all {
		if status.State == bakery.Fresh {
			built[status.Name] = status.Image
		}
	}
	return built, err
}

// BuildTemplate builds the image of a template of the machine's user, which need not be
// stored. progress may be nil.
func (a *App) BuildTemplate(ctx context.Context, t template.Template, progress bakery.Progress) error {
	options, err := a.BuildOptions()
	if err != nil {
		return err
	}
	builder, err := a.builderOf(a.Templates().With(t), options)
	if err != nil {
		return err
	}
	_, err = builder.Bake(ctx, []string{t.Image.Recipe}, progress)
	return err
}
