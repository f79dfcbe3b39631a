package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"aibox/internal/fault"
)

// Document is a file of settings that has been parsed. It is not yet known
// whether its keys are settings.
type Document struct {
	kind  Kind
	name  string
	data  []byte
	tree  map[string]any
	items []item // in the order of the file
}

// item is a key with its value, or the header of a table.
type item struct {
	path  []string
	keys  []int // the offsets of the last parts of path, which are in this line
	value int   // the offset of the value; of the header itself for a header
	end   int   // the offset after the value
	table kindOfTable
}

type kindOfTable int

const (
	noTable     kindOfTable = iota
	header                  // [x]
	arrayHeader             // [[x]]
	inlineTable             // x = {}
)

// Parse reads TOML. The name of the file is for errors and for provenance. Malformed TOML is a
// Usage fault with line and column.
func Parse(kind Kind, name string, data []byte) (*Document, error) {
	d := &Document{kind: kind, name: name, data: data, tree: map[string]any{}}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, d.fault(i, "a settings file must be text, but this one contains a NUL byte")
	}
	if !utf8.Valid(data) {
		return nil, d.fault(invalid(data), "a settings file must be UTF-8")
	}
	if err := d.locate(); err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(data, &d.tree); err != nil {
		var malformed *toml.DecodeError
		if !errors.As(err, &malformed) {
			return nil, fault.New(fault.Usage, "%s: %w", name, err)
		}
		line, column := malformed.Position()
		return nil, d.fault(d.offset(line, column), "%s", strings.TrimPrefix(malformed.Error(), "toml: "))
	}
	return d, nil
}

// maxKeys bounds the keys of a file, where each part of a key's whole path counts. There are a
// few hundred settings, and go-toml's time grows with the square of the number.
const maxKeys = 5000

// locate finds the offsets of the keys. In a malformed file it stops at the mistake, which
// go-toml reports better.
func (d *Document) locate() error {
	left := maxKeys
	var parser unstable.Parser
	parser.Reset(d.data)
	var table []string
	for parser.NextExpression() {
		switch node := parser.Expression(); node.Kind {
		case unstable.Table, unstable.ArrayTable:
			it := d.keyed(nil, node)
			it.table, it.value = header, it.keys[0]
			if node.Kind == unstable.ArrayTable {
				it.table = arrayHeader
			}
			table = it.path
			if err := d.add(it, &left); err != nil {
				return err
			}
		case unstable.KeyValue:
			if err := d.assign(table, node, &left); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds an item, unless it has more keys than are left.
func (d *Document) add(it item, left *int) error {
	if *left -= len(it.path); *left < 0 {
		return d.fault(it.keys[0], "a settings file can have at most %d keys", maxKeys)
	}
	d.items = append(d.items, it)
	return nil
}

// assign adds a key with its value, and the keys within an inline table.
func (d *Document) assign(table []string, node *unstable.Node, left *int) error {
	it := d.keyed(table, node)
	last := lastKey(node)
	it.value = skip(d.data, int(last.Raw.Offset+last.Raw.Length))
	it.end = int(node.Raw.Offset + node.Raw.Length)
	if node.Value().Kind != unstable.InlineTable {
		return d.add(it, left)
	}
	it.table = inlineTable
	if err := d.add(it, left); err != nil {
		return err
	}
	for child := node.Value().Child(); child.Valid(); child = child.Next() {
		if child.Kind == unstable.KeyValue {
			if err := d.assign(it.path, child, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyed makes an item of the keys of node, which are relative to table.
func (d *Document) keyed(table []string, node *unstable.Node) item {
	it := item{path: slices.Clone(table)}
	for keys := node.Key(); keys.Next(); {
		key := keys.Node()
		it.path = append(it.path, string(key.Data))
		it.keys = append(it.keys, int(key.Raw.Offset))
	}
	return it
}

func lastKey(node *unstable.Node) *unstable.Node {
	var last *unstable.Node
	for keys := node.Key(); keys.Next(); {
		last = keys.Node()
	}
	return last
}

// skip returns the offset of the value that follows the key ending at offset.
func skip(data []byte, offset int) int {
	for offset < len(data) && strings.IndexByte(" \t=", data[offset]) >= 0 {
		offset++
	}
	return offset
}

// at returns the document's value at path. It returns false if there is none, or if a list of
// tables is on the way.
func (d *Document) at(path []string) (any, bool) {
	var value any = d.tree
	for _, key := range path {
		table, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = table[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// offset returns the offset of a line and a column in bytes, both counted from 1.
func (d *Document) offset(line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(d.data[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	return min(offset+max(column-1, 0), len(d.data))
}

// position returns the line and the column, in characters, of an offset; both from 1.
func (d *Document) position(offset int) (line, column int) {
	before := d.data[:min(offset, len(d.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// fault returns a Usage fault about a place in the file, whose line it shows.
func (d *Document) fault(offset int, format string, args ...any) *fault.Fault {
	return d.faultUntil(offset, len(d.data), format, args...)
}

// faultUntil is like fault, but shows nothing from end on, where there may be a secret in
// the wrong place.
func (d *Document) faultUntil(offset, end int, format string, args ...any) *fault.Fault {
	line, column := d.position(offset)
	return fault.New(fault.Usage, "%s:%d:%d: %s\n%s", d.name, line, column, fmt.Sprintf(format, args...), d.excerpt(offset, end))
}

// excerpt shows the line around offset up to end, and points at it.
func (d *Document) excerpt(offset, end int) string {
	const before, after = 60, 40 // characters
	offset = min(offset, len(d.data))
	start := bytes.LastIndexByte(d.data[:offset], '\n') + 1
	cut := max(end, offset)
	if i := bytes.IndexByte(d.data[offset:], '\n'); i >= 0 {
		cut = min(cut, offset+i)
	}
	line, _ := d.position(offset)
	left, right := []rune(string(d.data[start:offset])), []rune(string(d.data[offset:cut]))
	if len(left) > before {
		left = append([]rune("…"), left[len(left)-before:]...)
	}
	if len(right) > after || cut == end && end < len(d.data) {
		right = append(right[:min(after, len(right))], '…')
	}
	label := fmt.Sprintf("  %d | ", line)
	text := strings.Map(oneColumn, string(left)+string(right))
	return fmt.Sprintf("%s%s\n%*s| %*s", label, strings.TrimRight(text, " "), len(label)-2, "", len(left)+1, "^")
}

// oneColumn keeps the excerpt's pointer below its place: it replaces characters that a terminal
// does not show in exactly one column.
func oneColumn(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < ' ', r == 0x7f, r == utf8.RuneError:
		return '?'
	default:
		return r
	}
}

// invalid returns the offset of the first byte that is not UTF-8.
func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}
