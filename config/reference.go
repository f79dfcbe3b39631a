package config

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"aibox/agents/spec"
)

// Template returns a file of settings as a starting point. Every line but the headers is a
// comment.
func Template() ([]byte, error) {
	sections, err := Catalog{}.sections(namedTables{})
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString("# Settings of aibox. Take the # away before a line to set it; the value is the\n" +
		"# default or an example. `aibox config show` shows each value and its source.\n")
	for _, s := range sections {
		if s.name == "images.versions" {
			fmt.Fprintf(&out, "\n# Other versions of agents than aibox's own; `aibox bake` builds them.\n[%s]\n# codex = \"0.169.0\"\n", s.name)
			continue
		}
		if s.name != "" {
			fmt.Fprintf(&out, "\n[%s]\n", s.name)
		}
		for i, field := range s.fields {
			if i > 0 || s.name == "" {
				out.WriteByte('\n')
			}
			fmt.Fprintf(&out, "# %s.%s\n# %s = %s\n", field.Help, choicesOf(field), field.Key, example(field, s.defaults))
		}
	}
	out.WriteString("\n# A model server of your own, for --inference work; aibox reads the key, and no sandbox gets it.\n" +
		"# [providers.work]\n# url = \"https://llm.example.org/v1\"\n# key-command = \"pass show work/llm\"\n")
	out.WriteString("\n# A secret for --secret GITHUB_TOKEN=github.com:git; the proxy outside of the sandbox adds it.\n" +
		"# [secrets.GITHUB_TOKEN]\n# command = \"gh auth token\"\n")
	out.WriteString("\n# An agent's own options; `aibox agents show codex` lists those of Codex.\n# [agents.codex]\n# reasoning-effort = \"high\"\n")
	return []byte(out.String()), nil
}

func choicesOf(field spec.Field) string {
	if len(field.Choices) == 0 {
		return ""
	}
	return " One of " + strings.Join(field.Choices, ", ") + "."
}

// example returns the default as TOML, or an empty value of the right kind.
func example(field spec.Field, defaults any) string {
	value := field.Value(defaults)
	if value == nil {
		switch field.Type {
		case spec.List, spec.Choices:
			return "[]"
		case spec.Bool:
			return "false"
		default:
			return `""`
		}
	}
	text, err := literal(written(field, value))
	if err != nil {
		return fmt.Sprint(value)
	}
	return text
}

// Reference writes the tables of all settings but the agents' in Markdown.
func Reference(w io.Writer) error {
	sections, err := Catalog{}.sections(namedTables{[]string{"NAME"}, []string{"NAME"}})
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, s := range sections {
		if s.name != "" {
			fmt.Fprintf(&out, "\n`[%s]`\n\n", s.name)
		}
		if s.name == "images.versions" {
			out.WriteString("The name of an agent's image and the version to install: `codex = \"0.169.0\"`. A repository's file cannot set it.\n")
			continue
		}
		out.WriteString("| setting | value | default | a repository's file can | description |\n| --- | --- | --- | --- | --- |\n")
		for _, e := range s.entries() {
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", e.field.Key, takes(e.field), quoted(example(e.field, s.defaults)), e.may(), e.field.Help)
		}
	}
	_, err = io.WriteString(w, out.String())
	return err
}

func takes(field spec.Field) string {
	if len(field.Choices) > 0 {
		return "`" + strings.Join(field.Choices, "`, `") + "`"
	}
	if field.Auto != "" {
		return field.Type.String() + ", or `" + spec.Auto + "`: " + field.Auto
	}
	return field.Type.String()
}

func quoted(text string) string {
	if text == `""` {
		return ""
	}
	return "`" + text + "`"
}

// may describes what a repository's file may do to the setting.
func (e entry) may() string {
	switch {
	case e.addsUp():
		return "add to it"
	case e.field.Scope == spec.Repository:
		return "set it"
	case e.field.Scope == spec.User:
		return "not set it"
	case e.field.Type == spec.Bool && e.field.Scope == spec.AtLeast:
		return "switch it on"
	case e.field.Type == spec.Bool:
		return "switch it off"
	case e.field.Type == spec.Choice && e.field.Scope == spec.AtMost:
		return "choose an earlier one"
	case e.field.Type == spec.Choice:
		return "choose a later one"
	case e.field.Type == spec.List, e.field.Type == spec.Choices:
		return "shorten it"
	case e.field.Scope == spec.AtLeast:
		return "raise it"
	default:
		return "lower it"
	}
}

// May describes what a repository's file may do to the setting, such as "lower it".
func (s Setting) May() string { return entry{field: s.Field}.may() }

// Schema returns a JSON Schema (draft 2020-12) of a file of settings.
func (c Catalog) Schema() (map[string]any, error) {
	sections, err := c.sections(namedTables{})
	if err != nil {
		return nil, err
	}
	root := spec.Schema(sections[0].defaults)
	root["title"] = "Settings of aibox"
	provider := spec.Schema(new(Provider))
	delete(provider, "$schema")
	source := spec.Schema(new(SecretSource))
	delete(source, "$schema")
	if properties, ok := root["properties"].(map[string]any); ok {
		properties[providersTable] = map[string]any{"type": "object", "additionalProperties": provider}
		properties[secretsTable] = map[string]any{"type": "object", "additionalProperties": source}
	}
	for _, s := range sections[1:] {
		table := spec.Schema(s.defaults)
		delete(table, "$schema")
		for _, field := range s.fields {
			if properties, ok := table["properties"].(map[string]any); ok && field.Type == spec.Secret {
				delete(properties, field.Key) // no file holds a secret
			}
		}
		put(root, strings.Split(s.name, "."), table)
	}
	return root, nil
}

// put stores table under path, and creates the tables above it.
func put(schema map[string]any, path []string, table map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if len(path) == 1 {
		if before, ok := properties[path[0]].(map[string]any); ok { // another section of this name
			had, _ := before["properties"].(map[string]any)
			more, _ := table["properties"].(map[string]any)
			maps.Copy(had, more)
			return
		}
		properties[path[0]] = table
		return
	}
	above, ok := properties[path[0]].(map[string]any)
	if !ok {
		above = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}
		properties[path[0]] = above
	}
	put(above, path[1:], table)
}
