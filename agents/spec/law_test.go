package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// everything has an option of every type; some have a default.
type everything struct {
	Line     string        `label:"L" help:"h" default:"x"`
	Prose    string        `label:"L" help:"h" type:"text"`
	Place    string        `label:"L" help:"h" type:"path"`
	Model    string        `label:"L" help:"h" type:"model"`
	Effort   string        `label:"L" help:"h" choices:"low mid high" default:"mid"`
	On       bool          `label:"L" help:"h"`
	Off      bool          `label:"L" help:"h" default:"true"`
	Turns    int           `label:"L" help:"h" min:"-5" max:"9" default:"3"`
	Count    int           `label:"L" help:"h" min:"1"`
	Patience time.Duration `label:"L" help:"h" max:"2h" default:"1m"`
	Words    []string      `label:"L" help:"h" default:"a, b"`
	Tools    []string      `label:"L" help:"h" choices:"saw axe pen"`
	Key      secret.Value  `label:"L" help:"h" secret:"true"`
}

func anything(t *rapid.T) *everything {
	// A word that looks like a list is refused from every source.
	word := rapid.StringMatching(`[a-z0-9,"\n\[\] é]{0,6}`).Filter(func(word string) bool { return !looksLikeList(word) })
	choice := rapid.SampledFrom([]string{"", "low", "mid", "high"})
	v := &everything{
		Line: rapid.StringMatching(`[^\x00\r\n]{0,9}`).Draw(t, "line"), Prose: rapid.StringMatching(`[^\x00]{0,9}`).Draw(t, "prose"),
		Place: rapid.StringMatching(`[a-z/ ]{0,9}`).Draw(t, "place"), Model: rapid.StringMatching(`[a-z:]{0,9}`).Draw(t, "model"),
		Effort: choice.Draw(t, "effort"), On: rapid.Bool().Draw(t, "on"), Off: rapid.Bool().Draw(t, "off"),
		Turns: rapid.IntRange(-5, 9).Draw(t, "turns"), Count: rapid.IntRange(0, 1<<40).Draw(t, "count"),
		Patience: time.Duration(rapid.Int64Range(-1, int64(2*time.Hour)).Draw(t, "patience")),
		Words:    rapid.SliceOfN(word, 0, 4).Draw(t, "words"),
		Tools:    rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"saw", "axe", "pen"}), 0, 3, rapid.ID).Draw(t, "tools"),
	}
	if rapid.Bool().Draw(t, "unset") {
		v.Words, v.Tools = nil, nil
	}
	return v
}

func fieldsIn(t *testing.T, v any) []Field {
	t.Helper()
	fields, err := Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestTextAndValueRoundTrip(t *testing.T) {
	fields := fieldsIn(t, &everything{})
	rapid.Check(t, func(t *rapid.T) {
		from := anything(t)
		written, decoded, viaJSON, edited := &everything{}, &everything{}, &everything{}, &everything{}
		for _, field := range fields {
			if err := field.Set(written, field.Text(from)); err != nil {
				t.Fatalf("Set(%q): %v", field.Text(from), err)
			}
			if err := field.Decode(decoded, field.Value(from)); err != nil {
				t.Fatalf("Decode(%v): %v", field.Value(from), err)
			}
			if err := field.Set(edited, field.Lines(from)); err != nil {
				t.Fatalf("Set(%q): %v", field.Lines(from), err)
			}
			data, err := json.Marshal(field.Value(from))
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(data, &value); err != nil {
				t.Fatal(err)
			}
			if err := field.Decode(viaJSON, value); err != nil {
				t.Fatalf("Decode(%s): %v", data, err)
			}
		}
		for _, got := range []*everything{written, decoded, viaJSON, edited} {
			if !reflect.DeepEqual(from, got) {
				t.Fatalf("%+v became %+v", from, got)
			}
		}
		if err := Validate(from); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCloneSharesNothing(t *testing.T) {
	fields := fieldsIn(t, &everything{})
	rapid.Check(t, func(t *rapid.T) {
		from := anything(t)
		before := fmt.Sprintf("%#v", from)
		clone, _ := Clone(from).(*everything)
		if !reflect.DeepEqual(from, clone) {
			t.Fatalf("%+v was cloned as %+v", from, clone)
		}
		for i := range clone.Words {
			clone.Words[i] += "!"
		}
		for _, field := range fields {
			_ = field.Set(clone, "pen")
			_ = field.Decode(clone, nil)
		}
		if after := fmt.Sprintf("%#v", from); after != before {
			t.Fatalf("%s became %s", before, after)
		}
		if err := Copy(clone, from); err != nil || !reflect.DeepEqual(from, clone) {
			t.Fatalf("%+v was copied as %+v, %v", from, clone, err)
		}
	})
	for _, v := range []any{nil, everything{}, (*everything)(nil), new(int)} {
		if got := Clone(v); got != nil {
			t.Errorf("Clone(%T) = %v", v, got)
		}
	}
}

// permits models what each value of an option allows, as a set of points. A repository may
// only make the set smaller.
type scopedField struct {
	field   Field
	values  []any
	permits func(value any, point int) bool
}

func scopedFields(t *testing.T) []scopedField {
	t.Helper()
	type options struct {
		Most   int           `label:"L" help:"h" scope:"at-most"`
		Least  int           `label:"L" help:"h" scope:"at-least"`
		Time   time.Duration `label:"L" help:"h" scope:"at-most"`
		Net    bool          `label:"L" help:"h" scope:"at-most"`
		Guard  bool          `label:"L" help:"h" scope:"at-least"`
		Policy string        `label:"L" help:"h" choices:"none local any" scope:"at-most"`
		Care   string        `label:"L" help:"h" choices:"low mid high" scope:"at-least"`
		Allow  []string      `label:"L" help:"h" scope:"at-most"`
		Deny   []string      `label:"L" help:"h" choices:"a b c" scope:"at-least"`
	}
	fields := fieldsIn(t, options{})
	numbers := []any{nil, int64(-3), int64(0), int64(1), int64(2), int64(5)}
	times := []any{nil, "0s", "1s", "2s", "5s", "-1s"}
	bools := []any{nil, true, false}
	lists := []any{nil, []string{}, []string{"a"}, []string{"a", "b"}, []string{"c"}}
	index := func(choices ...string) func(any) int {
		return func(value any) int { return slices.Index(choices, fmt.Sprint(value)) }
	}
	policy, care := index("none", "local", "any", "<nil>"), index("<nil>", "low", "mid", "high")
	number := func(value any) int { n, _ := value.(int64); return int(max(n, 0)) }
	seconds := func(value any) int {
		d, _ := time.ParseDuration(strings.ReplaceAll(fmt.Sprint(value), "<nil>", "0s"))
		return int(max(d, 0) / time.Second)
	}
	holds := func(value any, point int) bool {
		words, _ := value.([]string)
		return slices.Contains(words, string(rune('a'+point)))
	}
	return []scopedField{
		{fields[0], numbers, func(v any, p int) bool { return number(v) == 0 || p <= number(v) }},
		{fields[1], numbers, func(v any, p int) bool { return p >= number(v) }},
		{fields[2], times, func(v any, p int) bool { return seconds(v) == 0 || p <= seconds(v) }},
		{fields[3], bools, func(v any, p int) bool { return v == true || p == 0 }},
		{fields[4], bools, func(v any, p int) bool { return v != true || p == 0 }},
		{fields[5], []any{nil, "none", "local", "any"}, func(v any, p int) bool { return p <= policy(v) }},
		{fields[6], []any{nil, "low", "mid", "high"}, func(v any, p int) bool { return p >= care(v) }},
		{fields[7], lists, holds},
		{fields[8], lists, func(v any, p int) bool { return !holds(v, p) }},
	}
}

func TestRepositoryCanKeepOrTightenButNotLoosen(t *testing.T) {
	for _, s := range scopedFields(t) {
		allowed := func(current, proposed any) bool { return s.field.Tightens(current, proposed) == nil }
		for _, a := range s.values {
			if !allowed(a, a) {
				t.Errorf("%s: %v was not allowed to stay", s.field.Key, a)
			}
			for _, b := range s.values {
				narrower := true
				for point := range 8 {
					narrower = narrower && (s.permits(a, point) || !s.permits(b, point))
				}
				// Unsetting a value is refused even where it would be harmless.
				if got := allowed(a, b); got && !narrower || !got && narrower && (b != nil || a == nil) {
					t.Errorf("%s: from %v to %v: allowed is %t", s.field.Key, a, b, got)
				}
				for _, c := range s.values {
					if allowed(a, b) && allowed(b, c) && !allowed(a, c) {
						t.Errorf("%s: %v to %v to %v is allowed, but not at once", s.field.Key, a, b, c)
					}
				}
			}
		}
	}
}

func TestRepositoryCanSetOnlyHarmlessOptions(t *testing.T) {
	type options struct {
		Mine  string `label:"L" help:"h"`
		Yours string `label:"L" help:"h" scope:"repository"`
		Net   bool   `label:"L" help:"h" scope:"at-most"`
	}
	fields := fieldsIn(t, options{})
	if err := fields[0].Tightens("a", "a"); fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 {
		t.Errorf("a user's option: %v", err)
	}
	if err := fields[1].Tightens("a", "b"); err != nil {
		t.Errorf("a repository's option: %v", err)
	}
	for _, wrong := range []any{"true", int64(1), []string{"true"}} {
		if err := fields[2].Tightens(false, wrong); err == nil {
			t.Errorf("%#v was taken for a switch", wrong)
		}
	}
}

func FuzzSetAndDecode(f *testing.F) {
	f.Add(0, "a,b")
	f.Add(7, `"x""y", z`)
	f.Add(9, "1h30m")
	f.Add(12, "canary")
	fields, err := Of(&everything{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		field := fields[uint(i)%uint(len(fields))]
		v := &everything{}
		before := *v
		if err := field.Set(v, text); err != nil {
			if fault.KindOf(err) != fault.Usage || !cmp.Equal(field.Value(&before), field.Value(v)) {
				t.Fatalf("Set(%q): %v, left %v", text, err, field.Value(v))
			}
			if field.Type == Secret && len(text) > 3 && strings.Contains(err.Error(), text) {
				t.Fatalf("the error contains the secret: %v", err)
			}
			return
		}
		again := &everything{}
		if err := field.Set(again, field.Text(v)); field.Type != Secret && (err != nil || !reflect.DeepEqual(v, again)) {
			t.Fatalf("Set(%q) gave %v, whose text gives %v (%v)", text, field.Value(v), field.Value(again), err)
		}
		if err := Check(v, field); err != nil {
			t.Fatalf("Set(%q) was taken and then refused: %v", text, err)
		}
		_ = field.Decode(again, text)
	})
}
