package config

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// prefix begins the name of every variable that is a setting.
const prefix = "AIBOX_"

// others are aibox's variables that are not settings: the key of a model server that is
// named by a URL, those of the API's clients, and those that an agent in a sandbox has.
var others = []string{
	"AIBOX_INFERENCE_KEY", "AIBOX_URL", "AIBOX_TOKEN", "AIBOX_API_KEY", "AIBOX_PROMPT_FILE", "AIBOX_INSTRUCTIONS_FILE", "AIBOX_MCP_URL",
}

// underscores replaces what the names of variables cannot contain.
var underscores = strings.NewReplacer(".", "_", "-", "_")

// Variable returns the name of the environment variable that sets the setting key.
func Variable(key string) string {
	return prefix + strings.ToUpper(underscores.Replace(key))
}

// readEnvironment returns the variables by name. It refuses a nonempty variable that begins
// with AIBOX_ and is not a setting, since a misspelled limit would have no effect.
func readEnvironment(environment []string, sections []*section) (map[string]string, error) {
	variables := map[string]string{}
	var known []string
	var unread []string
	for _, s := range sections {
		if s.unread {
			unread = append(unread, Variable(s.name)+"_")
		}
		for _, e := range s.entries() {
			if e.field.Type != spec.Secret {
				known = append(known, Variable(e.key))
			}
		}
	}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
		if value == "" || !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, "AIBOX_TEST_") ||
			slices.Contains(known, name) || slices.Contains(others, name) ||
			slices.ContainsFunc(unread, func(start string) bool { return strings.HasPrefix(name, start) }) {
			continue
		}
		unknown := fault.New(fault.Usage, "the environment variable %s is not a setting", name)
		if near := spelling.Nearest(name, known); near != "" {
			unknown = unknown.Hint("did you mean %s?", near)
		}
		return nil, unknown.Hint("unset %s", name)
	}
	return variables, nil
}

// inEnvironment returns the value of the setting's variable. An empty variable counts as
// unset; but an empty list is a list without elements.
func (e entry) inEnvironment(variables map[string]string) (*sourceValue, error) {
	name := Variable(e.key)
	text, ok := variables[name]
	if !ok || text == "" && !isList(e.field) {
		return nil, nil //nolint:nilnil // the variable is not set, which is no error
	}
	value, err := e.read(func(scratch any) error {
		if strings.TrimSpace(text) == "" {
			return e.field.Decode(scratch, []any{})
		}
		return e.field.Set(scratch, text)
	})
	if err != nil {
		return nil, prefixed(name, e, err)
	}
	if value, err = e.number(value); err != nil {
		return nil, err
	}
	return &sourceValue{value, Source{Kind: Environment, Name: name}}, nil
}
