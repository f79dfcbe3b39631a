package template

import "slices"

// Home is the home folder of User in the built-in templates.
const Home = "/home/" + User

// User is the unprivileged user of the built-in templates, with uid 1000.
const User = "user"

// Default is the template of a sandbox whose request names none.
const Default = "code"

// builtin returns the templates that come with aibox, except those of agents.
func builtin() []Template {
	return []Template{
		{
			Name: Default, Summary: "Python, Node, Ruby and bash, to run code", Source: Builtin,
			Image: Image{Recipe: "code"}, User: User, Workdir: Home,
		},
	}
}

// IsBuiltin reports whether name is a built-in template, other than one of an agent.
func IsBuiltin(name string) bool {
	return slices.ContainsFunc(builtin(), func(t Template) bool { return t.Name == name })
}
