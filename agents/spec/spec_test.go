package spec

import (
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/secret"

	"github.com/google/go-cmp/cmp"
)

// robot has every type of option.
type robot struct {
	Name    string       `label:"Name" help:"What it is called" flag:"--name" default:"r2" group:"Who"`
	Effort  string       `label:"Effort" help:"How hard it tries" flag:"-c effort=" choices:"low high"`
	Fast    bool         `label:"Fast" help:"Hurry" flag:"--fast" mode:"headless"`
	MaxHTTP int          `label:"Most" help:"Requests" flag:"--max" min:"1" max:"9" env:"MAX_HTTP"`
	Tools   []string     `label:"Tools" help:"What it uses" flag:"--tool=" env:"TOOLS"`
	Key     secret.Value `label:"Key" help:"For its vendor" env:"KEY" secret:"true"`
	hidden  int
}

func TestOfReadsEveryFieldOnce(t *testing.T) {
	got, err := Of(&robot{hidden: 1})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range got {
		lines = append(lines, strings.Join([]string{
			f.Name, f.Key, f.Type.String(), strings.Join(f.Flag, " "), f.Env, f.Default, f.Mode.String(), f.Group,
		}, "|"))
	}
	want := []string{
		"Name|name|string|--name||r2|both|Who",
		"Effort|effort|choice|-c effort=|||both|",
		"Fast|fast|bool|--fast|||headless|",
		"MaxHTTP|max-http|int|--max|MAX_HTTP||both|",
		"Tools|tools|list|--tool=|TOOLS||both|",
		"Key|key|secret||KEY||both|",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsBecomeArgumentsAndEnvironment(t *testing.T) {
	r := &robot{}
	if err := Defaults(r); err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		"effort": "high", "fast": "true", "max-http": "9", "tools": "saw, hammer", "key": "canary",
	} {
		set(t, r, key, text)
	}
	argv, err := Argv(r, Headless)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--name", "r2", "-c", "effort=high", "--fast", "--max", "9", "--tool=saw", "--tool=hammer"}
	if diff := cmp.Diff(want, argv); diff != "" {
		t.Error(diff)
	}
	env, err := Env(r, Headless)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"MAX_HTTP=9", "TOOLS=saw,hammer", "KEY=canary"}, env); diff != "" {
		t.Error(diff)
	}
	if argv, _ = Argv(r, Interactive); slices.Contains(argv, "--fast") {
		t.Errorf("an interactive run got a headless option: %q", argv)
	}
}

func set(t *testing.T, v any, key, text string) {
	t.Helper()
	fields, err := Of(v)
	if err != nil {
		t.Fatal(err)
	}
	field, err := Find(fields, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := field.Set(v, text); err != nil {
		t.Fatal(err)
	}
}

func TestInvalidValueIsAUsageFaultAndChangesNothing(t *testing.T) {
	fields, err := Of(robot{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ key, text, want string }{
		{"effort", "hgh", `cannot be "hgh"; choose one of low, high`},
		{"fast", "perhaps", "must be true or false"},
		{"max-http", "many", "must be a whole number"},
		{"max-http", "10", "from 1 to 9"},
	} {
		field, err := Find(fields, test.key)
		if err != nil {
			t.Fatal(err)
		}
		r := &robot{}
		err = field.Set(r, test.text)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%s: %v, want a usage fault with %q", test.key, test.text, err, test.want)
		}
		if field.Text(r) != "" {
			t.Errorf("%s=%s: changed to %q", test.key, test.text, field.Text(r))
		}
	}
}

func TestSecretPrintsAsDots(t *testing.T) {
	r := &robot{Key: secret.New("canary")}
	fields, _ := Of(r)
	key, _ := Find(fields, "key")
	if text := key.Text(r); text == "" || strings.Contains(text, "canary") {
		t.Errorf("Text = %q", text)
	}
}

func TestSettingTheWrongStructIsAnError(t *testing.T) {
	fields, _ := Of(robot{})
	for _, v := range []any{nil, robot{}, (*robot)(nil), &struct{ A int }{}, new(int)} {
		if err := fields[1].Set(v, "low"); err == nil {
			t.Errorf("Set on %T was taken", v)
		}
	}
}

func TestFindSuggestsTheClosestOption(t *testing.T) {
	fields, _ := Of(robot{})
	_, err := Find(fields, "efort")
	if hints := fault.Hints(err); len(hints) != 1 || hints[0] != `did you mean "effort"?` {
		t.Errorf("%v, hints %q", err, hints)
	}
}

func TestKeysParseAsUsersTypeThem(t *testing.T) {
	type names struct {
		ReasoningEffort string `label:"l" help:"h"`
		OutputJSON      string `label:"l" help:"h"`
		ApproveMCPs     bool   `label:"l" help:"h"`
		DenyURLsOf      string `label:"l" help:"h"`
		HTTPServer      string `label:"l" help:"h"`
	}
	fields, err := Of(&names{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, field := range fields {
		keys = append(keys, field.Key)
	}
	if got := strings.Join(keys, " "); got != "reasoning-effort output-json approve-mcps deny-urls-of http-server" {
		t.Error(got)
	}
}
