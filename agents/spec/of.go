package spec

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"aibox/internal/secret"
)

var envName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// Of reads the options of v, a struct or a pointer to one, in the order in which
// they stand. Unexported fields are no options. Errors are a programmer's: they
// name the struct, the field and the tag key.
func Of(v any) ([]Field, error) {
	structure := reflect.TypeOf(v)
	if structure != nil && structure.Kind() == reflect.Pointer {
		structure = structure.Elem()
	}
	if structure == nil || structure.Kind() != reflect.Struct {
		return nil, fmt.Errorf("spec: %T is not a struct", v)
	}
	var fields []Field
	taken := map[string]string{}
	for i := range structure.NumField() {
		member := structure.Field(i)
		if !member.IsExported() {
			continue
		}
		field, err := read(member)
		if err == nil {
			err = claim(taken, field)
		}
		if err != nil {
			return nil, fmt.Errorf("spec: %s.%s: %w", structure.Name(), member.Name, err)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// Defaults sets every field of v to its default. v is a pointer to the struct.
func Defaults(v any) error {
	fields, err := Of(v)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := field.Set(v, field.Default); err != nil {
			return err
		}
	}
	return nil
}

// claim rejects two options with one key, flag or variable.
func claim(taken map[string]string, field Field) error {
	for kind, name := range map[string]string{"key": field.Key, "flag": strings.Join(field.Flag, " "), "env": field.Env} {
		if name == "" {
			continue
		}
		if other, ok := taken[kind+name]; ok {
			return fmt.Errorf("tag key %q: %q is taken by %s", kind, name, other)
		}
		taken[kind+name] = field.Name
	}
	return nil
}

func read(member reflect.StructField) (Field, error) {
	field := Field{Name: member.Name, Key: kebab(member.Name), index: member.Index}
	tags, err := parseTag(string(member.Tag))
	if err != nil {
		return field, err
	}
	field.Label, field.Help, field.Group = tags["label"], tags["help"], tags["group"]
	field.Env, field.Default = tags["env"], tags["default"]
	field.Flag, field.Choices = strings.Fields(tags["flag"]), strings.Fields(tags["choices"])
	for _, key := range []string{"label", "help"} {
		if tags[key] == "" {
			return field, fmt.Errorf("tag key %q is missing", key)
		}
	}
	if field.Type, err = typeOf(member.Type, tags); err != nil {
		return field, err
	}
	if err := field.readBounds(tags); err != nil {
		return field, err
	}
	if err := field.Mode.UnmarshalText([]byte(tags["mode"])); tags["mode"] != "" && err != nil {
		return field, fmt.Errorf("tag key \"mode\": %w", err)
	}
	return field, field.check(member.Type)
}

// check holds the rules that tie several keys together.
func (f Field) check(goType reflect.Type) error {
	if f.Env != "" && !envName.MatchString(f.Env) {
		return fmt.Errorf("tag key \"env\": %q is no variable name", f.Env)
	}
	if len(f.Flag) > 0 && !strings.HasPrefix(f.Flag[0], "-") {
		return fmt.Errorf("tag key \"flag\": %q does not begin with a dash", f.Flag[0])
	}
	if f.Type == Secret && len(f.Flag) > 0 {
		return fmt.Errorf("tag key \"flag\": a secret never goes into an argument list")
	}
	if f.Type == Secret && f.Default != "" {
		return fmt.Errorf("tag key \"default\": a secret has none")
	}
	if f.Type == List || f.Default == "" {
		return nil
	}
	if err := f.store(reflect.New(goType).Elem(), f.Default); err != nil {
		return fmt.Errorf("tag key \"default\": %w", err)
	}
	return nil
}

func (f *Field) readBounds(tags map[string]string) error {
	for key, bound := range map[string]*int{"min": &f.Min, "max": &f.Max} {
		text, ok := tags[key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || f.Type != Int {
			return fmt.Errorf("tag key %q: %q is no bound of a %s", key, text, f.Type)
		}
		*bound = n
	}
	if f.Min > f.Max {
		return fmt.Errorf("tag key \"min\": %d is above max %d", f.Min, f.Max)
	}
	return nil
}

func typeOf(goType reflect.Type, tags map[string]string) (Type, error) {
	_, choices := tags["choices"]
	_, marked := tags["secret"]
	var kind Type
	switch {
	case goType == reflect.TypeFor[secret.Value]():
		kind = Secret
	case goType == reflect.TypeFor[[]string]():
		kind = List
	case goType == reflect.TypeFor[string]() && choices:
		kind = Choice
	case goType == reflect.TypeFor[string]():
		kind = String
	case goType == reflect.TypeFor[bool]():
		kind = Bool
	case goType == reflect.TypeFor[int]():
		kind = Int
	default:
		return 0, fmt.Errorf("type %s is no option: string, bool, int, []string or secret.Value", goType)
	}
	switch {
	case choices && kind != Choice:
		return 0, fmt.Errorf("tag key \"choices\" belongs to strings, not to %s", goType)
	case choices && strings.TrimSpace(tags["choices"]) == "":
		return 0, fmt.Errorf("tag key \"choices\" is empty")
	case marked != (kind == Secret) || marked && tags["secret"] != "true":
		return 0, fmt.Errorf("tag key \"secret\" is \"true\" on every secret.Value and on nothing else")
	}
	return kind, nil
}

// kebab turns ReasoningEffort into reasoning-effort and OutputJSON into output-json.
func kebab(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		startsWord := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if startsWord {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// keys is the closed set of tag keys.
var keys = []string{
	"label", "help", "flag", "env", "default", "choices", "min", "max", "group", "secret", "mode",
}

// parseTag reads a whole struct tag by the convention of package reflect, but
// refuses what reflect would ignore: other keys, a key twice, loose text.
func parseTag(tag string) (map[string]string, error) {
	tags := map[string]string{}
	for tag = strings.TrimLeft(tag, " "); tag != ""; tag = strings.TrimLeft(tag, " ") {
		key, rest, ok := strings.Cut(tag, ":")
		if !ok || key == "" {
			return nil, fmt.Errorf("malformed tag at %q", tag)
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("tag key %q: its value is not quoted", key)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("tag key %q: %w", key, err)
		}
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("unknown tag key %q: know %s", key, strings.Join(keys, ", "))
		}
		if _, twice := tags[key]; twice {
			return nil, fmt.Errorf("tag key %q stands twice", key)
		}
		tags[key], tag = value, rest[len(quoted):]
	}
	return tags, nil
}
