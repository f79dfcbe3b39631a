package bakery

import "io/fs"

// BaseSourceRefs lists the references of the systems that a base can build on, best first.
func BaseSourceRefs(b *Bakery) []string {
	var refs []string
	for _, o := range b.baseSources() {
		refs = append(refs, o.Ref())
	}
	return refs
}

// ReadHostAt is ReadHost with another root and environment.
func ReadHostAt(root fs.FS, env func(string) string, home string) Host {
	return ReadHostWith(new(HostReader), root, env, home)
}

// ReadHostWith is Read of a reader, with another root and environment.
func ReadHostWith(r *HostReader, root fs.FS, env func(string) string, home string) Host {
	return r.read(root, env, home)
}

// UnreachableHost returns the host that could not be reached, according to lines of output.
func UnreachableHost(tail []string) string { return unreachableHost(tail) }

// StepName returns the displayed name of a step that BuildKit calls raw.
func StepName(raw string) string { return stepName(raw) }
