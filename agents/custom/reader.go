package custom

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/internal/spelling"
	"aibox/internal/termtext"
)

// reader reads values from a document and collects problems.
type reader struct {
	doc      *document
	problems []Problem
	unknowns int // how many of the problems are unknown keys
}

// fail records a problem at a path. It returns the problem so that the caller can add a
// hint.
func (r *reader) fail(path, format string, args ...any) *Problem {
	at := r.doc.at(path)
	r.problems = append(r.problems, Problem{Line: at.line, Column: at.column, Text: termtext.Escape(fmt.Sprintf(format, args...))})
	return &r.problems[len(r.problems)-1]
}

// checkShape checks that every key is known and has a value of its kind, and that none
// is missing. The other methods rely on this.
func (r *reader) checkShape() {
	for _, name := range slices.Sorted(maps.Keys(r.doc.root)) {
		value := r.doc.root[name]
		if i := slices.IndexFunc(sections, func(s section) bool { return s.name == name && name != "" }); i >= 0 {
			r.section(sections[i], value)
			continue
		}
		r.entry("", "", name, value)
	}
	r.missing("", "", r.doc.root)
	if _, ok := r.doc.root["command"]; !ok {
		r.fail("", "there is no [command]").Hint = `add how to start it: [command] and headless = ["my-bot", "{prompt}"]`
	}
}

func (r *reader) section(s section, value any) {
	if table, ok := value.(map[string]any); ok && !s.array {
		r.table(s.name, s.name, table)
		return
	}
	tables, ok := value.([]any)
	if len(tables) > most {
		r.fail(s.name, "[[%[2]s]] is limited to %[1]d entries", most, s.name)
		return
	}
	for i, element := range tables {
		table, isTable := element.(map[string]any)
		if ok = ok && isTable; isTable {
			r.table(s.name, fmt.Sprintf("%s[%d]", s.name, i), table)
		}
	}
	switch {
	case s.array && !ok:
		r.fail(s.name, "write %s as [[%s]], once for each entry", s.name, s.name)
	case !s.array:
		r.fail(s.name, "%s is a table: write [%s] once", s.name, s.name)
	}
}

func (r *reader) table(name, path string, table map[string]any) {
	if len(table) > most {
		r.fail(path, "[%s] has more than %d keys", name, most)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(table)) {
		r.entry(name, path, k, table[k])
	}
	r.missing(name, path, table)
}

func (r *reader) missing(table, path string, values map[string]any) {
	for _, k := range keys {
		if _, ok := values[k.name]; k.table == table && k.need == required && !ok {
			r.fail(path, "%s is missing", k.name).Hint = k.name + " = " + k.example
		}
	}
}

func (r *reader) entry(table, path, name string, value any) {
	path = join(path, name)
	k, ok := find(table, name)
	if !ok {
		r.unknown(table, path, name)
		return
	}
	switch k.kind {
	case line:
		r.line(path, name, value)
	case prose:
		r.prose(path, name, value)
	case list:
		r.list(path, name, value, r.line)
	case scripts:
		r.list(path, name, value, r.prose)
	case command:
		r.list(path, name, value, r.words)
	case anything:
		r.scalar(path, name, value)
	}
}

func (r *reader) unknown(table, path, name string) {
	where := "at the top of the file"
	if table != "" {
		where = "in [" + table + "]"
	}
	r.unknowns++
	p := r.fail(path, "unknown key %q %s", name, where)
	if near := spelling.Nearest(name, names(table)); near != "" {
		p.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if other := tableWith(name); other != "" && other != table {
		p.Hint = fmt.Sprintf("%q belongs in [%s]", name, other)
	} else if _, top := find("", name); top {
		p.Hint = fmt.Sprintf("%q belongs at the top of the file, above every [table]", name)
	} else {
		p.Hint = "the keys are " + strings.Join(names(table), ", ")
	}
}

// line checks a text that is shown to users.
func (r *reader) line(path, name string, value any) {
	text, ok := value.(string)
	switch {
	case !ok:
		r.fail(path, "%s must be a quoted string, not %s", name, describe(value))
	case strings.TrimSpace(text) == "":
		r.fail(path, "%s is empty", name)
	case strings.ContainsAny(text, "\n\r\t") || termtext.Text(text) != text:
		r.fail(path, "%s must be one line of printable characters", name)
	}
}

// prose checks a text that is passed to a program.
func (r *reader) prose(path, name string, value any) {
	text, ok := value.(string)
	switch {
	case !ok:
		r.fail(path, "%s must be a quoted string, not %s", name, describe(value))
	case strings.ContainsRune(text, 0):
		r.fail(path, "%s contains a NUL character", name)
	}
}

func (r *reader) list(path, name string, value any, each func(path, name string, value any)) {
	elements, ok := value.([]any)
	if !ok {
		r.fail(path, "%s must be a list in brackets, not %s", name, describe(value))
		return
	}
	if len(elements) > most {
		r.fail(path, "%s has more than %d elements", name, most)
		return
	}
	for i, element := range elements {
		each(fmt.Sprintf("%s[%d]", path, i), name, element)
	}
}

// words checks one element of a command: a word, or a list of words that are omitted
// together.
func (r *reader) words(path, name string, value any) {
	group, ok := value.([]any)
	if !ok {
		r.prose(path, name, value)
		return
	}
	if len(group) == 0 {
		r.fail(path, "%s contains an empty list", name)
	}
	for i, word := range group {
		r.prose(fmt.Sprintf("%s[%d]", path, i), name, word)
	}
}

func (r *reader) scalar(path, name string, value any) {
	switch value := value.(type) {
	case string:
		r.prose(path, name, value)
	case bool, int64:
	case []any:
		r.list(path, name, value, r.prose)
	default:
		r.fail(path, "%s cannot be %s", name, describe(value))
	}
}

// describe names the kind of a TOML value.
func describe(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int64:
		return "a number"
	case float64:
		return "a decimal number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	default:
		return "a date or time"
	}
}

// sub returns the table with the given name, or nil.
func (r *reader) sub(name string) map[string]any {
	table, _ := r.doc.root[name].(map[string]any)
	return table
}

// each calls use with every [[name]] and its path.
func (r *reader) each(name string, use func(path string, table map[string]any)) {
	tables, _ := r.doc.root[name].([]any)
	for i, element := range tables {
		if table, ok := element.(map[string]any); ok {
			use(fmt.Sprintf("%s[%d]", name, i), table)
		}
	}
}

// text returns a text of table, or "".
func text(table map[string]any, name string) string {
	value, _ := table[name].(string)
	return value
}

// texts returns a list of texts of table.
func texts(table map[string]any, name string) []string {
	elements, _ := table[name].([]any)
	var all []string
	for _, element := range elements {
		if value, ok := element.(string); ok {
			all = append(all, value)
		}
	}
	return all
}
