package custom

import "aibox/agents/spec"

// Schema returns a JSON Schema (draft 2020-12) of agent files, for editors. Its values
// can all be encoded by encoding/json.
func Schema() map[string]any {
	root := object(section{})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "An agent for aibox"
	properties, _ := root["properties"].(map[string]any)
	for _, s := range sections[1:] {
		table := object(s)
		if s.array {
			table = map[string]any{"type": "array", "items": table}
		}
		table["description"] = s.help
		properties[s.name] = table
	}
	if names, ok := root["required"].([]string); ok {
		root["required"] = append(names, "command")
	}
	return root
}

// object returns the schema of a table.
func object(s section) map[string]any {
	properties := map[string]any{}
	table := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	var names []string
	for _, k := range keys {
		switch {
		case k.table != s.name:
			continue
		case k.name == "":
			table["additionalProperties"] = k.schema()
			continue
		case k.need == required:
			names = append(names, k.name)
		}
		properties[k.name] = k.schema()
	}
	if names != nil {
		table["required"] = names
	}
	return table
}

// schema returns the schema of a key's value.
func (k key) schema() map[string]any {
	text := map[string]any{"type": "string"}
	property := map[string]any{"type": "string"}
	switch k.kind {
	case list, scripts:
		property = map[string]any{"type": "array", "items": text}
	case command:
		property = map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"anyOf": []any{
			text, map[string]any{"type": "array", "minItems": 1, "items": text},
		}}}
	case anything:
		property = map[string]any{}
	}
	if words := k.words(); words != nil {
		if k.kind == list {
			property["items"] = map[string]any{"enum": words}
		} else {
			property["enum"] = words
		}
	}
	property["description"] = k.help
	return property
}

// words returns the allowed values of a key, or nil if any is allowed.
func (k key) words() []string {
	var all []string
	switch k.table + "." + k.name {
	case ".speaks":
		for _, dialect := range dialects {
			all = append(all, dialect.String())
		}
	case "command.stdin":
		all = []string{"prompt", "none"}
	case "option.type":
		for kind := spec.String; kind <= spec.Secret; kind++ {
			all = append(all, kind.String())
		}
	case "option.mode":
		all = []string{spec.Headless.String(), spec.Interactive.String(), spec.Both.String()}
	case "option.scope":
		for scope := spec.User; scope <= spec.AtLeast; scope++ {
			all = append(all, scope.String())
		}
	}
	return all
}
