package spec

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"aibox/internal/amount"
	"aibox/internal/fault"
)

func TestANumberOfThingsOfWhichZeroIsNoneCanOnlyBeLowered(t *testing.T) {
	fields, err := Of(&struct {
		Things int `label:"Things" help:"Have things" min:"0" max:"9" zero:"none" scope:"at-most"`
		Limit  int `label:"Limit" help:"Limit things" min:"0" max:"9" scope:"at-most"`
	}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now, next     any
		things, limit bool
	}{
		{int64(0), int64(3), false, true},
		{nil, int64(1), false, true},
		{int64(3), int64(0), true, false},
		{int64(3), int64(2), true, true},
		{int64(3), int64(4), false, false},
		{int64(3), int64(3), true, true},
		{int64(3), int64(-1), true, false},
		{int64(0), int64(0), true, true},
	} {
		if things, limit := fields[0].Tightens(c.now, c.next) == nil, fields[1].Tightens(c.now, c.next) == nil; things != c.things || limit != c.limit {
			t.Errorf("from %v to %v: things %v, limit %v", c.now, c.next, things, limit)
		}
	}
}

// shownZero has numbers of which 0 means something.
type shownZero struct {
	Size  amount.MiB      `label:"S" help:"Limit the size" zero:"no limit" min:"0" max:"1TiB" default:"256MiB" scope:"at-most"`
	Time  amount.Duration `label:"T" help:"Keep it this long" zero:"forever" default:"0" min:"0s"`
	Cost  amount.USD      `label:"C" help:"Limit the cost" zero:"no limit" default:"0" min:"0"`
	Plain int             `label:"P" help:"Have some" default:"0" min:"0"`
}

// An empty text often comes from a variable of a shell that is not set.
func TestAnEmptyTextDoesNotRemoveALimit(t *testing.T) {
	v := &shownZero{}
	if err := Defaults(v); err != nil {
		t.Fatal(err)
	}
	fields := fieldsIn(t, v)
	for _, set := range []func(f Field) error{
		func(f Field) error { return f.Set(v, "") },
		func(f Field) error { return f.Decode(v, "") },
	} {
		if err := set(fields[0]); fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) != 2 || v.Size != 256 {
			t.Errorf("the limit is %s, %v with the hints %q", v.Size, err, fault.Hints(err))
		}
		if err := set(fields[1]); err != nil { // its default is 0
			t.Error(err)
		}
	}
}

func TestZeroIsShownAsWhatItMeans(t *testing.T) {
	v := &shownZero{}
	if err := Defaults(v); err != nil {
		t.Fatal(err)
	}
	fields := fieldsIn(t, v)
	shown := func() (texts []string) {
		for _, field := range fields {
			texts = append(texts, field.Show(v))
		}
		return texts
	}
	if got, want := shown(), []string{"256MiB", "forever", "no limit", "0"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for i, text := range []string{"no limit", "90m", "2.5", "7"} {
		if err := fields[i].Set(v, text); err != nil {
			t.Error(err)
		}
	}
	if got, want := shown(), []string{"no limit", "1h30m", "$2.50", "7"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if fields[0].Text(v) != "0" || fields[0].Help != "Limit the size; 0 for no limit" || fields[3].Help != "Have some" {
		t.Errorf("%q is set by %q, %q", fields[0].Help, fields[0].Text(v), fields[3].Help)
	}
}

// A file of settings takes what a flag takes.
func TestWhatSetTakesForANumberIsDecodedAndMatchesItsSchema(t *testing.T) {
	v := &struct {
		Size  amount.MiB      `label:"S" help:"S" zero:"no limit" default:"7" min:"0" scope:"at-most"`
		Time  amount.Duration `label:"T" help:"T" zero:"forever" default:"1h" min:"0s"`
		Cost  amount.USD      `label:"C" help:"C" zero:"no limit" default:"7" min:"0"`
		Share amount.Decimal  `label:"D" help:"D" zero:"no limit" default:"7" min:"0"`
		Count int             `label:"N" help:"N" zero:"none" default:"7" min:"0" auto:"all of them" scope:"at-most"`
		Plain int             `label:"P" help:"P" default:"7"`
	}{}
	texts := []string{"0", "3", "-3", "+3", "30d", "1h30m", "1.5h", "2.50", "4GiB", "no limit", "forever", "none", "auto", "all of them", "x", "3x", " 3", "no limits"}
	properties := Schema(v)["properties"].(map[string]any)
	for _, field := range fieldsIn(t, v) {
		for _, text := range texts {
			set := field.Set(v, text)
			want := field.Value(v)
			if err := field.Decode(v, text); (err == nil) != (set == nil) || set == nil && field.Value(v) != want {
				t.Errorf("%s = %q: decoded as %v, %v, set as %v, %v", field.Key, text, field.Value(v), err, want, set)
			}
			pattern, ok := properties[field.Key].(map[string]any)["pattern"].(string)
			if matches := regexp.MustCompile(pattern).MatchString(text); ok && set == nil && !matches {
				t.Errorf("%s = %q is not in the pattern %s", field.Key, text, pattern)
			} else if ok && matches && set != nil && !strings.HasPrefix(text, "-") {
				t.Errorf("%s = %q is in the pattern %s", field.Key, text, pattern)
			}
		}
	}
	if got := properties["time"].(map[string]any)["pattern"]; got == nil {
		t.Error("a duration has no pattern")
	}
	if got := properties["count"].(map[string]any)["pattern"]; got == nil {
		t.Error("a count has no pattern")
	}
}

func TestASizeIsANumberOfMebibytesOrHasAUnit(t *testing.T) {
	v := &shownZero{}
	size := fieldsIn(t, v)[0]
	for _, c := range []struct {
		value any
		want  int64
	}{{int64(300), 300}, {"4GiB", 4096}, {"1.5g", 1536}, {"300", 300}, {float64(7), 7}} {
		if err := size.Decode(v, c.value); err != nil || size.Value(v) != c.want {
			t.Errorf("%v is %v, %v", c.value, size.Value(v), err)
		}
	}
	for _, bad := range []any{"4k", "-1GiB", "2TiB", 1.5, true, "much"} {
		if err := size.Decode(v, bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := size.Set(v, "2TiB"); err == nil || !strings.Contains(err.Error(), "a size from 0 to 1TiB, not 2TiB") {
		t.Errorf("got %v", err)
	}
	if size.Tightens(int64(512), int64(256)) != nil || size.Tightens(int64(256), int64(512)) == nil {
		t.Error("sizes are not compared")
	}
}

func TestTheKeyZeroIsForNumbersThatCanBeZero(t *testing.T) {
	for _, bad := range []any{
		&struct {
			A int `label:"A" help:"A" min:"1" zero:"no limit" scope:"at-most"`
		}{},
		&struct {
			A int `label:"A" help:"A" zero:"none"`
		}{},
		&struct {
			A bool `label:"A" help:"A" zero:"none" scope:"at-most"`
		}{},
	} {
		if _, err := Of(bad); err == nil {
			t.Errorf("%T is accepted", bad)
		}
	}
}
