package template

import "slices"

// Home is the home folder of User in the built-in templates.
const Home = "/home/" + User

// User is the unprivileged user of the built-in templates, with uid 1000.
const User = "user"

// Default is the template of a sandbox whose request does not name one.
const Default = "code"

// builtin returns the templates that come with aibox, except those of agents.
func builtin() []Template {
	return []Template{
		{
			Name: Default, Summary: "Python, Node, Ruby and bash, to run code", Source: Builtin,
			Image: Image{Recipe: "code"}, User: User, Workdir: Home,
		},
		{
			Name: "browser", Summary: "Chromium, driven by its debugging port 9222", Source: Builtin,
			Image: Image{Recipe: "browser"}, User: User, Workdir: Home,
			Start: &Start{Argv: []string{"start-browser"}, Port: 9222, Timeout: DefaultStartTimeout},
		},
		{
			Name: "desktop", Summary: "A desktop, shown by noVNC on port 6080", Source: Builtin,
			Image: Image{Recipe: "desktop"}, User: User, Workdir: Home, Env: []string{"DISPLAY=:0"},
			Start: &Start{Argv: []string{"start-desktop"}, Port: 6080, Timeout: DefaultStartTimeout},
		},
	}
}

// BuiltinNamed returns a built-in template, other than one of an agent.
func BuiltinNamed(name string) (Template, bool) {
	i := slices.IndexFunc(builtin(), func(t Template) bool { return t.Name == name })
	if i < 0 {
		return Template{}, false
	}
	return builtin()[i], true
}

// IsBuiltin reports whether name is a built-in template, other than one of an agent.
func IsBuiltin(name string) bool {
	_, ok := BuiltinNamed(name)
	return ok
}
