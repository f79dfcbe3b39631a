package spec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/secret"
)

func TestTagErrorNamesStructFieldAndKey(t *testing.T) {
	type unknown struct {
		X string `label:"X" help:"h" shade:"red"`
	}
	type mistyped struct {
		X string `label:"X" help:"h" chioces:"a b"`
	}
	type twice struct {
		X string `label:"X" help:"h" label:"Y"` //nolint:staticcheck // the mistake is what is tested
	}
	type blank struct {
		X string `label:"X" help:"h" group:" "`
	}
	type unlabelled struct {
		X string `help:"h"`
	}
	type helpless struct {
		X string `label:"X"`
	}
	type stopped struct {
		X string `label:"X" help:"It ends."`
	}
	type typed struct {
		X float64 `label:"X" help:"h"`
	}
	type leaky struct {
		X secret.Value `label:"X" help:"h" secret:"true" flag:"--x"`
	}
	type secretWithDefault struct {
		X secret.Value `label:"X" help:"h" secret:"true" default:"x"`
	}
	type open struct {
		X secret.Value `label:"X" help:"h"`
	}
	type closed struct {
		X string `label:"X" help:"h" secret:"true"`
	}
	type halfSecret struct {
		X secret.Value `label:"X" help:"h" secret:"false"`
	}
	type chosenSecret struct {
		X secret.Value `label:"X" help:"h" secret:"true" choices:"a b"`
	}
	type chosen struct {
		X bool `label:"X" help:"h" choices:"a b"`
	}
	type empty struct {
		X string `label:"X" help:"h" choices:" "`
	}
	type doubled struct {
		X []string `label:"X" help:"h" choices:"a b a"`
	}
	type bounded struct {
		X string `label:"X" help:"h" min:"1"`
	}
	type fuzzy struct {
		X int `label:"X" help:"h" max:"1h"`
	}
	type timeless struct {
		X time.Duration `label:"X" help:"h" max:"9"`
	}
	type crossed struct {
		X int `label:"X" help:"h" min:"5" max:"2"`
	}
	type above struct {
		X int `label:"X" help:"h" default:"12" max:"9"`
	}
	type outside struct {
		X string `label:"X" help:"h" default:"c" choices:"a b"`
	}
	type outsideOfSeveral struct {
		X []string `label:"X" help:"h" default:"a,c" choices:"a b"`
	}
	type unread struct {
		X bool `label:"X" help:"h" default:"perhaps"`
	}
	type modal struct {
		X int `label:"X" help:"h" mode:"sometimes"`
	}
	type scoped struct {
		X int `label:"X" help:"h" scope:"headless"`
	}
	type unordered struct {
		X string `label:"X" help:"h" scope:"at-most"`
	}
	type unorderedText struct {
		X string `label:"X" help:"h" type:"text" scope:"at-least"`
	}
	type shownSecret struct {
		X secret.Value `label:"X" help:"h" secret:"true" scope:"at-most"`
	}
	type strange struct {
		X string `label:"X" help:"h" type:"pth"`
	}
	type typedNumber struct {
		X int `label:"X" help:"h" type:"path"`
	}
	type typedChoice struct {
		X string `label:"X" help:"h" type:"model" choices:"a b"`
	}
	type flagged struct {
		X int `label:"X" help:"h" flag:"x"`
	}
	type switched struct {
		X bool `label:"X" help:"h" flag:"--x="`
	}
	type variable struct {
		X int `label:"X" help:"h" env:"A B"`
	}
	type sharedEnv struct {
		X int `label:"X" help:"h" env:"A"`
		Y int `label:"Y" help:"h" env:"A"`
	}
	type sharedFlag struct {
		X int `label:"X" help:"h" flag:"--a"`
		Y int `label:"Y" help:"h" flag:"--a"`
	}
	type sharedKey struct {
		MaxHTTP int `label:"X" help:"h"`
		MaxHttp int `label:"Y" help:"h"` //nolint:revive,staticcheck // the mistake is what is tested
	}
	type lost struct {
		X int `label:"X" help:"h" when:"z"`
	}
	type selfish struct {
		X int `label:"X" help:"h" when:"x"`
	}
	type circle struct {
		X int `label:"X" help:"h" when:"z"`
		Y int `label:"Y" help:"h" when:"x"`
		Z int `label:"Z" help:"h" when:"y"`
	}
	type halfWhen struct {
		X bool `label:"X" help:"h"`
		Y int  `label:"Y" help:"h" when:"x="`
	}
	type negated struct {
		X bool `label:"X" help:"h"`
		Y int  `label:"Y" help:"h" when:"x!"`
	}
	type impossible struct {
		X string `label:"X" help:"h" choices:"a b"`
		Y int    `label:"Y" help:"h" when:"x=c"`
	}
	type otherwise struct {
		X int `label:"X" help:"h"`
		Y int `label:"Y" help:"h" when:"x=07"`
	}
	type whispered struct {
		X secret.Value `label:"X" help:"h" secret:"true"`
		Y int          `label:"Y" help:"h" when:"x=canary"`
	}
	for _, test := range []struct {
		v    any
		want string
	}{
		{unknown{}, `unknown.X: unknown tag key "shade"`},
		{mistyped{}, `mistyped.X: unknown tag key "chioces": did you mean "choices"?`},
		{twice{}, `twice.X: tag key "label" is repeated`},
		{blank{}, `blank.X: tag key "group" is empty`},
		{unlabelled{}, `unlabelled.X: tag key "label" is missing`},
		{helpless{}, `helpless.X: tag key "help" is missing`},
		{stopped{}, `stopped.X: tag key "help" ends in a full stop`},
		{typed{}, `typed.X: type float64 is no option`},
		{leaky{}, `leaky.X: tag key "flag": a secret never`},
		{secretWithDefault{}, `secretWithDefault.X: tag key "default": a secret has none`},
		{open{}, `open.X: tag key "secret"`},
		{closed{}, `closed.X: tag key "secret"`},
		{halfSecret{}, `halfSecret.X: tag key "secret"`},
		{chosenSecret{}, `chosenSecret.X: tag key "choices"`},
		{chosen{}, `chosen.X: tag key "choices"`},
		{empty{}, `empty.X: tag key "choices" is empty`},
		{doubled{}, `doubled.X: tag key "choices" names one twice`},
		{bounded{}, `bounded.X: tag key "min"`},
		{fuzzy{}, `fuzzy.X: tag key "max"`},
		{timeless{}, `timeless.X: tag key "max"`},
		{crossed{}, `crossed.X: tag key "min"`},
		{above{}, `above.X: tag key "default"`},
		{outside{}, `outside.X: tag key "default"`},
		{outsideOfSeveral{}, `outsideOfSeveral.X: tag key "default"`},
		{unread{}, `unread.X: tag key "default"`},
		{modal{}, `modal.X: tag key "mode": unknown mode "sometimes"`},
		{scoped{}, `scoped.X: tag key "scope": unknown scope "headless"`},
		{unordered{}, `unordered.X: tag key "scope": a string has no order`},
		{unorderedText{}, `unorderedText.X: tag key "scope": a text has no order`},
		{shownSecret{}, `shownSecret.X: tag key "scope": only the user`},
		{strange{}, `strange.X: tag key "type": unknown type "pth": did you mean "path"?`},
		{typedNumber{}, `typedNumber.X: tag key "type"`},
		{typedChoice{}, `typedChoice.X: tag key "type"`},
		{flagged{}, `flagged.X: tag key "flag"`},
		{switched{}, `switched.X: tag key "flag"`},
		{variable{}, `variable.X: tag key "env"`},
		{sharedEnv{}, `sharedEnv.Y: tag key "env": "A" is taken by X`},
		{sharedFlag{}, `sharedFlag.Y: tag key "flag": "--a" is taken by X`},
		{sharedKey{}, `sharedKey.MaxHttp: tag key "key": "max-http" is taken by MaxHTTP`},
		{lost{}, `lost.X: tag key "when": there is no option "z"`},
		{selfish{}, `selfish.X: tag key "when": it depends on itself`},
		{circle{}, `circle.X: tag key "when": "z" depends on it in turn`},
		{halfWhen{}, `halfWhen.Y: tag key "when"`},
		{negated{}, `negated.Y: tag key "when"`},
		{impossible{}, `impossible.Y: tag key "when": option "x" cannot be "c"`},
		{otherwise{}, `otherwise.Y: tag key "when": "07" is written "7"`},
		{whispered{}, `whispered.Y: tag key "when": a secret`},
		{3, "int is not a struct"},
		{nil, "is not a struct"},
	} {
		if _, err := Of(test.v); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Of(%T) = %v, want %q", test.v, err, test.want)
		}
	}
}

func TestMalformedTagIsAnError(t *testing.T) {
	for _, tag := range []string{
		`label:"X" label:"Y"`, `label:"X" help`, `label`, `label:X`, `:"X"`, `label:"X`, `label:"X"; help:"h"`, `label:""`, `label:"a\nb"`,
	} {
		if tags, err := parseTag(tag); err == nil {
			t.Errorf("parseTag(%q) = %v", tag, tags)
		}
	}
}

func TestDefinitionsAreValidatedLikeTags(t *testing.T) {
	tags := func(more ...string) map[string]string {
		tags := map[string]string{"label": "X", "help": "h"}
		for i := 0; i < len(more); i += 2 {
			tags[more[i]] = more[i+1]
		}
		return tags
	}
	for _, test := range []struct {
		def  Definition
		want string
	}{
		{Definition{Key: "Max", Tags: tags()}, `option "Max": a key is lower-case`},
		{Definition{Key: "a--b", Tags: tags()}, `option "a--b": a key is lower-case`},
		{Definition{Key: "", Tags: tags()}, `option "": a key is lower-case`},
		{Definition{Key: "x", Type: "strin", Tags: tags()}, `option "x": unknown type "strin": did you mean "string"?`},
		{Definition{Key: "x", Tags: map[string]string{"label": "X"}}, `option "x": tag key "help" is missing`},
		{Definition{Key: "x", Tags: tags("shade", "red")}, `option "x": unknown tag key "shade"`},
		{Definition{Key: "x", Tags: tags(`a:"b" flag`, "red")}, `option "x": unknown tag key`},
		{Definition{Key: "x", Tags: tags("secret", "true")}, `option "x": tag key "secret" follows from the option's type`},
		{Definition{Key: "x", Tags: tags("type", "path")}, `option "x": tag key "type" follows from the option's type`},
		{Definition{Key: "x", Type: "choice", Tags: tags()}, `option "x": tag key "choices" belongs`},
		{Definition{Key: "x", Type: "list", Tags: tags("choices", "a")}, `option "x": tag key "choices" belongs`},
		{Definition{Key: "x", Type: "secret", Tags: tags("flag", "--x")}, `option "x": tag key "flag": a secret`},
		{Definition{Key: "x", Type: "int", Tags: tags("default", "9", "max", "3")}, `option "x": tag key "default"`},
		{Definition{Key: "x", Tags: tags("when", "y")}, `option "x": tag key "when": there is no option "y"`},
	} {
		if _, err := Struct([]Definition{test.def}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Struct(%+v) = %v, want %q", test.def, err, test.want)
		}
	}
	twice := Definition{Key: "x", Tags: tags()}
	if _, err := Struct([]Definition{twice, twice}); err == nil || !strings.Contains(err.Error(), `option "x" is defined twice`) {
		t.Errorf("two options of one key: %v", err)
	}
}

func FuzzParseTag(f *testing.F) {
	f.Add(`label:"X" help:"h"`)
	f.Add(`label:"X`)
	f.Add(`:`)
	f.Add(`when:"a!=b" type:"text"`)
	f.Fuzz(func(t *testing.T, tag string) {
		tags, err := parseTag(tag)
		for key, value := range tags {
			if err == nil && (!slices.Contains(keys, key) || strings.TrimSpace(value) == "") {
				t.Errorf("%s:%q was taken", key, value)
			}
		}
	})
}

func FuzzStruct(f *testing.F) {
	f.Add("max-turns", "int", "default", "3")
	f.Add("x", "choice", "choices", "a b")
	f.Add("x", "list", "when", "x=x")
	f.Fuzz(func(t *testing.T, key, kind, tag, value string) {
		v, err := Struct([]Definition{{Key: key, Type: kind, Tags: map[string]string{"label": "X", "help": "h", tag: value}}})
		if err != nil {
			return
		}
		fields, err := Of(v)
		if err != nil || len(fields) != 1 || fields[0].Key != key {
			t.Errorf("%q became %+v, %v", key, fields, err)
		}
	})
}
