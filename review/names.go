package review

import "strings"

// Names finds changes by their paths. It is made once for many names, since an agent
// determines how many changes there are. It is not safe for concurrent use.
type Names struct {
	set   *ChangeSet
	raw   map[string]int // by path: the index of the change; nil until it is needed
	shown map[string]int // by path as aibox prints it, which no two paths share; nil until it is needed
}

// Names returns the names of the changes.
func (cs *ChangeSet) Names() *Names { return &Names{set: cs} }

// indexBy returns the indexes of the changes by path and, where no change has that path,
// by old path.
func (cs *ChangeSet) indexBy(form func(Path) string) map[string]int {
	index := make(map[string]int, len(cs.Changes))
	for _, of := range []func(*Change) Path{
		func(c *Change) Path { return c.Path },
		func(c *Change) Path { return c.OldPath },
	} {
		for i := range cs.Changes {
			path := of(&cs.Changes[i])
			if path == "" {
				continue
			}
			name := form(path)
			if _, taken := index[name]; !taken {
				index[name] = i
			}
		}
	}
	return index
}

// find returns the index of the change with a path or an old path, as aibox prints it or,
// where none is printed like that, raw. An agent can call a file what another one is shown
// as, such as a backslash and an n for a newline: the user means the one that was shown.
func (n *Names) find(name string) (int, bool) {
	if name != everythingElse {
		name = strings.TrimPrefix(name, "./")
	}
	if n.shown == nil {
		n.shown = n.set.indexBy(Path.String)
	}
	if i, ok := n.shown[name]; ok {
		return i, true
	}
	return n.findRaw(name)
}

// findRaw returns the index of the change with a path or an old path.
func (n *Names) findRaw(name string) (int, bool) {
	if n.raw == nil {
		n.raw = n.set.indexBy(Path.Raw)
	}
	i, ok := n.raw[name]
	return i, ok
}

// At returns the change with a path or an old path; nil if there is none.
func (n *Names) At(path Path) *Change {
	if i, ok := n.findRaw(path.Raw()); ok {
		return &n.set.Changes[i]
	}
	return nil
}

// Named returns the change that the user names: by its path or its old path, as aibox prints
// them or, where none is printed like that, raw; nil if there is none. The printed form is
// exact, so that a program names a change by Path.String.
func (n *Names) Named(name string) *Change {
	if i, ok := n.find(name); ok {
		return &n.set.Changes[i]
	}
	return nil
}

// Path returns the raw path that the user names: that of the change that Named returns or, if there
// is none, the name itself.
func (n *Names) Path(name string) Path {
	if change := n.Named(name); change != nil {
		return change.Path
	}
	return Path(name)
}

// Named finds one change as Names.Named does.
func (cs *ChangeSet) Named(name string) *Change { return cs.Names().Named(name) }
