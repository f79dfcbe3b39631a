package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// With returns the file d, which may be nil, with the setting key set to text, which is
// read like the text of a variable. Comments, order and everything else are unchanged.
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
		return nil, prefixed(fmt.Sprintf("setting %q", key), e, err)
	}
	if value == nil {
		return nil, fault.New(fault.Usage, "%q cannot be empty", key).Hint("aibox config unset %s", key)
	}
	literal, err := literal(written(e.field, value))
	if err != nil {
		return nil, err
	}
	return c.proved(d, d.with(e, literal), e, value)
}

// Without returns the file d without the setting key, or d unchanged if it does not set the key.
// With its last key, a table goes, too.
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
	start := d.startWithout(it)
	rest := d.data[d.lineEnd(it.end):]
	return c.proved(d, slices.Concat(d.data[:start], rest), e, nil)
}

// startWithout returns where a text begins that ends with the line of an item: the line's start, or that
// of the header above it if the table has nothing else, not even a comment. Comments after a blank line
// belong to the table that follows.
func (d *Document) startWithout(it *item) int {
	start := bytes.LastIndexByte(d.data[:it.keys[0]], '\n') + 1
	at := slices.IndexFunc(d.items, func(other item) bool { return other.value == it.value })
	if at < 1 || d.items[at-1].table != header {
		return start
	}
	above, after := d.items[at-1].value, d.data[d.lineEnd(it.end):]
	if at+1 < len(d.items) {
		next := d.items[at+1]
		if next.table != header && next.table != arrayHeader {
			return start
		}
		after = beforeBlank(d.data[d.lineEnd(it.end) : bytes.LastIndexByte(d.data[:next.value], '\n')+1])
	}
	for _, rest := range [][]byte{d.data[d.lineEnd(above):start], after} {
		if len(bytes.TrimSpace(rest)) > 0 {
			return start
		}
	}
	return bytes.LastIndexByte(d.data[:above], '\n') + 1
}

// beforeBlank returns the lines above the last blank one, or all if none is blank.
func beforeBlank(text []byte) []byte {
	at, end := 0, len(text)
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			end = at
		}
		at += len(line)
	}
	return text[:end]
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

// written returns a value of the field as a file should have it: a size with its unit.
func written(field spec.Field, value any) any {
	if n, ok := value.(int64); ok && n != 0 && field.Type == spec.Size {
		return amount.MiB(n).String()
	}
	return value
}

// literal returns a value as TOML. Numbers, booleans and strings are written as in JSON, whose
// escapes are valid in TOML, too.
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

// with replaces the old value, or adds the key after the table's last one, or adds it under
// a new header at the end.
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

// firstHeader returns the offset of the first header, including the comment above it; the
// end of the file if there is none.
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

// lineEnd returns the offset after the line that contains offset.
func (d *Document) lineEnd(offset int) int {
	if i := bytes.IndexByte(d.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.data)
}

// proved returns data if e now has the value, and every other setting is unchanged. Some files
// cannot be edited by adding and removing lines, for example one with a table on one line.
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

// valueIn returns the file's value of the setting, unparsed if it is not valid; nil if the file
// does not set it.
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

// same compares values by their Go syntax, so that an unset list differs from an empty one.
func same(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }
