package config

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/secret"
)

// painter is an agent with an option of every scope.
type painter struct {
	Color   string       `label:"Color" help:"What to paint with" choices:"red green blue" default:"red"`
	Layers  int          `label:"Layers" help:"How many" min:"1" max:"9" default:"3" scope:"at-most"`
	Brushes []string     `label:"Brushes" help:"Which ones" scope:"at-most"`
	Tone    string       `label:"Tone" help:"Of the words" scope:"repository"`
	Key     secret.Value `label:"Key" help:"To the studio" env:"PAINTER_KEY" secret:"true"`
}

func catalog() Catalog {
	options := new(painter)
	_ = spec.Defaults(options)
	return Catalog{
		Agents: []Agent{{Name: "painter", Options: options, Login: true}, {Name: "shell", Options: &struct{}{}}},
		Images: []string{"painter"},
		Version: func(version string) error {
			if strings.Contains(version, " ") {
				return fault.New(fault.Usage, "%q is no version", version)
			}
			return nil
		},
	}
}

// resolve merges files and an environment; "" means no file.
func resolve(user, repository string, environment ...string) (*Resolved, error) {
	in := Input{Environment: environment}
	var err error
	if user != "" {
		if in.User, err = Parse(UserFile, "/home/ann/config.toml", []byte(user)); err != nil {
			return nil, err
		}
	}
	if repository != "" {
		if in.Repository, err = Parse(RepositoryFile, "/src/price/.aibox.toml", []byte(repository)); err != nil {
			return nil, err
		}
	}
	return catalog().Resolve(in)
}

// text returns a setting as "VALUE from SOURCE".
func text(t *testing.T, r *Resolved, key string) string {
	t.Helper()
	setting, err := r.Find(key)
	if err != nil {
		t.Fatal(err)
	}
	sources := make([]string, len(setting.From))
	for i, source := range setting.From {
		sources[i] = source.String()
	}
	return setting.Text() + " from " + strings.Join(sources, " and ")
}

func TestLaterSourceWinsAndProvenanceIsRecorded(t *testing.T) {
	const user = "# mine\ntimeout = \"30m\"\nmodel = \"qwen3\"\nhide = [\"*.key\"]\nagents.painter.layers = 5\n[images.versions]\npainter = \"1.2\"\n"
	const repository = "timeout = \"20m\"\nhide = [\"vault\"]\nsystem = [\"careful\"]\n[agents.painter]\ntone = \"dry\"\n"
	r, err := resolve(user, repository, "AIBOX_TIMEOUT=25m", "AIBOX_HIDE=a,b", "AIBOX_AGENTS_PAINTER_COLOR=blue", "PATH=/bin", "AIBOX_PIDS=")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"timeout":                 "25m from AIBOX_TIMEOUT",
		"model":                   "qwen3 from /home/ann/config.toml:3",
		"network":                 "local from built in",
		"pids":                    "4096 from built in",
		"image":                   " from built in",
		"hide":                    "*.key,vault,a,b from /home/ann/config.toml:4 and .aibox.toml:2 and AIBOX_HIDE",
		"system":                  "careful from .aibox.toml:3",
		"images.versions.painter": "1.2 from /home/ann/config.toml:7",
		"agents.painter.layers":   "5 from /home/ann/config.toml:5",
		"agents.painter.tone":     "dry from .aibox.toml:5",
		"agents.painter.color":    "blue from AIBOX_AGENTS_PAINTER_COLOR",
	} {
		if got := text(t, r, key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	if time.Duration(r.Settings.Timeout) != 25*time.Minute || r.Settings.Model != "qwen3" || r.Versions["painter"] != "1.2" {
		t.Errorf("the typed values are %+v, %v", r.Settings, r.Versions)
	}
	var set []string
	for _, setting := range r.Agent("painter") {
		set = append(set, setting.Key)
	}
	if !slices.Equal(set, []string{"agents.painter.color", "agents.painter.layers", "agents.painter.tone"}) {
		t.Errorf("the agent's options that are set are %q", set)
	}
}

func TestFlagOverridesOtherSources(t *testing.T) {
	r, err := catalog().Resolve(Input{
		Environment: []string{"AIBOX_TIMEOUT=25m", "AIBOX_HIDE=a"},
		Flags:       []Override{{Key: "timeout", Name: "--timeout", Value: "2h0m0s"}, {Key: "hide", Name: "--hide", Texts: []string{"b"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, r, "timeout"); got != "2h from --timeout" {
		t.Error(got)
	}
	if got := text(t, r, "hide"); got != "a,b from AIBOX_HIDE and --hide" {
		t.Error(got)
	}
	_, err = catalog().Resolve(Input{Flags: []Override{{Key: "accept", Name: "--accept", Value: "all"}}})
	if err == nil || !strings.HasPrefix(err.Error(), "--accept cannot be ") {
		t.Errorf("got %v", err)
	}
}

func TestEmptyListDiffersFromUnset(t *testing.T) {
	const one = "env = [\"TOKEN\"]\n"
	for name, c := range map[string]struct {
		user, repository string
		environment      []string
		want             any
	}{
		"unset":               {want: nil},
		"empty":               {user: "env = []", want: []string{}},
		"one":                 {user: one, want: []string{"TOKEN"}},
		"emptied by a file":   {user: one, repository: "env = []", want: []string{}},
		"emptied by variable": {user: one, environment: []string{"AIBOX_ENV="}, want: []string{}},
	} {
		r, err := resolve(c.user, c.repository, c.environment...)
		if err != nil {
			t.Fatal(name, err)
		}
		setting, _ := r.Find("env")
		got, _ := setting.Value.([]string)
		want, _ := c.want.([]string)
		if (setting.Value == nil) != (c.want == nil) || !slices.Equal(got, want) {
			t.Errorf("%s: got %#v, not %#v", name, setting.Value, c.want)
		}
	}
}

func TestRepositoryFileCanOnlyTighten(t *testing.T) {
	for name, c := range map[string]struct{ user, repository, says string }{
		"only the user's":          {"", "rootful = true", `.aibox.toml:1:1: a settings file in a repository cannot set "rootful"`},
		"where the model is":       {"", "inference = \"http://evil.test\"", `cannot set "inference"`},
		"the image":                {"", "image = \"evil\"", `cannot set "image"`},
		"the agent":                {"", "agent = \"shell\"", `cannot set "agent"`},
		"the base of images":       {"", "[images]\nbase = \"evil\"", `.aibox.toml:2:1: a settings file in a repository cannot set "base"`},
		"a version":                {"", "images.versions.painter = \"9\"", `cannot set "painter"`},
		"an agent's option":        {"", "agents.painter.color = \"red\"", `cannot set "color"`},
		"more time":                {"", "timeout = \"2h\"", `"2h" is looser than "1h"`},
		"no limit of time":         {"", "timeout = \"0\"", "looser"},
		"more than yours":          {"timeout = \"5m\"", "timeout = \"6m\"", "looser"},
		"more processes":           {"pids = 10", "pids = 11", "11 is looser than 10"},
		"a server-side tool":       {"", `inference-tools = ["web-search"]`, "cannot set"},
		"one that is open":         {`inference-tools = ["web-search"]`, `inference-tools = ["web-search"]`, "cannot set"},
		"more to send":             {"", "max-upload = 1025", "1025MiB is looser than 1GiB"},
		"no limit of what is sent": {"", "max-upload = 0", "looser"},
		"more tokens":              {"max-tokens = 10", "max-tokens = 11", "11 is looser than 10"},
		"no limit of processes":    {"", "pids = 0", "looser"},
		"a network":                {"network = \"none\"", "network = \"local\"", `"local" is looser than "none"`},
		"a variable":               {"", "env = [\"TOKEN\"]", "looser"},
		"another variable":         {"env = [\"A\"]", "env = [\"B\"]", "looser"},
		"accepting":                {"", "accept = \"branch\"", "looser"},
		"uncommitted work":         {"clean = true", "clean = false", "looser"},
		"success without change":   {"require-changes = true", "require-changes = false", "looser"},
		"an agent's whole list":    {"agents.painter.brushes = [\"a\"]", "agents.painter.brushes = []", "cannot empty \"brushes\""},
		"more layers":              {"", "agents.painter.layers = 4", "4 is looser than 3"},
	} {
		_, err := resolve(c.user, c.repository)
		var f *fault.Fault
		if !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(f.Message, c.says) ||
			!strings.HasPrefix(f.Message, "/src/price/.aibox.toml:") || !strings.Contains(strings.Join(f.Hints, "\n"), "aibox config show") {
			t.Errorf("%s: %v %q", name, err, fault.Hints(err))
		}
	}
}

func TestRepositoryFileCanTighten(t *testing.T) {
	for _, c := range []struct{ user, repository, key, want string }{
		{"", "timeout = \"1h\"", "timeout", "1h"},
		{"timeout = 0", "timeout = \"3h\"", "timeout", "3h"},
		{"", "pids = 64", "pids", "64"},
		{"", "max-upload = 64", "max-upload", "64MiB"},
		{"", "max-tokens = 64", "max-tokens", "64"},
		{"", "network = \"none\"", "network", "none"},
		{"env = [\"A\", \"B\"]", "env = [\"B\"]", "env", "B"},
		{"hide = [\"a\"]", "hide = []", "hide", "a"},
		{"hide = [\"a\"]", "hide = [\"b\", \"a\"]", "hide", "b,a"},
		{"system = [\"mine\"]", "system = [\"theirs\"]", "system", "mine,theirs"},
		{"accept = \"branch\"", "accept = \"none\"", "accept", "none"},
		{"", "clean = true", "clean", "true"},
		{"", "require-changes = true", "require-changes", "true"},
		{"", "agents.painter.layers = 1", "agents.painter.layers", "1"},
		{"agents.painter.brushes = [\"a\", \"b\"]", "agents.painter.brushes = [\"b\"]", "agents.painter.brushes", "b"},
	} {
		r, err := resolve(c.user, c.repository)
		if err != nil {
			t.Errorf("%s: %v", c.repository, err)
			continue
		}
		setting, _ := r.Find(c.key)
		if setting.Text() != c.want || len(r.OfRepository()) != 1 || r.OfRepository()[0].Key != c.key {
			t.Errorf("%s makes %s %q, of the repository are %v", c.repository, c.key, setting.Text(), r.OfRepository())
		}
	}
}

func TestFileErrorsHaveAPosition(t *testing.T) {
	for file, want := range map[string]string{
		"\ntimeot = \"1h\"":                 `2:1: unknown setting "timeot"` + "\n  2 | timeot = …\n    | ^|did you mean \"timeout\"?",
		"wibble = 1":                        `1:1: unknown setting "wibble"`,
		"network = lcoal":                   `1:11: `,
		"x = 1\nx = 2":                      `2:1: `,
		"[images":                           `1:7: `,
		"network = \"lcoal\"":               `1:11: option "network" cannot be "lcoal"` + `|did you mean local?`,
		"timeout = 30":                      `1:11: option "timeout" must be a duration`,
		"timeout = \"soon\"":                `1:11: option "timeout" must be a duration`,
		"timeout = \"-1s\"":                 `1:11: option "timeout" must be`,
		"pids = \"many\"":                   `1:8: option "pids" must be a whole number, not "many"`,
		"pids = \"\"":                       `1:8: option "pids" must be a whole number, not text`,
		"pids = 1.5":                        `1:8: option "pids" must be a whole number, not a number`,
		"pids = 99999999999":                `1:8: option "pids" must be`,
		"pids = 1979-05-27":                 `1:8: option "pids" must be a whole number`,
		"clean = \"yes\"":                   `1:9: option "clean" must be true or false, not text`,
		"audit-command = \"a | b\"":         `1:17: option "audit-command" cannot be read`,
		"model = 5":                         `1:9: option "model" must be text in quotes, not a number`,
		"model = \"a\\nb\"":                 `1:9: option "model" must be a single line`,
		"model = \"a\\u0000b\"":             `1:9: option "model" contains a NUL byte`,
		"hide = \"*.pem\"":                  `1:8: option "hide" must be a list`,
		"hide = [1]":                        `1:8: option "hide" must be a list`,
		"hide = [\"[\"]":                    `1:8: "[" is not a .gitignore pattern`,
		"env = [\"A=1\"]":                   `1:7: option "env" takes names of variables, not values`,
		"images = \"debian\"":               `1:10: "images" is a table, not a single value|write [images]`,
		"agents.painter = 1":                `1:18: "agents.painter" is a table, not a single value`,
		"[timeout]\nx = 1":                  `1:2: "timeout" is a single value`,
		"timeout.x = 1":                     `1:1: "timeout" is a single value`,
		"timeout = { x = 1 }":               `1:1: "timeout" is a single value`,
		"[[agents]]\nx = 1":                 `1:3: settings have no lists of tables|write [agents]`,
		"[agents.paintr]":                   `1:9: unknown agent "paintr"|did you mean "painter"?`,
		"agents.painter = { colr = \"x\"}":  `1:20: unknown setting "agents.painter.colr"|did you mean "color"?`,
		"[agents.shell]\nx = 1":             `2:1: unknown setting "agents.shell.x"|[valid keys: network, allow, deny, cloud`,
		"[images.versions]\nx = \"1\"":      `2:1: there is no image "x"`,
		"images.versions.painter = \"1 2\"": `1:27: "1 2" is no version`,
		"\"agents.painter\".color = \"x\"":  `1:1: unknown setting "agents.painter"`,
		"\"\" = 1":                          `1:1: unknown setting ""`,
		"a\x00b":                            `1:2: a settings file must be text, but this one contains a NUL byte`,
		"# \xff":                            `1:3: a settings file must be UTF-8`,
		"# é\n\"ö\" = 1":                    `2:1: unknown setting "ö"`,
		"model = \"é\" x":                   `1:13: `,
	} {
		_, err := resolve(file, "")
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", file, err)
			continue
		}
		message, hint, _ := strings.Cut(want, "|did")
		if hint != "" {
			hint = "did" + hint
		} else {
			message, hint, _ = strings.Cut(want, "|write")
			if hint != "" {
				hint = "write" + hint
			} else {
				message, hint, _ = strings.Cut(want, "|[")
			}
		}
		if !strings.HasPrefix(err.Error(), "/home/ann/config.toml:"+message) {
			t.Errorf("%q: says\n%s\nand not\n%s", file, err, message)
		}
		if !strings.Contains(strings.Join(fault.Hints(err), "\n"), hint) {
			t.Errorf("%q: hints %q, not %q", file, fault.Hints(err), hint)
		}
	}
}

func TestSecretIsReadFromNoFileAndNeverShown(t *testing.T) {
	for _, file := range []string{"agents.painter.key = \"sk-canary\"", "agents.painter.keyy = \"sk-canary\"", "[agents.painter]\nkey = [\"sk-canary\"]"} {
		for _, err := range []error{second(resolve(file, "")), second(resolve("", file))} {
			if fault.KindOf(err) != fault.Usage || strings.Contains(err.Error()+strings.Join(fault.Hints(err), ""), "canary") {
				t.Errorf("%q: %v %q", file, err, fault.Hints(err))
			}
		}
	}
	r, err := resolve("", "", "PAINTER_KEY=sk-canary")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, r, "agents.painter.key"); got != "•••••••• from PAINTER_KEY" {
		t.Error(got)
	}
	if _, err := resolve("", "", "AIBOX_AGENTS_PAINTER_KEY=sk-canary"); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func second(_ *Resolved, err error) error { return err }

func TestOptionsOfABrokenAgentAreIgnored(t *testing.T) {
	c := catalog()
	c.Unread = []string{"sculptor"}
	d, err := Parse(UserFile, "config.toml", []byte("[agents.sculptor]\nchisel = 3\nstone.kind = \"m\"\n[agents.painter]\ncolor = \"blue\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(Input{User: d, Environment: []string{"AIBOX_AGENTS_SCULPTOR_CHISEL=4"}}); err != nil {
		t.Error(err)
	}
	if _, err := catalog().Resolve(Input{User: d}); fault.KindOf(err) != fault.Usage {
		t.Errorf("an agent that nobody knows: %v", err)
	}
}

func TestEnvironmentErrorsNameTheVariable(t *testing.T) {
	for variable, want := range map[string]string{
		"AIBOX_TIMEOUT=soon":  "AIBOX_TIMEOUT must be ",
		"AIBOX_NETWORK=lcoal": "AIBOX_NETWORK cannot be ",
		"AIBOX_PIDS=-1":       "AIBOX_PIDS must be ",
		"AIBOX_CLEAN=perhaps": "AIBOX_CLEAN must be ",
		"AIBOX_NETWOK=none":   "the environment variable AIBOX_NETWOK is not a setting",
		"AIBOX_ENV=A=1":       "AIBOX_ENV takes ",
	} {
		_, err := resolve("", "", variable)
		if fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if _, err := resolve("", "", "AIBOX_NETWOK=none"); !slices.Contains(fault.Hints(err), "did you mean AIBOX_NETWORK?") {
		t.Errorf("hints %q", fault.Hints(err))
	}
	if _, err := resolve("", "", "AIBOX_INFERENCE_KEY=x", "AIBOX_TEST_X=y", "AIBOXES=1"); err != nil {
		t.Errorf("variables that are none of its business: %v", err)
	}
}

// Users of the API's clients may have their variables in every shell.
func TestVariablesOfTheAPIsClientsAreNoSettings(t *testing.T) {
	page, err := os.ReadFile("../docs/api/index.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\bAIBOX_[A-Z_]+\b`).FindAllString(string(page), -1)
	if len(names) < 2 {
		t.Fatalf("the page names only %q", names)
	}
	for _, name := range append(names, "AIBOX_MCP_URL") {
		if _, err := resolve("", "", name+"=x"); err != nil {
			t.Error(err)
		}
	}
}

// An agent may have written the file, so no content may take long to read.
func TestFileWithTooManyKeysIsRejectedQuickly(t *testing.T) {
	for _, file := range []string{
		strings.Repeat("a\n", 10) + "x", // malformed long before that
		strings.Repeat("x=1\n", maxKeys+1),
		strings.Repeat("a.", maxKeys) + "b=1",
		"[" + strings.Repeat("a.", maxKeys) + "b]",
		"agents={" + strings.Repeat("x=1,", maxKeys) + "x=1}",
		strings.Repeat("a={", maxKeys/2) + "a=1" + strings.Repeat("}", maxKeys/2), // the paths alone would take 50 MB
	} {
		_, err := Parse(RepositoryFile, RepositoryName, []byte(file))
		many := err != nil && strings.Contains(err.Error(), "at most 5000 keys")
		if fault.KindOf(err) != fault.Usage || many == strings.HasPrefix(file, "a\n") {
			t.Errorf("%.20q: %v", file, err)
		}
	}
}

// A repository's file may hold anything, but messages show one line of it at most.
func TestFileContentCannotForgeAnOutputLine(t *testing.T) {
	for _, file := range []string{
		"agents.painter.brushes = [\"a\\n✓ fine\"]", "[[\"a\\n✓ fine\"]]", "\"a\\n✓ fine\" = 1", "hide = [\"[\\n✓ fine\"]",
		"network = \"a\\n✓ fine\"", "[agents.\"a\\n✓ fine\"]", "images.versions.painter = \"\"\"a\n✓ fine\"\"\"",
	} {
		_, err := resolve("", file)
		text := ""
		if err != nil {
			text = err.Error() + "\n" + strings.Join(fault.Hints(err), "\n")
		}
		if err == nil || strings.Contains(text, "\n✓") {
			t.Errorf("%q: %v %q", file, err, fault.Hints(err))
		}
	}
}

// The user's values are those that apply without the repository's file, so a variable counts as
// much as a line of the user's file.
func TestEnvironmentVariableCanAllow(t *testing.T) {
	if _, err := resolve("", "timeout = \"30m\"", "AIBOX_TIMEOUT=5m"); err == nil || !slices.ContainsFunc(fault.Hints(err), func(hint string) bool {
		return strings.HasPrefix(hint, "you allow 5m (AIBOX_TIMEOUT)")
	}) {
		t.Errorf("more than the variable: %v %q", err, fault.Hints(err))
	}
	r, err := resolve("", "timeout = \"90m\"", "AIBOX_TIMEOUT=2h")
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, r, "timeout"); got != "2h from AIBOX_TIMEOUT" {
		t.Errorf("less than the variable: %s", got)
	}
}

func TestEmptyTextMeansTheDefault(t *testing.T) {
	if _, err := resolve("network = \"none\"", "network = \"\""); err == nil {
		t.Error("a repository went back to the default, which is looser")
	}
	r, err := resolve("accept = \"branch\"\ninference = \"\"", "accept = \"\"")
	if err != nil || r.Settings.Accept != "none" || r.Settings.Inference != "auto" || r.Settings.Network != "local" {
		t.Errorf("got %+v, %v", r, err)
	}
}
