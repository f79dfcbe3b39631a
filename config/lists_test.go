package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

// readers are the ways to read a list from text.
var readers = map[string]func(key, text string) (*Resolved, error){
	"variable": func(key, text string) (*Resolved, error) { return resolve("", "", Variable(key)+"="+text) },
	"flag": func(key, text string) (*Resolved, error) {
		return catalog().Resolve(Input{Flags: []Override{{Key: key, Name: "--" + key, Texts: []string{text}}}})
	},
	"config set": func(key, text string) (*Resolved, error) {
		file, err := catalog().With(nil, key, text)
		if err != nil {
			return nil, err
		}
		return resolve(string(file), "")
	},
}

func TestListsAreReadTheSameWayEverywhere(t *testing.T) {
	for name, read := range readers {
		for text, want := range map[string]string{
			`["*.key"]`:               "*.key",
			`['*.key', "b" ]`:         "*.key,b",
			" [\n\"a\", # first\n]":   "a",
			`["a,b","c d"]`:           `"a,b",c d`,
			`*.key,vault`:             "*.key,vault",
			`"a,b",c`:                 `"a,b",c`,
			`"[a-z]*",[!x]`:           `"[a-z]*","[!x]"`,
			`["[a-z]*.key"]`:          `"[a-z]*.key"`,
			`!testdata/*.key,\#notes`: `!testdata/*.key,\#notes`,
		} {
			r, err := read("hide", text)
			if err != nil {
				t.Errorf("%s: %q: %v", name, text, err)
				continue
			}
			if got, err := r.Find("hide"); err != nil || got.Text() != want {
				t.Errorf("%s: %q is read as %s, not %s (%v)", name, text, got.Text(), want, err)
			}
		}
	}
}

func TestFalseListIsRejected(t *testing.T) {
	for name, read := range readers {
		for _, key := range []string{"hide", "env", "system", "inference-tools", "agents.painter.brushes"} {
			for _, text := range []string{`["*.key"`, `[*.key]`, `[a-z]*`, `["a"]x`, `["a"],b`, "[\"a\"]\nclean = true", `[1]`, `["a", 1]`, `[["a"]]`, `b,["a"]`, `"[""*.key""]"`, `"['*.key']"`} {
				if key == "agents.painter.brushes" && name == "flag" {
					continue // is set with --set
				}
				if _, err := read(key, text); fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 && key != "env" && key != "inference-tools" {
					t.Errorf("%s: %s %q: %v %q", name, key, text, err, fault.Hints(err))
				}
			}
		}
	}
}

// Earlier versions wrote a whole list as one word, which then hid nothing.
func TestListWrittenAsAStringIsRejectedWithItsLine(t *testing.T) {
	for _, file := range []string{`hide = ['["*.key"]']`, `hide = ["[\"*.key\"]", "b"]`, `system = ["['x']"]`} {
		for _, err := range []error{second(resolve(file, "")), second(resolve("", file))} {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), ":1:") || !strings.Contains(err.Error(), "looks like a list") || len(fault.Hints(err)) == 0 {
				t.Errorf("%s: %v %q", file, err, fault.Hints(err))
			}
		}
	}
}

func TestRepositoryCannotUnhideHiddenFiles(t *testing.T) {
	for _, file := range []string{`hide = ["!.env"]`, `hide = ["a", "!*"]`, `hide = ["*.key", "!*.key"]`, `hide = ["!vault"]`} {
		if _, err := resolve(`hide = ["*.key", "vault"]`, file); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "can only tighten") {
			t.Errorf("%s: %v", file, err)
		}
	}
	r, err := resolve(`hide = ["*.key", "!a.key"]`, `hide = ["*.key"]`) // hides a.key again
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, r, "hide"); !strings.HasPrefix(got, "!a.key,*.key ") {
		t.Error(got)
	}
	if r, err = resolve(`hide = ["vault/*", "!vault/open"]`, `hide = ['\!x']`, "AIBOX_HIDE=!vault/closed"); err != nil {
		t.Fatal(err)
	}
	if got := text(t, r, "hide"); !strings.HasPrefix(got, `vault/*,!vault/open,\!x,!vault/closed `) {
		t.Error(got)
	}
}
