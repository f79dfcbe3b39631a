package template

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// Set is a set of templates. It is immutable and safe for concurrent use.
type Set struct {
	byName map[string]Template
	broken map[string]error // why the user's own templates cannot be used
	unread error            // why the folder of the user's own templates cannot be read; nil if it can
}

// NewSet returns the built-in templates and one for each agent. A built-in template takes
// precedence over an agent's template with the same name.
func NewSet(known agents.Set) Set {
	s := Set{byName: map[string]Template{}, broken: map[string]error{}}
	for _, agent := range known.All() {
		info := agent.Info()
		s.byName[info.Name] = Template{
			Name: info.Name, Summary: "The image of " + info.Title, Source: Agent,
			Image: Image{Recipe: info.Image}, Workdir: "/workspace",
		}
	}
	for _, t := range builtin() {
		s.byName[t.Name] = t
	}
	return s
}

// List returns the templates: the built-in ones, the user's own, those of agents, each
// ordered by name.
func (s Set) List() []Template {
	rank := map[Source]int{Builtin: 0, Own: 1, Agent: 2}
	return slices.SortedFunc(maps.Values(s.byName), func(a, b Template) int {
		return cmp.Or(cmp.Compare(rank[a.Source], rank[b.Source]), cmp.Compare(a.Name, b.Name))
	})
}

// Find returns the template called name. If there is none, the error is a NotFound fault that
// names the templates; if its file is broken, a Usage fault that says why. If the folder of the
// user's own templates cannot be read, it can be one of those, and the error is that of Unread.
func (s Set) Find(name string) (Template, error) {
	if t, ok := s.byName[name]; ok {
		return t, nil
	}
	if err := s.broken[name]; err != nil {
		return Template{}, err
	}
	if s.unread != nil {
		return Template{}, s.unread
	}
	var names []string
	for _, t := range s.List() {
		names = append(names, t.Name)
	}
	f := fault.New(fault.NotFound, "there is no template %q", name)
	if near := spelling.Nearest(name, names); near != "" {
		f = f.Hint("did you mean %q?", near)
	}
	return Template{}, f.Hint("the templates are: %s", strings.Join(names, ", "))
}

// Recipes returns the Dockerfiles of the user's own templates by the image's name, and the
// base images of those that do not build on the default base.
func (s Set) Recipes() (dockerfiles, below map[string]string) {
	dockerfiles, below = map[string]string{}, map[string]string{}
	for name, t := range s.byName {
		if t.dockerfile != "" {
			dockerfiles[name] = t.dockerfile
		}
		if t.below != "" {
			below[name] = t.below
		}
	}
	return dockerfiles, below
}

// Broken returns why some of the user's own templates cannot be used, by name.
func (s Set) Broken() map[string]error { return maps.Clone(s.broken) }

// Unread returns why the folder of the user's own templates cannot be read; nil if it can.
func (s Set) Unread() error { return s.unread }

func (s Set) has(name string) bool {
	_, ok := s.byName[name]
	return ok || s.broken[name] != nil
}

// With returns the set with another template, which replaces one with the same name.
func (s Set) With(t Template) Set {
	byName := maps.Clone(s.byName)
	byName[t.Name] = t
	s.byName = byName
	return s
}

// withBroken returns the set with a template that cannot be used. It does not hide another
// template.
func (s Set) withBroken(name string, err error) Set {
	broken := maps.Clone(s.broken)
	broken[name] = err
	s.broken = broken
	return s
}
