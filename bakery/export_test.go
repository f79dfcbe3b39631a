package bakery

import "io/fs"

// OriginRefs lists the names of the systems a base can stand on, best first.
func BaseSourceRefs(b *Bakery) []string {
	var refs []string
	for _, o := range b.baseSources() {
		refs = append(refs, o.Ref())
	}
	return refs
}

// ReadHostAt is ReadHost on another root and environment.
func ReadHostAt(root fs.FS, env func(string) string, home string) Host {
	return readHost(root, env, home)
}

// Unreached is the host that lines of output say could not be reached.
func UnreachableHost(tail []string) string { return unreachableHost(tail) }

// StepName returns what a step that BuildKit calls raw is shown as.
func StepName(raw string) string { return stepName(raw) }
