package session

import (
	"path/filepath"
	"slices"
	"testing"
)

// stateIn returns a valid state in the phase.
func stateIn(phase Phase) State {
	state := State{Phase: phase}
	if phase != Queued && phase != Preparing {
		state.Started = now()
	}
	if phase == Computing || phase == Verifying || phase == Ended {
		state.Result = &Result{}
	}
	return state
}

func TestTheStoreRefusesEveryTransitionThatIsNotInTheTable(t *testing.T) {
	for _, from := range PhaseRules {
		for _, to := range PhaseRules {
			legal := from.Phase == to.Phase || slices.ContainsFunc(Transitions, func(t Transition) bool { return t.From == from.Phase && t.To == to.Phase })
			d := newFixture(t)
			d.prepared("00001-a")
			d.must(d.store.write("00001-a", stateFile, storedState{State: stateIn(from.Phase)}))
			err := d.store.WriteState("00001-a", stateIn(to.Phase))
			if legal != (err == nil) {
				t.Errorf("from %s to %s: %v", from.Phase, to.Phase, err)
			}
			want := from.Phase
			if legal {
				want = to.Phase
			}
			if got := d.loaded("00001-a").State.Phase; got != want {
				t.Errorf("from %s to %s: it is %s", from.Phase, to.Phase, got)
			}
		}
	}
}

func TestTheStoreRefusesStatesThatLackDataOfTheirPhase(t *testing.T) {
	for name, c := range map[string]struct{ from, to State }{
		"an agent that never started": {stateIn(Preparing), State{Phase: Running}},
		"an end without a result":     {stateIn(Running), State{Phase: Ended, Started: now()}},
		"a derived phase":             {stateIn(Running), State{Phase: Ending, Started: now()}},
		"an unknown phase":            {stateIn(Running), State{Phase: "dreaming", Started: now()}},
		"no phase":                    {stateIn(Running), State{Started: now()}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.prepared("00001-a")
			d.must(d.store.write("00001-a", stateFile, c.from))
			if err := d.store.WriteState("00001-a", c.to); err == nil {
				t.Error("it was stored")
			}
		})
	}
}

// The supervisor knows the state, even if the file was damaged.
func TestAnyStateReplacesADamagedOne(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "torn": "{\n  \"pha", "of another program": "[]", "garbage": "\x00\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.prepared("00001-a")
			d.write(filepath.Join(d.store.Dir("00001-a"), stateFile), content)
			d.must(d.store.WriteState("00001-a", stateIn(Computing)))
			if got := d.loaded("00001-a").State.Phase; got != Computing {
				t.Errorf("it is %s", got)
			}
		})
	}
}

func TestEveryTransitionIsBetweenDocumentedPhases(t *testing.T) {
	for _, tr := range Transitions {
		if !tr.From.known() || !tr.To.known() && tr.To != Removed || len(tr.By) == 0 || tr.When == "" {
			t.Errorf("%+v", tr)
		}
	}
	for _, rule := range PhaseRules {
		if rule.Phase != Queued && !slices.ContainsFunc(Transitions, func(t Transition) bool { return t.To == rule.Phase }) {
			t.Errorf("nothing leads to %s", rule.Phase)
		}
		if !slices.ContainsFunc(Transitions, func(t Transition) bool { return t.From == rule.Phase }) {
			t.Errorf("nothing leads out of %s", rule.Phase)
		}
		if rule.Means == "" || rule.Stored == "" || rule.Repair == "" {
			t.Errorf("%s is not documented", rule.Phase)
		}
	}
}
