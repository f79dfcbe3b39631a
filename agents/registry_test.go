package agents

import (
	"errors"
	"slices"
	"testing"

	"aibox/internal/fault"
)

// guest is an agent from outside.
type guest struct {
	name  string
	state []string
}

func (*guest) Command(Task) (Invocation, error) { return Invocation{Argv: []string{"true"}}, nil }

func (g *guest) Info() Info {
	return Info{Name: g.name, Title: "Guest", Summary: "A guest", Image: "base", StateDirs: g.state}
}

func TestCustomAgentIsListedLastAndCannotReuseAName(t *testing.T) {
	set, err := Builtin().With(func() Agent { return &guest{name: "visitor"} })
	if err != nil {
		t.Fatal(err)
	}
	if names := set.Names(); names[len(names)-1] != "visitor" {
		t.Errorf("names: %q", names)
	}
	if agent, err := set.Find("visitor"); err != nil || agent.Info().Title != "Guest" {
		t.Errorf("%v, %v", agent, err)
	}
	if _, err := set.With(func() Agent { return &guest{name: "codex"} }); fault.KindOf(err) != fault.Usage {
		t.Errorf("a second codex: %v", err)
	}
}

func TestBrokenAgentFailsOnlyItsOwnLookup(t *testing.T) {
	why := errors.New("line 3 is wrong")
	set := Builtin().WithBroken("visitor", why).WithBroken("codex", why)
	if _, err := set.Find("visitor"); !errors.Is(err, why) {
		t.Errorf("Find: %v", err)
	}
	if _, err := set.Find("codex"); err != nil {
		t.Errorf("a file has taken the name of a built-in agent: %v", err)
	}
	if slices.Contains(set.Names(), "visitor") {
		t.Error("it is listed")
	}
	if _, err := set.Find("visitr"); !slices.Contains(fault.Hints(err), `did you mean "visitor"?`) {
		t.Errorf("hints: %q", fault.Hints(err))
	}
}

func TestNoStateFolderContainsAnotherAgents(t *testing.T) {
	for state, refused := range map[string]bool{
		"~/.claude": true, "~/.claude/projects/mine": true, "~/.local/share": true, "~/.codex": true,
		"~/.claude/projects": false, "~/.claude/projects-2": false, "~/.guest": false,
	} {
		set, err := Builtin().With(func() Agent { return &guest{name: "visitor", state: []string{"~/.own", state}} })
		if (fault.KindOf(err) == fault.Usage) != refused || (err != nil) != refused {
			t.Errorf("%s: %v", state, err)
		}
		if refused != !slices.Contains(set.Names(), "visitor") {
			t.Errorf("%s: the agents are %q", state, set.Names())
		}
	}
	set, err := Builtin().With(func() Agent { return &guest{name: "one", state: []string{"~/.both/a"}} })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.With(func() Agent { return &guest{name: "two", state: []string{"~/.both"}} }); err == nil {
		t.Error("two agents from outside have folders one in the other")
	}
	for _, agent := range Builtin().All() {
		if err := Builtin().checkState(agent.Info()); err != nil {
			t.Errorf("%s: %v", agent.Info().Name, err)
		}
	}
}
