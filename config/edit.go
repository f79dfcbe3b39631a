package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// With returns the file d, which may be nil, with the setting key at the value that text
// stands for, as in a variable. Comments, order and everything else stay as they
// are.
func (c Catalog) With(d *Document, key, text string) ([]byte, error) {
	c.named = tablesIn(d)
	e, err := c.entry(key)
	if err != nil {
		return nil, err
	}
	if e.field.Type == spec.Secret {
		return nil, fault.New(fault.Usage, "%q is a secret, which a settings file cannot contain", key).Hint("export %s=… instead", e.field.Env)
	}
	value, err := e.read(func(scratch any) error { return e.field.Set(scratch, text) })
	if err != nil {
		return nil, e.hinted(fault.New(fault.Usage, "%s", err), err)
	}
	if value == nil {
		return nil, fault.New(fault.Usage, "%q cannot be empty", key).Hint("aibox config unset %s", key)
	}
	literal, err := literal(value)
	if err != nil {
		return nil, err
	}
	return c.proved(d, d.with(e, literal), e, value)
}

// Without returns the file d without the setting key, or d as it is when it does not
// have it.
func (c Catalog) Without(d *Document, key string) ([]byte, error) {
	c.named = tablesIn(d)
	e, err := c.entry(key)
	if err != nil || d == nil {
		return nil, err
	}
	it, _ := d.find(e)
	if it == nil {
		return d.data, nil
	}
	start := bytes.LastIndexByte(d.data[:it.keys[0]], '\n') + 1
	rest := d.data[d.lineEnd(it.end):]
	return c.proved(d, slices.Concat(d.data[:start], rest), e, nil)
}

// entry returns the setting with the key.
func (c Catalog) entry(key string) (entry, error) {
	sections, err := c.sections(c.named.with(key))
	if err != nil {
		return entry{}, err
	}
	var known []string
	for _, s := range sections {
		for _, e := range s.entries() {
			if e.key == key {
				return e, nil
			}
			known = append(known, e.key)
		}
	}
	return entry{}, unknownKey(key, known)
}

func unknownKey(key string, known []string) error {
	unknown := fault.New(fault.Usage, "unknown setting %q", key)
	if near := spelling.Nearest(key, known); near != "" {
		return unknown.Hint("did you mean %q?", near)
	}
	return unknown.Hint("`aibox config show` lists them all")
}

// literal returns a value as it stands in TOML. Numbers, truth values and strings are
// written as in JSON, whose escapes TOML knows too.
func literal(value any) (string, error) {
	if words, ok := value.([]string); ok {
		quoted := make([]string, len(words))
		for i, word := range words {
			var err error
			if quoted[i], err = literal(word); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(quoted, ", ") + "]", nil
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "\x7f", `\u007f`), err
}

// with puts a value in the place of the old one, or below the table's last, or
// below a new header at the end.
func (d *Document) with(e entry, literal string) []byte {
	line := e.field.Key + " = " + literal + "\n"
	if d == nil {
		d = &Document{}
	}
	if it, _ := d.find(e); it != nil {
		return slices.Concat(d.data[:it.value], []byte(literal), d.data[it.end:])
	}
	at, found := d.placeIn(e.section.name)
	if !found {
		line = "[" + e.section.name + "]\n" + line
		if len(d.data) > 0 {
			line = "\n" + line
		}
	}
	before := d.data[:at]
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	return slices.Concat(before, []byte(line), d.data[at:])
}

// placeIn returns where a new line of the table goes; found is false when the table has
// no header.
func (d *Document) placeIn(table string) (offset int, found bool) {
	offset, found = len(d.data), table == ""
	inside := table == ""
	if inside {
		offset = d.firstHeader()
	}
	for _, it := range d.items {
		if it.table == header {
			if inside = strings.Join(it.path, ".") == table; inside {
				offset, found = d.lineEnd(it.value), true
			}
		} else if inside {
			offset = d.lineEnd(it.end)
		}
	}
	return offset, found
}

// firstHeader returns where the first header stands, with the comment above it; the end
// of the file when it has none.
func (d *Document) firstHeader() int {
	i := slices.IndexFunc(d.items, func(it item) bool { return it.table == header || it.table == arrayHeader })
	if i < 0 {
		return len(d.data)
	}
	start := bytes.LastIndexByte(d.data[:d.items[i].value], '\n') + 1
	for start > 0 {
		above := bytes.LastIndexByte(d.data[:start-1], '\n') + 1
		if !bytes.HasPrefix(bytes.TrimLeft(d.data[above:start], " \t"), []byte("#")) {
			break
		}
		start = above
	}
	return start
}

// lineEnd returns the offset behind the end of the line that offset is in.
func (d *Document) lineEnd(offset int) int {
	if i := bytes.IndexByte(d.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.data)
}

// proved returns data if e now has the value, and every other setting is as it was
// before. A file may be written in ways that lines cannot be put into or taken out
// of, such as a table on one line.
func (c Catalog) proved(before *Document, data []byte, e entry, value any) ([]byte, error) {
	byHand := fault.New(fault.Usage, "%q cannot be changed automatically in your file", e.key).Hint("edit it by hand: aibox config edit")
	after, err := Parse(UserFile, UserName, data)
	if err != nil {
		return nil, byHand
	}
	sections, err := c.sections(c.named.with(e.key))
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		for _, other := range s.entries() {
			want := value
			if other.key != e.key {
				want = other.valueIn(before)
			}
			if !same(other.valueIn(after), want) {
				return nil, byHand
			}
		}
	}
	return data, nil
}

// valueIn returns what the file says, as it stands there when it cannot be read; nil
// when it says nothing.
func (e entry) valueIn(d *Document) any {
	it, raw := d.find(e)
	if it == nil {
		return nil
	}
	value, err := e.read(func(scratch any) error { return e.field.Decode(scratch, raw) })
	if err != nil {
		return raw
	}
	return value
}

// same compares values as they would be written in Go, so that an unset list is
// not an empty one.
func same(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }
