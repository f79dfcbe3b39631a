package template

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	"aibox/bakery"
	"aibox/dockerfiles"
	"aibox/internal/fault"
)

const whole = `
summary = "Data science"
from = "code"
dockerfile = """
ARG BASE
FROM ${BASE}
RUN pip install polars
"""
user = "user"
workdir = "/home/user"
env = { LEVEL = "2", A = "$HOME" }
[start]
command = ["server", "--port", "80 80"]
port = 8080
timeout = "1m"
[settings]
network = "allowlist"
allow = ["example.org", "pip"]
memory = 2048
`

func TestTemplateIsReadFromItsFile(t *testing.T) {
	got, err := Parse("data", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if got.Summary != "Data science" || got.User != "user" || got.Workdir != "/home/user" || got.Image != (Image{Recipe: "data"}) || got.below != "code" || got.Source != Own {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Env, []string{"A=$HOME", "LEVEL=2"}) {
		t.Errorf("environment %q", got.Env)
	}
	if s := got.Start; s == nil || !slices.Equal(s.Argv, []string{"server", "--port", "80 80"}) || s.Port != 8080 || s.Timeout != time.Minute {
		t.Errorf("start %+v", got.Start)
	}
	if d := got.Defaults; d.Text("network") != "allowlist" || !slices.Equal(d.Words("allow"), []string{"example.org", "pip"}) || d.Text("memory") != "2GiB" {
		t.Errorf("settings %v", d)
	}
	image, err := Parse("mine", []byte(`image = "docker.io/library/python:3.12"`))
	if err != nil || image.Image != (Image{Reference: "docker.io/library/python:3.12"}) || image.Workdir != "/workspace" || image.Start != nil {
		t.Errorf("%+v, %v", image, err)
	}
}

func TestEveryProblemOfAFileIsReported(t *testing.T) {
	_, err := Parse("Data", []byte(`
image = "a b"
from = "code"
user = "a b"
workdir = "x/.."
env = { "A-B" = "1", AIBOX_X = "1" }
[start]
command = ["sh -c x"]
port = 70000
timeout = "1h"
[settings]
repo = "x"
memory = "much"
allow = [1]
`))
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Problems) != 12 {
		t.Fatalf("%v", err)
	}
	for text, want := range map[string]string{
		"imge = \"x\"\n\n[start]\ncommand = [\"x\"]\nprt = 3\n": `line 1: unknown key "imge"; line 5: unknown key "start.prt"`,
		"image = \"x":                             "line 1: ",
		"image = 3":                               "line 1: ",
		"summary='x'":                             "image or dockerfile is missing",
		"dockerfile = \"FROM x\"":                 `starts with "FROM x" instead of ARG BASE`,
		"image='x'\n[start]\ncommand=[]":          "a program and its arguments",
		"image='x'\nsummary='a\\u001b[31m'":       "",
		"image=\"x\"\nsummary=\"a\\u001b[31m\"":   "printable",
		"dockerfile=\"ARG BASE\"\nfrom=\"codex\"": `not "codex"`,
	} {
		_, err := Parse("mine", []byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"base", "debian", "", "a_b", "-a", strings.Repeat("x", 41), "a/b", ".."} {
		if _, err := Parse(name, []byte("image='x'")); err == nil {
			t.Errorf("a template may be called %q", name)
		}
	}
}

func TestTemplatesAreStoredFoundAndRemoved(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), "aibox", "templates")}
	plain := NewSet(agents.Builtin())
	d := &Definition{From: "code", Dockerfile: "ARG BASE\nFROM ${BASE}\nRUN echo '\"\"\"'\n", Env: map[string]string{"A": "1"}, Settings: map[string]any{"allow": []string{"pip"}}}
	if _, err := store.Create(t.Context(), plain, "mine", d); err != nil {
		t.Fatal(err)
	}
	set := store.AddTo(plain)
	got, err := set.Find("mine")
	if err != nil || got.dockerfile != d.Dockerfile || got.File != store.Path("mine") || !slices.Equal(got.Defaults.Words("allow"), []string{"pip"}) {
		t.Errorf("%+v, %v", got, err)
	}
	recipes, below := set.Recipes()
	if _, err := bakery.New(nil, dockerfiles.FS, bakery.Options{Recipes: recipes, Below: below}); err != nil || recipes["mine"] != d.Dockerfile || below["mine"] != "code" {
		t.Errorf("recipes %v on %v: %v", recipes, below, err)
	}
	for name, removable := range map[string]bool{"mine": true, "code": false, "codex": false} {
		_, err := store.Create(t.Context(), set, name, d)
		if hints := strings.Join(fault.Hints(err), "\n"); fault.KindOf(err) != fault.Usage || strings.Contains(hints, "aibox template rm") != removable {
			t.Errorf("a second %s: %v, %q", name, err, hints)
		}
	}
	if err := store.Remove(set, "code"); fault.KindOf(err) != fault.Usage {
		t.Errorf("the built-in one: %v", err)
	}
	if err := store.Remove(set, "mine"); err != nil {
		t.Error(err)
	}
	for _, hidden := range []bool{false, true} {
		again := store
		again.Hidden = hidden
		if err := again.Remove(set, "mine"); fault.KindOf(err) != fault.NotFound || strings.Contains(err.Error(), store.Dir) {
			t.Errorf("with the set from before, a second removal gives %v", err)
		}
	}
	if _, err := store.AddTo(plain).Find("mine"); err == nil {
		t.Error("it is still there")
	}
	if _, err := store.Create(t.Context(), plain, "../x", d); err == nil {
		t.Error("a template leaves the folder")
	}
}

func TestATextThatTOMLCannotHoldIsRefused(t *testing.T) {
	set := NewSet(agents.Builtin())
	for name, d := range map[string]Definition{
		"summary": {Image: "x", Summary: "caf\xe9"}, "env": {Image: "x", Env: map[string]string{"A": "\xff"}},
		"dockerfile": {Dockerfile: "ARG BASE\nFROM ${BASE}\nRUN echo \xe9\n"}, "workdir": {Image: "x", Workdir: "/\xff"},
		"command": {Image: "x", Start: &StartDefinition{Command: []string{"x", "\xff"}}},
	} {
		if _, err := Check(set, "mine", &d); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrokenFileHidesNoOtherTemplate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.toml": "image='x'", "bad.toml": "image='x", "code.toml": "image='x'", ".hidden.toml": "x", "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "shared.toml"), []byte("image='x'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "shared.toml"), 0o666); err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: dir}
	set := store.AddTo(NewSet(agents.Builtin()))
	if code, err := set.Find("code"); err != nil || code.Source != Builtin {
		t.Errorf("%+v, %v", code, err)
	}
	if _, err := set.Find("good"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"bad": "line 1", "shared": "other users can write"} {
		if _, err := set.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(set.Broken()) != 3 {
		t.Errorf("broken: %v", set.Broken())
	}
	if err := store.Remove(set, "bad"); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("data", []byte(whole))
	f.Add("x", []byte("image='x'\n[settings]\nallow=[]\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		got, err := Parse(name, data)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Error() == "" || strings.ContainsAny(wrong.Error(), "\x00\x1b\n") {
				t.Fatalf("%T: %q", err, err)
			}
			return
		}
		if got.Name != name || (got.Image.Recipe == "") == (got.Image.Reference == "") || !filepath.IsAbs(got.Workdir) || strings.ContainsAny(name, "/.\x00") {
			t.Errorf("%+v", got)
		}
	})
}
