package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"aibox/netguard"
)

// checker reads a forwarded body as a server would, with another JSON parser, and reports
// the parts that the tables do not name. It uses the tables and shares nothing else with
// the engine.
type checker struct {
	own   []string // models
	open  []netguard.ServerTool
	camel bool
	found []string
}

func (c *checker) fail(place, format string, args ...any) {
	c.found = append(c.found, place+": "+fmt.Sprintf(format, args...))
}

func (c *checker) value(r rule, value any, place string) {
	if value == nil {
		return
	}
	switch r := r.(type) {
	case fields:
		c.object(object{fields: r}, value, place)
	case object:
		c.object(r, value, place)
	case streaming:
		c.object(r.object, value, place)
	case streamOptions:
		c.object(object{fields: r.fields}, value, place)
	case list:
		array, ok := value.([]any)
		if !ok {
			c.fail(place, "%T is not a list", value)
		}
		for i, element := range array {
			c.value(r.of, element, fmt.Sprintf("%s[%d]", place, i))
		}
	case either:
		switch value.(type) {
		case []any:
			c.value(r.list, value, place)
		case map[string]any:
			c.value(r.object, value, place)
		default:
			c.value(r.text, value, place)
		}
	case prompt:
		c.value(r.rule, value, place)
	case tagged:
		c.tagged(r, value, place)
	case serverTool:
		c.opened(r.kind, r.rule, value, place)
	case offeredTool:
		c.opened(r.kind, r.rule, value, place)
	case history:
		c.opened(r.kind, r.rule, value, place)
	case refused:
		c.fail(place, "is refused and came")
	case jsonSchema:
		c.refs(value, place)
	case scalar, streamSwitch, outputLimit, choiceCount:
		switch value.(type) {
		case []any, map[string]any:
			c.fail(place, "%T is not a scalar", value)
		}
	case anything:
	case nil:
		c.fail(place, "%T has no rule", value)
	default:
		c.text(r, value, place)
	}
}

func (c *checker) opened(kind netguard.ServerTool, r rule, value any, place string) {
	if !slices.Contains(c.open, kind) {
		c.fail(place, "%s came", kind)
		return
	}
	c.value(r, value, place)
}

func (c *checker) object(o object, value any, place string) {
	members, ok := value.(map[string]any)
	if !ok {
		c.fail(place, "%T is not an object", value)
		return
	}
	for name, member := range members {
		if _, ok := o.force[name]; ok {
			if text, _ := json.Marshal(member); string(text) != o.force[name] {
				c.fail(place, "%s is %s", name, text)
			}
			continue
		}
		if c.camel && strings.Contains(name, "_") {
			c.fail(place, "%s is in snake case", name)
		}
		if _, ok := o.fields[name]; !ok {
			c.fail(place, "nobody listed %q", name)
			continue
		}
		c.value(o.fields[name], member, place+"."+name)
	}
	for _, name := range o.need {
		if members[name] == nil && place == "" {
			c.fail(place, "%s is missing", name)
		}
	}
}

func (c *checker) tagged(t tagged, value any, place string) {
	members, ok := value.(map[string]any)
	if !ok {
		c.fail(place, "%T is not an object", value)
		return
	}
	tag, ok := members[t.key].(string)
	if !ok {
		tag = t.absent
	}
	r, ok := t.of[tag]
	if !ok {
		r = t.of[regexp.MustCompile(`_\d{8}$`).ReplaceAllString(tag, "_*")]
	}
	if r == nil {
		c.fail(place, "nobody listed %s %q", t.key, tag)
		return
	}
	c.value(r, value, place)
}

func (c *checker) refs(value any, place string) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			c.refs(element, place)
		}
	case map[string]any:
		for name, member := range value {
			if text, ok := member.(string); ok && strings.HasSuffix(strings.ToLower(name), "ref") && strings.HasPrefix(name, "$") && (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef") && !strings.HasPrefix(text, "#") {
				c.fail(place, "%s is %q", name, text)
			}
			c.refs(member, place)
		}
	}
}

func (c *checker) text(r rule, value any, place string) {
	text, ok := value.(string)
	if !ok {
		c.fail(place, "%T is not a string", value)
		return
	}
	decodes := func(data string) bool {
		return strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n") == ""
	}
	inURL := func() bool {
		u, err := url.Parse(text)
		_, data, _ := strings.Cut(text, ",")
		return err == nil && u.Scheme == "data" && u.Host == "" && strings.HasSuffix(strings.SplitN(text, ",", 2)[0], ";base64") && decodes(data)
	}
	switch r.(type) {
	case modelName:
		if !slices.Contains(c.own, text) {
			c.fail(place, "another model %q", text)
		}
	case answerID:
		if text != "resp_own" {
			c.fail(place, "another answer %q", text)
		}
	case itemID:
		if !strings.HasPrefix(text, "alias-") {
			c.fail(place, "an ID %q", text)
		}
	case dataURL:
		if !inURL() {
			c.fail(place, "a URL %q", text)
		}
	case base64Data:
		if !decodes(text) {
			c.fail(place, "not base64: %q", text)
		}
	case dataOrBase64:
		if !decodes(text) && !inURL() {
			c.fail(place, "neither: %q", text)
		}
	case picture:
		data, _ := base64.StdEncoding.DecodeString(text[:min(len(text), 8)&^3])
		if !decodes(text) || !slices.ContainsFunc([]string{"\x89PNG\r\n", "\xff\xd8\xff", "GIF8", "RIFF", "BM"}, func(magic string) bool { return strings.HasPrefix(string(data), magic) }) {
			c.fail(place, "not a picture: %q", text)
		}
	case mediaName:
		if strings.ContainsAny(text, ",<>") || strings.Contains(text, "xml") || strings.Contains(text, "html") {
			c.fail(place, "a type %q", text)
		}
	default:
		c.fail(place, "%T is a rule that the checker does not know", r)
	}
}
