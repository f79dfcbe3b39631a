package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

func parsed(t interface{ Fatal(...any) }, text string) *Document {
	if text == "" {
		return nil
	}
	d, err := Parse(UserFile, UserName, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSettingOneKeyKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ before, key, value, after string }{
		"no file":           {"", "timeout", "5m", "timeout = \"5m\"\n"},
		"no file, a table":  {"", "images.base", "x", "[images]\nbase = \"x\"\n"},
		"in place":          {"# a\ntimeout = \"1h\" # why\nclean = true\n", "timeout", "5m", "# a\ntimeout = \"5m\" # why\nclean = true\n"},
		"over lines":        {"hide = [\n  \"a\", # b\n]\nclean = true\n", "hide", "c,d", "hide = [\"c\", \"d\"]\nclean = true\n"},
		"behind the others": {"clean = true\n\n# images\n[images]\nbase = \"x\"\n", "pids", "5", "clean = true\npids = 5\n\n# images\n[images]\nbase = \"x\"\n"},
		"before a table":    {"# images\n[images]\nbase = \"x\"\n", "pids", "5", "pids = 5\n# images\n[images]\nbase = \"x\"\n"},
		"in a table":        {"[images]\nbase = \"x\"\n[agents.painter]\ntone = \"a\"", "images.base", "y", "[images]\nbase = \"y\"\n[agents.painter]\ntone = \"a\""},
		"at a table's end":  {"[agents.painter]\ntone = \"a\"", "agents.painter.color", "blue", "[agents.painter]\ntone = \"a\"\ncolor = \"blue\"\n"},
		"in an empty table": {"[agents.painter]\n\n[images]\n", "agents.painter.color", "blue", "[agents.painter]\ncolor = \"blue\"\n\n[images]\n"},
		"in a new table":    {"clean = true\n", "agents.painter.layers", "2", "clean = true\n\n[agents.painter]\nlayers = 2\n"},
		"with dots":         {"agents.painter.tone = \"a\"\n", "agents.painter.tone", "b", "agents.painter.tone = \"b\"\n"},
		"on one line":       {"images = { base = \"x\" }\n", "images.base", "y", "images = { base = \"y\" }\n"},
		"an empty list":     {"", "env", "[]", "env = []\n"},
		"a size":            {"", "memory", "4g", "memory = \"4GiB\"\n"},
		"no size":           {"", "memory", "no limit", "memory = 0\n"},
		"odd characters":    {"", "model", "a\"b\\c\x7fé<", "model = \"a\\\"b\\\\c\\u007fé<\"\n"},
	} {
		after, err := catalog().With(parsed(t, c.before), c.key, c.value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(c.after, string(after)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestUnsetRemovesTheLines(t *testing.T) {
	for name, c := range map[string]struct{ before, key, after string }{
		"a line":       {"# a\ntimeout = \"1h\" # why\nclean = true\n", "timeout", "# a\nclean = true\n"},
		"the last":     {"[images]\nbase = \"x\"", "images.base", ""},
		"over lines":   {"hide = [\n  \"a\", # b\n]\nclean = true\n", "hide", "clean = true\n"},
		"what is not":  {"clean = true\n", "hide", "clean = true\n"},
		"without file": {"", "hide", ""},
	} {
		after, err := catalog().Without(parsed(t, c.before), c.key)
		if err != nil || string(after) != c.after {
			t.Errorf("%s: %q, %v", name, after, err)
		}
	}
}

func TestFileThatCannotBeEditedByLineIsRejected(t *testing.T) {
	for _, err := range []error{
		last(catalog().With(parsed(t, "images = { base = \"x\" }\n"), "images.versions.painter", "2")),
		last(catalog().With(parsed(t, "agents.painter.tone = \"a\"\n"), "agents.painter.color", "blue")),
		last(catalog().Without(parsed(t, "images = { base = \"x\", versions = { painter = \"1\" } }\n"), "images.base")),
	} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), ""), "aibox config edit") {
			t.Errorf("got %v", err)
		}
	}
}

func TestInvalidValueIsNotWritten(t *testing.T) {
	for _, pair := range [][2]string{
		{"timeout", "soon"},
		{"timeot", "1h"},
		{"agents.painter.key", "sk"},
		{"agents.painter.color", "pink"},
		{"env", "A=1"},
		{"agent", "paintr"},
		{"model", ""},
		{"images.versions.painter", "1 2"},
		{"images", "x"},
	} {
		if _, err := catalog().With(nil, pair[0], pair[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", pair, err)
		}
	}
}

func TestAnInvalidValueIsRefusedWithTheNameOfTheSetting(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"timeout", "x", `setting "timeout" must be a duration such as 90s or 1h30m, not "x"`},
		{"agents.painter.color", "pink", `setting "agents.painter.color" cannot be "pink"`},
	} {
		_, err := catalog().With(nil, c.key, c.value)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}

func last(_ []byte, err error) error { return err }

// excluded reports whether a file with these settings cannot have the key as well.
func excluded(key string, set map[string]any) bool {
	file, command := LoginKeys("painter")
	other, exclusive := map[string]string{file: command, command: file}[key]
	return exclusive && set[other] != nil
}

// After any settings in any order, the file holds the last value of each, and all comments.
func TestFileHasTheLastValueSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template, err := Template()
		if err != nil {
			t.Fatal(err)
		}
		file, want := string(template), map[string]any{}
		entries := plainEntries(t)
		for range rapid.IntRange(1, 8).Draw(t, "times") {
			e := rapid.SampledFrom(entries).Draw(t, "setting")
			if rapid.IntRange(0, 3).Draw(t, "unset") == 0 {
				after, err := catalog().Without(parsed(t, file), e.key)
				if err != nil {
					t.Fatalf("unset %s in\n%s\n%v", e.key, file, err)
				}
				file = string(after)
				delete(want, e.key)
				continue
			}
			text := rapid.SampledFrom([]string{"1", "true", "5m", "none", "red", "shell", "a,b", "x # y"}).Draw(t, "value")
			value, err := e.read(func(scratch any) error { return e.field.Set(scratch, text) })
			if err != nil || excluded(e.key, want) {
				continue
			}
			after, err := catalog().With(parsed(t, file), e.key, text)
			if err != nil {
				t.Fatalf("set %s to %q in\n%s\n%v", e.key, text, file, err)
			}
			file, want[e.key] = string(after), value
		}
		r, err := catalog().Resolve(Input{User: parsed(t, file)})
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		for _, setting := range r.All() {
			value, ok := want[setting.Key]
			if ok != (setting.Source().Kind == UserFile) || ok && !same(value, setting.Value) {
				t.Fatalf("%s is %v from %v, not %v, in\n%s", setting.Key, setting.Value, setting.From, value, file)
			}
		}
		for line := range strings.SplitSeq(string(template), "\n") {
			if !strings.Contains(file, line) {
				t.Fatalf("%q is gone from\n%s", line, file)
			}
		}
	})
}

// Removing a # must give a valid setting, not an error.
func TestEveryTemplateLineIsACommentedSetting(t *testing.T) {
	template, err := Template()
	if err != nil {
		t.Fatal(err)
	}
	everything := strings.ReplaceAll(string(template), "codex", "painter")
	everything = strings.ReplaceAll(everything, "reasoning-effort = \"high\"", "color = \"red\"")
	var live strings.Builder
	settings := 0
	for line := range strings.SplitSeq(everything, "\n") {
		setting, marked := strings.CutPrefix(line, "# ")
		if marked && (strings.Contains(setting, " = ") || strings.HasPrefix(setting, "[")) {
			line = setting
			settings++
		}
		live.WriteString(line + "\n")
	}
	if want := len(fieldsOf(t, Settings{})) + len(fieldsOf(t, Images{})) + 8; settings != want {
		t.Errorf("the template has %d settings and tables, not %d:\n%s", settings, want, template)
	}
	for _, text := range []string{string(template), live.String()} {
		if _, err := resolve(text, ""); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

func fieldsOf(t *testing.T, v any) []spec.Field {
	t.Helper()
	fields, err := spec.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestSchemaHasEverySettingButNoSecret(t *testing.T) {
	schema, err := catalog().Schema()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range plainEntries(nil) {
		at := any(schema)
		for key := range strings.SplitSeq(e.key, ".") {
			properties, _ := at.(map[string]any)["properties"].(map[string]any)
			if at = properties[key]; at == nil {
				t.Fatalf("the schema lacks %s:\n%s", e.key, text)
			}
		}
	}
	agents := schema["properties"].(map[string]any)["agents"].(map[string]any)
	painter := agents["properties"].(map[string]any)["painter"].(map[string]any)
	if _, there := painter["properties"].(map[string]any)["key"]; there || fmt.Sprint(painter["additionalProperties"]) != "false" {
		t.Errorf("the schema of an agent is %v", painter)
	}
}

func TestATableGoesWithItsLastKey(t *testing.T) {
	for before, want := range map[string]string{
		"pids = 5\n\n[images]\nbase = \"x\"\n":                                   "pids = 5\n\n",
		"[images]\nbase = \"x\"\n\n[agents.painter]\ntone = \"a\"\n":             "\n[agents.painter]\ntone = \"a\"\n",
		"[images]\n# why\nbase = \"x\"\n":                                        "[images]\n# why\n",
		"[images]\nbase = \"x\"\n# and more\n":                                   "[images]\n# and more\n",
		"[images]\nbase = \"x\"\n[images.versions]\npainter = \"1.2.3\"\n":       "[images.versions]\npainter = \"1.2.3\"\n",
		"[images]\nbase = \"x\"":                                                 "",
		"images.base = \"x\"\npids = 5\n":                                        "pids = 5\n",
		"[images]\nbase = \"x\"\n\n# its tone\n[agents.painter]\ntone = \"a\"\n": "\n# its tone\n[agents.painter]\ntone = \"a\"\n",
		"[images]\nbase = \"x\"\n# and more\n\n[agents.painter]\ntone = \"a\"\n": "[images]\n# and more\n\n[agents.painter]\ntone = \"a\"\n",
	} {
		after, err := catalog().Without(parsed(t, before), "images.base")
		if err != nil || string(after) != want {
			t.Errorf("%q becomes %q instead of %q, %v", before, after, want, err)
		}
	}
}
