package custom

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// place is a position in a file, both counted from 1.
type place struct{ line, column int }

// The limits of the keys and list elements in a file, which need time and memory that grow with the
// square of their number or depth.
const (
	maxPlaces    = 10_000
	maxPathBytes = 1 << 20 // of the paths of all of them
)

// document is a decoded TOML file with the position of each value by its path:
// "command.headless", "option[0].key", "image.run[2]".
type document struct {
	root   map[string]any
	places map[string]place
	bytes  int // of the paths that were made
}

// read parses TOML. Its error is the first problem.
func read(data []byte) (*document, *Problem) {
	d := &document{places: map[string]place{}}
	d.index(data)
	if d.full() {
		return nil, &Problem{Text: fmt.Sprintf("an agent file can have at most %d keys and list elements, and no key far within others", maxPlaces)}
	}
	if err := toml.Unmarshal(data, &d.root); err != nil {
		return nil, malformed(err)
	}
	return d, nil
}

// full reports whether the file exceeds a limit. Nothing more is recorded then.
func (d *document) full() bool { return len(d.places) > maxPlaces || d.bytes > maxPathBytes }

// malformed converts an error of the TOML decoder.
func malformed(err error) *Problem {
	p := &Problem{Text: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		p.Line, p.Column = syntax.Position()
	}
	return p
}

// at returns the position of a path, or of the innermost value around it.
func (d *document) at(path string) place {
	for path != "" {
		if p, ok := d.places[path]; ok {
			return p
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return place{}
}

// index records the positions of keys and elements. It ignores errors: the file will be
// decoded, and the decoder describes them better.
func (d *document) index(data []byte) {
	lines := newLines(data)
	counts := map[string]int{} // elements so far of each array of tables
	table := ""
	parser := unstable.Parser{}
	for parser.Reset(data); !d.full() && parser.NextExpression(); {
		switch node := parser.Expression(); node.Kind {
		case unstable.Table:
			table = d.header(node, lines, counts, false)
		case unstable.ArrayTable:
			table = d.header(node, lines, counts, true)
		case unstable.KeyValue:
			d.pair(table, node, lines)
		}
	}
}

// header records a [table] or [[table]] and returns its path.
func (d *document) header(node *unstable.Node, lines lines, counts map[string]int, array bool) string {
	path := ""
	for keys := node.Key(); !d.full() && keys.Next(); {
		path = join(path, string(keys.Node().Data))
		if array && keys.IsLast() {
			counts[path]++
		}
		d.record(path, keys.Node(), lines)
		if n := counts[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
			d.record(path, keys.Node(), lines)
		}
	}
	return path
}

// pair records a key and everything inside its value.
func (d *document) pair(table string, node *unstable.Node, lines lines) {
	path := table
	for keys := node.Key(); !d.full() && keys.Next(); {
		path = join(path, string(keys.Node().Data))
		d.record(path, keys.Node(), lines)
	}
	d.within(path, node.Value(), lines)
}

// within records the elements of a list and the pairs of an inline table.
func (d *document) within(path string, value *unstable.Node, lines lines) {
	children, i := value.Children(), 0
	switch value.Kind {
	case unstable.Array:
		for !d.full() && children.Next() {
			element := fmt.Sprintf("%s[%d]", path, i)
			d.record(element, children.Node(), lines)
			d.within(element, children.Node(), lines)
			i++
		}
	case unstable.InlineTable:
		for !d.full() && children.Next() {
			d.pair(path, children.Node(), lines)
		}
	}
}

// record keeps the first position of a path.
func (d *document) record(path string, node *unstable.Node, lines lines) {
	d.bytes += len(path)
	if _, known := d.places[path]; !known && node.Raw.Length > 0 {
		d.places[path] = lines.place(int(node.Raw.Offset))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// lines has the offsets of the beginnings of lines.
type lines []int

func newLines(data []byte) lines {
	starts := lines{0}
	for i := 0; ; {
		next := bytes.IndexByte(data[i:], '\n')
		if next < 0 {
			return starts
		}
		i += next + 1
		starts = append(starts, i)
	}
}

func (l lines) place(offset int) place {
	line, _ := slices.BinarySearch(l, offset+1)
	return place{line: line, column: offset - l[line-1] + 1}
}

// compare orders positions in the file.
func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.line, other.line), cmp.Compare(p.column, other.column))
}
