package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeAcceptsOnlyValidValues(t *testing.T) {
	for _, test := range []struct {
		key   string
		value any
		want  any
		wrong string
	}{
		{key: "line", value: "a b", want: "a b"},
		{key: "line", value: int64(3), wrong: "text in quotes, not a number"},
		{key: "line", value: "a\nb", wrong: "must be a single line"},
		{key: "line", value: "a\x00b", wrong: "NUL"},
		{key: "prose", value: "a\nb", want: "a\nb"},
		{key: "effort", value: "hgh", wrong: `choose one of low, mid, high`},
		{key: "on", value: true, want: true},
		{key: "on", value: "true", wrong: "true or false, not text"},
		{key: "turns", value: int64(0), want: int64(0)},
		{key: "turns", value: 2.0, want: int64(2)},
		{key: "turns", value: json.Number("4"), want: int64(4)},
		{key: "turns", value: "7", want: int64(7)},
		{key: "turns", value: "10", wrong: "from -5 to 9"},
		{key: "turns", value: "many", wrong: "a whole number"},
		{key: "turns", value: "", wrong: "a whole number"},
		{key: "turns", value: 2.5, wrong: "a whole number"},
		{key: "turns", value: 1e300, wrong: "a whole number"},
		{key: "turns", value: int64(10), wrong: "from -5 to 9"},
		{key: "count", value: int64(0), wrong: "at least 1"},
		{key: "patience", value: "90s", want: "1m30s"},
		{key: "patience", value: "1h", want: "1h"},
		{key: "patience", value: int64(0), want: "0s"},
		{key: "patience", value: int64(9), wrong: `such as "90s"`},
		{key: "patience", value: "3h", wrong: "at most 2h"},
		{key: "words", value: []any{"a", "b,c"}, want: []string{"a", "b,c"}},
		{key: "words", value: []any{}, want: []string{}},
		{key: "words", value: nil, want: nil},
		{key: "words", value: "a", wrong: "a list of words"},
		{key: "words", value: []any{"a", int64(1)}, wrong: "a list of words"},
		{key: "tools", value: []any{"saw", "saw", "pen"}, want: []string{"saw", "pen"}},
		{key: "tools", value: []any{"sw"}, wrong: `cannot be "sw"`},
		{key: "key", value: "canary", want: "••••••••"},
		{key: "key", value: map[string]any{"canary": "canary"}, wrong: "not a table"},
	} {
		v := &everything{}
		if err := Defaults(v); err != nil {
			t.Fatal(err)
		}
		field, err := Find(fieldsIn(t, v), test.key)
		if err != nil {
			t.Fatal(err)
		}
		before := field.Value(v)
		err = field.Decode(v, test.value)
		switch {
		case test.wrong != "":
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s = %v: %v, want %q", test.key, test.value, err, test.wrong)
			}
			test.want = before
		case err != nil:
			t.Errorf("%s = %v: %v", test.key, test.value, err)
		}
		if diff := cmp.Diff(test.want, field.Value(v)); diff != "" {
			t.Errorf("%s = %v: %s", test.key, test.value, diff)
		}
	}
}

func TestListIsReadAsCSV(t *testing.T) {
	field, err := Find(fieldsIn(t, &everything{}), "words")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"":                nil,
		"[]":              {},
		" [] ":            {},
		`"[]"`:            {"[]"},
		"a,b":             {"a", "b"},
		" a ,, b ":        {"a", "b"},
		"a\nb\r\nc":       {"a", "b", "c"},
		`"a,b",c`:         {"a,b", "c"},
		`"say ""hi""" ,x`: {`say "hi"`, "x"},
		`a="b,c"`:         {`a="b`, `c"`},
		`"",x`:            {"", "x"},

		"[2001:db8::1]:443,a": {"[2001:db8::1]:443", "a"},
		" [::]":               {"[::]"},
	} {
		v := &everything{}
		if err := field.Set(v, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, v.Words); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{`"a`, `"a"b`, `x,"`, "[a-z]*", "[1.2.3.4]:80", "[2001:db8::1", `["a"`} {
		if err := field.Set(&everything{}, text); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v, want a usage fault", text, err)
		}
	}
}

// conditional is an agent whose options depend on one another.
type conditional struct {
	Architect bool         `label:"A" help:"h" flag:"--architect"`
	Editor    string       `label:"E" help:"h" flag:"--editor" when:"architect"`
	Format    string       `label:"F" help:"h" flag:"--format" choices:"diff whole" when:"editor!=none"`
	Exact     int          `label:"X" help:"h" flag:"--exact" env:"EXACT" when:"format=diff"`
	Tools     []string     `label:"T" help:"h" choices:"saw axe"`
	Blade     string       `label:"B" help:"h" flag:"--blade" when:"tools=saw"`
	Blunt     bool         `label:"B" help:"h" flag:"--blunt" when:"architect=false"`
	Key       secret.Value `label:"K" help:"h" env:"KEY" secret:"true"`
	Login     string       `label:"L" help:"h" flag:"--login" when:"key"`
}

func TestInapplicableOptionIsNeitherShownNorPassed(t *testing.T) {
	v := &conditional{Editor: "e", Format: "diff", Exact: 3, Blade: "b", Blunt: true, Login: "me"}
	for _, test := range []struct {
		change func()
		want   []string
	}{
		{func() {}, []string{"--blunt"}},
		{func() { v.Architect = true }, []string{"--architect", "--editor", "e", "--format", "diff", "--exact", "3"}},
		{func() { v.Format = "whole" }, []string{"--architect", "--editor", "e", "--format", "whole"}},
		{func() { v.Editor = "none" }, []string{"--architect", "--editor", "none"}},
		{func() { v.Tools = []string{"axe", "saw"} }, []string{"--architect", "--editor", "none", "--blade", "b"}},
		{func() { v.Key = secret.New("canary") }, []string{"--architect", "--editor", "none", "--blade", "b", "--login", "me"}},
	} {
		test.change()
		argv, err := Argv(v, Both)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, argv); diff != "" {
			t.Error(diff)
		}
	}
}

// judged has each of the optional methods.
type judged struct {
	Provider string   `label:"P" help:"h" choices:"near far"`
	Size     string   `label:"S" help:"h" choices:"small large"`
	Model    string   `label:"M" help:"h" type:"model"`
	Hidden   []string `label:"H" help:"h" choices:"a b"`
}

func (j *judged) Visible(key string) bool { return key != "hidden" }

func (j *judged) Choices(key string) []string {
	switch key {
	case "size":
		return []string{"small"}
	case "hidden":
		return []string{}
	case "model":
		return []string{j.Provider + "-model"}
	}
	return nil
}

func (j *judged) Validate() error {
	if j.Provider == "far" && j.Size == "small" {
		return fmt.Errorf("small is never far")
	}
	return nil
}

func TestStructValidatesItsOwnOptions(t *testing.T) {
	fields := fieldsIn(t, &judged{})
	v := &judged{Provider: "near", Size: "small", Model: "any", Hidden: []string{"a"}}
	if err := Validate(v); err != nil {
		t.Error(err)
	}
	if Visible(v, fields[3]) || !Visible(v, fields[0]) {
		t.Error("the method Visible was not asked")
	}
	if got := ChoicesOf(v, fields[2]); !cmp.Equal(got, []string{"near-model"}) {
		t.Errorf("suggestions %q", got)
	}
	v.Size = "large"
	if err := Validate(v); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `"size" cannot be "large"; choose one of small`) {
		t.Errorf("a choice that the struct does not offer: %v", err)
	}
	v.Size, v.Provider = "small", "far"
	if err := Validate(v); fault.KindOf(err) != fault.Usage || err.Error() != "small is never far" {
		t.Errorf("the method Validate: %v", err)
	}
	v.Provider = "moon"
	if err := Validate(v); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `cannot be "moon"`) {
		t.Errorf("a value that was never set: %v", err)
	}
}

func TestDefinitionsBuildAStructLikeOneInGo(t *testing.T) {
	v, err := Struct([]Definition{
		{Key: "max-turns", Type: "int", Tags: map[string]string{"label": "T", "help": "h", "flag": "--max", "default": "3", "min": "1"}},
		{Key: "a-b-2", Tags: map[string]string{"label": "A", "help": "h", "flag": "--ab=", "when": "max-turns=3"}},
		{Key: "wait", Type: "duration", Tags: map[string]string{"label": "W", "help": "h", "env": "WAIT"}},
		{Key: "tools", Type: "choices", Tags: map[string]string{"label": "T", "help": "h", "choices": "saw axe"}},
		{Key: "note", Type: "text", Tags: map[string]string{"label": "N", "help": "h"}},
		{Key: "key", Type: "secret", Tags: map[string]string{"label": "K", "help": "h", "env": "KEY"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, field := range fieldsIn(t, v) {
		keys = append(keys, field.Key+" "+field.Type.String())
	}
	want := []string{"max-turns int", "a-b-2 string", "wait duration", "tools choices", "note text", "key secret"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	set(t, v, "a-b-2", "x")
	set(t, v, "wait", "90s")
	argv, err := Argv(v, Both)
	env, err2 := Env(v, Both)
	if err != nil || err2 != nil || !cmp.Equal(argv, []string{"--max", "3", "--ab=x"}) || !cmp.Equal(env, []string{"WAIT=1m30s"}) {
		t.Errorf("argv %q (%v), env %q (%v)", argv, err, env, err2)
	}
	set(t, v, "max-turns", "4")
	if argv, _ := Argv(v, Both); !cmp.Equal(argv, []string{"--max", "4"}) {
		t.Errorf("argv %q", argv)
	}
}

func TestSecretsAppearOnlyInTheEnvironment(t *testing.T) {
	v := &everything{Key: secret.New("canary"), Patience: time.Minute}
	var out strings.Builder
	if err := Markdown(&out, fieldsIn(t, v)); err != nil {
		t.Fatal(err)
	}
	schema, err := json.Marshal(Schema(v))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsIn(t, v) {
		fmt.Fprintln(&out, field.Text(v), field.Value(v), field)
	}
	fmt.Fprintln(&out, string(schema), Validate(v), Clone(v))
	if strings.Contains(out.String(), "canary") {
		t.Error(out.String())
	}
	if got := Clone(v).(*everything).Key.Reveal(); got != "canary" {
		t.Errorf("the clone holds %q", got)
	}
}
