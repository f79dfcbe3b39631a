package scripted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
)

func TestEveryBuiltInScriptParses(t *testing.T) {
	for _, name := range Names() {
		script, err := Builtin(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if script.Name != name || len(script.Steps) == 0 {
			t.Errorf("%s: calls itself %q and has %d steps", name, script.Name, len(script.Steps))
		}
	}
}

func TestScriptIsOpenedByNameOrPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.toml")
	if err := os.WriteFile(path, []byte("name = \"own\"\n[[step]]\nrun = \"make\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{"": "default", "demo": "demo", path: "own"} {
		script, err := Open(ref)
		if err != nil || script.Name != want {
			t.Errorf("Open(%q) = %q, %v, want %q", ref, script.Name, err, want)
		}
	}
	for _, ref := range []string{"demos", "../scripts/demo", "/nowhere/x.toml", "..", "scripts/../demo"} {
		if _, err := Open(ref); fault.KindOf(err) != fault.Usage {
			t.Errorf("Open(%q) = %v, want a usage fault", ref, err)
		}
	}
}

func TestScriptErrorNamesLineOrStep(t *testing.T) {
	for text, want := range map[string]string{
		"[[step]]\nsays = \"x\"": `line 2, column 1: unknown key "step.says"`,
		"[[step]]\nsay = 3":      "line 2",
		"[[step]\n":              "line 1",
		"[[step]]\n":             "step 1: it has neither a text nor an action",
		"[[step]]\nrun = \"a\"\nreach = \"http://b\"":               "step 1: it has more than one of",
		"[[step]]\nrun = \"a\"\nloop = -2":                          "step 1: loop must be",
		"[[step]]\nsay = \"a\"\nloop = 2":                           "step 1: loop needs",
		"[[step]]\nrun = \"a\"\nvia = \"mail\"":                     "step 1: via is",
		"[[step]]\nwrite = { content = \"x\" }":                     "step 1: write needs a path",
		"[[step]]\nedit = { path = \"x\", new = \"y\" }":            "step 1: edit needs",
		"[[step]]\nfail = { status = 200 }":                         "step 1: fail needs a status",
		"[[step]]\nreach = \"example.com\"":                         "step 1: reach needs an http",
		"[[step]]\nreach = \"file:///etc/passwd\"":                  "step 1: reach needs an http",
		"[[step]]\nsay = \"a\"\nslow = { delay = \"2m\" }":          "step 1: slow needs a delay",
		"[[step]]\nsay = \"a\"\nslow = { delay = \"1s\", chunk=-1}": "step 1: slow: chunk",
		"#" + strings.Repeat("x", maxScript):                        "a script has at most",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q) = %v, want %q", text, err, want)
		}
	}
}

func TestSlowStepHasItsDelay(t *testing.T) {
	script, err := Parse([]byte("[[step]]\nsay = \"a\"\nslow = { delay = \"150ms\" }"))
	if err != nil {
		t.Fatal(err)
	}
	if slow := script.Steps[0].Slow; slow.Delay != 150*time.Millisecond || slow.Chunk != 8 {
		t.Errorf("slow = %+v", slow)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, err := builtin.ReadFile("scripts/" + name + ".toml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("[[step]]\nfail = { status = 500 }\nslow = { delay = \"1s\" }"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		script, err := Parse(text)
		if err != nil {
			return
		}
		// Every script that can be read can be played.
		for done := range 3 {
			script.next(Conversation{Tools: []Tool{shellTool}}, done)
		}
		script.withoutTools(Conversation{})
	})
}
