package review

import "strings"

// Names finds changes by their paths. It is made once for many names, since an agent
// determines how many changes there are. It is not safe for concurrent use.
type Names struct {
	set   *ChangeSet
	raw   map[string]int // by path: the index of the change; nil until it is needed
	shown map[string]int // by path as aibox prints it; nil until it is needed
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

// find returns the index of the change with a path or an old path, either raw or as aibox
// prints it.
func (n *Names) find(name string) (int, bool) {
	if name != everythingElse {
		name = strings.TrimPrefix(name, "./")
	}
	if n.raw == nil {
		n.raw = n.set.indexBy(Path.Raw)
	}
	if i, ok := n.raw[name]; ok {
		return i, true
	}
	if n.shown == nil {
		n.shown = n.set.indexBy(Path.String)
	}
	i, ok := n.shown[name]
	return i, ok
}

// Named returns the change with a path or an old path, either raw or as aibox prints it;
// nil if there is none.
func (n *Names) Named(name string) *Change {
	if i, ok := n.find(name); ok {
		return &n.set.Changes[i]
	}
	return nil
}

// Named finds one change as Names.Named does.
func (cs *ChangeSet) Named(name string) *Change { return cs.Names().Named(name) }
