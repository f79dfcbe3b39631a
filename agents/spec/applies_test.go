package spec_test

import (
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// dependent has options that have an effect only together with others.
type dependent struct {
	Plan    bool   `label:"l" help:"h" flag:"--plan"`
	Planner string `label:"l" help:"h" flag:"--planner" when:"plan"`
	Depth   int    `label:"l" help:"h" flag:"--depth" default:"3" when:"planner"`
	Direct  string `label:"l" help:"h" flag:"--direct" when:"plan!=true"`
	Format  string `label:"l" help:"h" flag:"--format" choices:"text json"`
	Pieces  bool   `label:"l" help:"h" flag:"--pieces" when:"format=json"`
}

func TestOptionThatCannotReachTheAgentIsRejected(t *testing.T) {
	for name, test := range map[string]struct {
		v               dependent
		key, want, hint string
	}{
		"with what it needs":                {dependent{Plan: true, Planner: "p", Depth: 5}, "depth", "", ""},
		"unset":                             {dependent{}, "planner", "", ""},
		"at its default":                    {dependent{Depth: 3}, "depth", "", ""},
		"without a switch":                  {dependent{Planner: "p"}, "planner", `option "planner" has no effect without plan`, "--set plan=true"},
		"without a word":                    {dependent{Plan: true, Depth: 5}, "depth", `option "depth" has no effect without planner`, "--set planner=…"},
		"without what that one needs":       {dependent{Planner: "p", Depth: 5}, "depth", `option "depth" has no effect without plan`, "--set plan=true"},
		"with what is against it":           {dependent{Plan: true, Direct: "d"}, "direct", `option "direct" has no effect with plan=true`, "--set plan=…"},
		"without a value":                   {dependent{Pieces: true}, "pieces", `option "pieces" has no effect without format=json`, "--set format=json"},
		"with another value":                {dependent{Format: "text", Pieces: true}, "pieces", `option "pieces" has no effect without format=json`, "--set format=json"},
		"an option that depends on nothing": {dependent{Format: "text"}, "format", "", ""},
	} {
		fields, err := spec.Of(&test.v)
		if err != nil {
			t.Fatal(err)
		}
		field, err := spec.Find(fields, test.key)
		if err != nil {
			t.Fatal(err)
		}
		err = spec.Applies(&test.v, field)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want == "":
		case err == nil || err.Error() != test.want || fault.KindOf(err) != fault.Usage:
			t.Errorf("%s: %v", name, err)
		case !strings.Contains(strings.Join(fault.Hints(err), "\n"), test.hint) || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--set "+test.key+"="):
			t.Errorf("%s: the hints are %q", name, fault.Hints(err))
		}
	}
}
