package app

import "aibox/app/template"

// Templates are all templates that sandboxes can be made from.
func (a *App) Templates() template.Set { return template.NewSet(a.Agents()) }
