package app

import (
	"path/filepath"

	"aibox/app/template"
	"aibox/internal/paths"
)

// Templates are all templates that sandboxes can be made from.
func (a *App) Templates() template.Set {
	set := template.NewSet(a.Agents())
	store, err := TemplateStore()
	if err != nil {
		return set // what needs a folder reports why there is none
	}
	return store.AddTo(set)
}

// TemplateStore is where the user's own templates are.
func TemplateStore() (template.Store, error) {
	dirs, err := paths.Default()
	if err != nil {
		return template.Store{}, err
	}
	return template.Store{Dir: filepath.Join(dirs.Config, "templates")}, nil
}
