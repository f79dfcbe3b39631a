package doctor

import (
	"slices"
	"testing"
)

func TestSandboxesCanBeStartedWhenNoRequirementIsMissing(t *testing.T) {
	daemon := Finding{Name: "Docker", Part: Docker, State: OK, Detail: "29, rootless"}
	for name, test := range map[string]struct {
		found   []Finding
		looking []Part
		want    Readiness
	}{
		"nothing is known yet":            {nil, []Part{Tools, Machine, Docker, Images, Model}, Readiness{}},
		"a check is still running":        {[]Finding{daemon}, []Part{Machine}, Readiness{}},
		"images and models do not matter": {[]Finding{daemon, {Name: "model", Part: Model, State: Missing}}, []Part{Images}, Readiness{OK, "Docker 29, rootless", ""}},
		"a warning does not matter":       {[]Finding{{Name: "disk", State: Warning}, daemon}, nil, Readiness{OK, "Docker 29, rootless", ""}},
		"what can be fixed comes before what cannot": {
			[]Finding{{Name: "x", Part: Machine, State: Missing, Detail: "odd"}, {Name: "git", State: Missing, Detail: "not found", Fix: SetupCommand}},
			[]Part{Docker},
			Readiness{Missing, "git: not found", SetupCommand},
		},
	} {
		if got := Ready(test.found, func(p Part) bool { return slices.Contains(test.looking, p) }); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyProblemsAreFixed(t *testing.T) {
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
