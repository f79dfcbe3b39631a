package custom

import (
	"fmt"
	"strconv"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/lazyregexp"
)

// options reads every [[option]]. Package spec validates them like the fields of a
// built-in agent.
func (r *reader) options() []spec.Definition {
	var defs []spec.Definition
	r.each("option", func(path string, table map[string]any) {
		defs = append(defs, r.option(path, table))
	})
	if len(r.problems) > 0 {
		return nil
	}
	v, err := spec.Struct(defs)
	if err != nil {
		r.failOption(defs, err)
		return nil
	}
	fields, err := spec.Of(v)
	if err != nil {
		r.fail("option", "%v", err)
		return nil
	}
	for i, field := range fields {
		if len(field.Flag) == 0 && field.Env == "" {
			r.fail(fmt.Sprintf("option[%d]", i), "the option %q needs a flag or an env to reach the agent", field.Key)
		}
	}
	return defs
}

// option reads one definition. It converts limits and defaults from TOML values to the
// text of a tag.
func (r *reader) option(path string, table map[string]any) spec.Definition {
	def := spec.Definition{Key: text(table, "key"), Type: text(table, "type"), Tags: map[string]string{}}
	for _, name := range []string{"label", "help", "flag", "env", "group", "mode", "scope", "when"} {
		if value, ok := table[name].(string); ok {
			def.Tags[name] = value
		}
	}
	r.checkReserved(path, def)
	def.Tags["help"] = strings.TrimSuffix(def.Tags["help"], ".")
	for _, name := range []string{"default", "min", "max"} {
		if value, ok := table[name]; ok {
			def.Tags[name] = tagText(value)
		}
	}
	choices := texts(table, "choices")
	for i, choice := range choices {
		if len(strings.Fields(choice)) != 1 {
			r.fail(fmt.Sprintf("%s.choices[%d]", path, i), "the choice %q contains a space", choice)
		}
	}
	if _, ok := table["choices"]; ok {
		def.Tags["choices"] = strings.Join(choices, " ")
	}
	return def
}

// tagText converts a TOML value to the text of a tag.
func tagText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	case []any:
		if len(value) == 0 {
			return "[]"
		}
		var words []string
		for _, word := range value {
			text, _ := word.(string)
			words = append(words, `"`+strings.ReplaceAll(text, `"`, `""`)+`"`)
		}
		return strings.Join(words, ",")
	default:
		return ""
	}
}

// ofOption matches the beginning of an error of package spec.
var ofOption = lazyregexp.New(`^option ("(?:[^"\\]|\\.)*"):? `)

// failOption reports an error of package spec at the option's position.
func (r *reader) failOption(defs []spec.Definition, err error) {
	message := strings.ReplaceAll(err.Error(), "tag key ", "key ")
	path := "option"
	if found := ofOption.FindStringSubmatch(message); found != nil {
		for i, def := range defs {
			if strconv.Quote(def.Key) == found[1] {
				path = fmt.Sprintf("option[%d]", i) // the last one, if two have the same key
			}
		}
	}
	r.fail(path, "%s", message)
}

// hasFlag reports whether an option that applies in mode has a flag.
func hasFlag(defs []spec.Definition, mode spec.Mode) bool {
	for _, def := range defs {
		var known spec.Mode
		if text := def.Tags["mode"]; text != "" {
			_ = known.UnmarshalText([]byte(text)) // spec has validated it
		}
		if def.Tags["flag"] != "" && known.Includes(mode) {
			return true
		}
	}
	return false
}
