package doctor

import (
	"slices"
	"testing"
)

func TestTheWayToAFirstRunNamesWhatIsInIt(t *testing.T) {
	daemon := Finding{Name: "Docker", Part: Docker, State: OK, Detail: "29, rootless true"}
	base := Finding{Name: "image base", Part: Images, State: OK, Image: "base"}
	codex := Finding{Name: "image codex", Part: Images, State: OK, Image: "codex", Agent: true}
	gone := Finding{Name: "image qwen", Part: Images, State: Warning, Image: "qwen", Agent: true}
	nobody := Finding{Name: "model", Part: Model, State: Warning, Detail: "no model", Fix: "start one"}
	somebody := Finding{Name: "model", Part: Model, State: OK, Detail: "ollama"}
	for name, test := range map[string]struct {
		found   []Finding
		looking []Part
		want    [3]Step
	}{
		"nothing is known yet": {
			nil,
			[]Part{Tools, Machine, Docker, Images, Model},
			[3]Step{{Part: Docker}, {Part: Images}, {Part: Model}},
		},
		"all is there": {
			[]Finding{{Name: "disk", State: Warning}, daemon, base, codex, somebody},
			nil,
			[3]Step{{Docker, OK, "29, rootless true", ""}, {Images, OK, "codex", ""}, {Model, OK, "ollama", ""}},
		},
		"the base alone is no image for an agent, and an outdated one starts none": {
			[]Finding{daemon, base, gone, nobody},
			nil,
			[3]Step{{Docker, OK, "29, rootless true", ""}, {Images, Missing, "none has been baked yet", ""}, {Model, Warning, "no model", "start one"}},
		},
		"what the setup mends comes before what it does not": {
			[]Finding{{Name: "x", Part: Machine, State: Missing, Detail: "odd"}, {Name: "git", State: Missing, Detail: "not found", Fix: SetupCommand}},
			[]Part{Docker},
			[3]Step{{Docker, Missing, "git: not found", SetupCommand}, {Part: Images, Detail: "after Docker"}, {Model, "", "", ""}},
		},
	} {
		got := FirstRun(test.found, func(p Part) bool { return slices.Contains(test.looking, p) })
		if !slices.Equal(got, test.want[:]) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyWhatIsNotInOrderIsFixed(t *testing.T) {
	if f := (Finding{State: OK, Fix: SetupCommand, Image: "a"}); f.FixedBySetup() || f.FixedByBuild() {
		t.Error("mends what is in order")
	}
	if f := (Finding{State: Warning, Fix: SetupCommand, Image: "a"}); !f.FixedBySetup() || !f.FixedByBuild() {
		t.Error("does not mend")
	}
	if n := Count([]Finding{{State: OK}, {State: Missing}, {State: Missing}}, Missing); n != 2 {
		t.Errorf("counts %d", n)
	}
}
