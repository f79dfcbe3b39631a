package agents

import (
	"errors"
	"slices"
	"testing"

	"aibox/internal/fault"
)

// customAgent is an agent that is not built in.
type customAgent struct {
	name  string
	state []string
}

func (*customAgent) Command(Task) (Invocation, error) { return Invocation{Argv: []string{"true"}}, nil }

func (c *customAgent) Info() Info {
	return Info{Name: c.name, Title: "Custom", Summary: "A custom agent", Image: "base", StateDirs: c.state}
}

func TestCustomAgentIsListedLastAndCannotReuseAName(t *testing.T) {
	set, err := Builtin().With(func() Agent { return &customAgent{name: "custom"} })
	if err != nil {
		t.Fatal(err)
	}
	if names := set.Names(); names[len(names)-1] != "custom" {
		t.Errorf("names: %q", names)
	}
	if agent, err := set.Find("custom"); err != nil || agent.Info().Title != "Custom" {
		t.Errorf("%v, %v", agent, err)
	}
	if _, err := set.With(func() Agent { return &customAgent{name: "codex"} }); fault.KindOf(err) != fault.Usage {
		t.Errorf("a second codex: %v", err)
	}
}

func TestBrokenAgentFailsOnlyItsOwnLookup(t *testing.T) {
	why := errors.New("line 3 is wrong")
	set := Builtin().WithBroken("custom", why).WithBroken("codex", why)
	if _, err := set.Find("custom"); !errors.Is(err, why) {
		t.Errorf("Find: %v", err)
	}
	if _, err := set.Find("codex"); err != nil {
		t.Errorf("a file has taken the name of a built-in agent: %v", err)
	}
	if slices.Contains(set.Names(), "custom") {
		t.Error("it is listed")
	}
	if _, err := set.Find("custm"); !slices.Contains(fault.Hints(err), `did you mean "custom"?`) {
		t.Errorf("hints: %q", fault.Hints(err))
	}
}

func TestNoStateFolderContainsAnotherAgents(t *testing.T) {
	for state, refused := range map[string]bool{
		"~/.claude": true, "~/.claude/projects/mine": true, "~/.local/share": true, "~/.codex": true,
		"~/.claude/projects": false, "~/.claude/projects-2": false, "~/.custom": false,
	} {
		set, err := Builtin().With(func() Agent { return &customAgent{name: "custom", state: []string{"~/.own", state}} })
		if (fault.KindOf(err) == fault.Usage) != refused || (err != nil) != refused {
			t.Errorf("%s: %v", state, err)
		}
		if refused != !slices.Contains(set.Names(), "custom") {
			t.Errorf("%s: the agents are %q", state, set.Names())
		}
	}
	set, err := Builtin().With(func() Agent { return &customAgent{name: "one", state: []string{"~/.both/a"}} })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.With(func() Agent { return &customAgent{name: "two", state: []string{"~/.both"}} }); err == nil {
		t.Error("two custom agents have folders one in the other")
	}
	for _, agent := range Builtin().All() {
		if err := Builtin().checkState(agent.Info()); err != nil {
			t.Errorf("%s: %v", agent.Info().Name, err)
		}
	}
}
