package config

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/spelling"
	"aibox/internal/termtext"
)

// find returns the item that sets e and its value; nil when the file does not.
func (d *Document) find(e entry) (*item, any) {
	if d == nil {
		return nil, nil
	}
	path := strings.Split(e.key, ".")
	for i := range d.items {
		it := &d.items[i]
		if it.table != header && it.table != arrayHeader && slices.Equal(it.path, path) {
			value, ok := d.at(path)
			if !ok {
				return nil, nil
			}
			return it, value
		}
	}
	return nil, nil
}

// check refuses the first key that is not a setting.
func (d *Document) check(sections []*section) error {
	if d == nil {
		return nil
	}
	for _, it := range d.items {
		if err := d.checkItem(it, sections); err != nil {
			return err
		}
	}
	return nil
}

// checkItem follows an item's path through the sections. All its parts must be tables,
// except the last one, which is a setting.
func (d *Document) checkItem(it item, sections []*section) error {
	if it.table == arrayHeader {
		return d.fault(it.value, "settings have no lists of tables").Hint("write [%s]", termtext.Escape(strings.Join(it.path, ".")))
	}
	for depth := range it.path {
		name, key := strings.Join(it.path[:depth], "."), it.path[depth]
		last := depth == len(it.path)-1
		offset := d.offsetOf(it, depth)
		known, field := keysOf(name, key, sections)
		switch {
		case slices.ContainsFunc(sections, func(s *section) bool { return s.unread && s.name == name }):
			return nil
		case field != nil && last && it.table != header && it.table != inlineTable:
			return d.checkSecret(it, *field)
		case field != nil:
			return d.fault(offset, "%q is a single value, not a table", joined(name, key))
		case !slices.Contains(known, key):
			return d.unknown(it, offset, name, key, known)
		case last && it.table == noTable:
			return d.fault(it.value, "%q is a table, not a single value", joined(name, key)).
				Hint("write [%s], and its settings below", joined(name, key))
		}
	}
	return nil
}

func (d *Document) checkSecret(it item, field spec.Field) error {
	if field.Type != spec.Secret {
		return nil
	}
	// No excerpt here, since it would show the secret.
	line, column := d.position(it.keys[len(it.keys)-1])
	f := fault.New(fault.Usage, "%s:%d:%d: %q is a secret, which a settings file cannot contain", d.name, line, column, field.Key)
	if field.Env == "" {
		return f
	}
	return f.Hint("remove the line and export %s=… instead", field.Env)
}

// unknown returns the fault for a key that is not a setting of the section. It suggests the
// nearest one.
func (d *Document) unknown(it item, offset int, name, key string, known []string) error {
	end := len(d.data)
	if it.table == noTable || it.table == inlineTable {
		end = it.value // it may be a secret
	}
	f := d.faultUntil(offset, end, "unknown setting %q", joined(name, key))
	switch name {
	case "agents":
		f = d.faultUntil(offset, end, "unknown agent %q", key)
	case "images.versions":
		f = d.faultUntil(offset, end, "there is no image %q with a configurable version", key)
	}
	if near := spelling.Nearest(key, known); near != "" {
		return f.Hint("did you mean %q?", near)
	}
	if len(known) == 0 {
		return f.Hint("[%s] has no settings", name)
	}
	return f.Hint("valid keys: %s", strings.Join(known, ", "))
}

// offsetOf returns the offset of the path's part at depth or, if that part is not in this
// line, of the first one that is.
func (d *Document) offsetOf(it item, depth int) int {
	above := len(it.path) - len(it.keys)
	return it.keys[max(depth-above, 0)]
}

// keysOf returns the keys that the table name may hold, settings and tables, and the field
// of key if it is a setting.
func keysOf(name, key string, sections []*section) (known []string, found *spec.Field) {
	for _, s := range sections {
		if s.name == name {
			for i := range s.fields {
				known = append(known, s.fields[i].Key)
				if s.fields[i].Key == key {
					found = &s.fields[i]
				}
			}
		}
		rest, below := strings.CutPrefix(s.name, name+".")
		if name == "" {
			rest, below = s.name, s.name != ""
		}
		child, _, _ := strings.Cut(rest, ".")
		if below && !slices.Contains(known, child) {
			known = append(known, child)
		}
	}
	return known, found
}

// joined returns the key as users type it.
func joined(name, key string) string { return strings.TrimPrefix(name+"."+key, ".") }
