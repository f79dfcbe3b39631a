package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// stateIn returns a valid state in the phase.
func stateIn(phase Phase) State {
	state := State{Phase: phase}
	if phase != Queued && phase != Preparing {
		state.Started = Now()
	}
	if phase == Computing || phase == Verifying || phase == Ended {
		state.Result = &Result{}
	}
	return state
}

// storedAs returns a store with the session 00001-a in a state.
func storedAs(t *testing.T, state State) Store {
	t.Helper()
	s := testStore(t)
	if err := os.MkdirAll(s.Dir("00001-a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteSpec("00001-a", Spec{ID: "00001-a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write("00001-a", StateFile, storedState{State: state}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheStoreRefusesEveryTransitionThatIsNotInTheTable(t *testing.T) {
	for _, from := range PhaseRules {
		for _, to := range PhaseRules {
			legal := from.Phase == to.Phase || slices.ContainsFunc(Transitions, func(t Transition) bool { return t.From == from.Phase && t.To == to.Phase })
			s := storedAs(t, stateIn(from.Phase))
			err := s.WriteState("00001-a", stateIn(to.Phase))
			if legal != (err == nil) {
				t.Errorf("from %s to %s: %v", from.Phase, to.Phase, err)
			}
			want := from.Phase
			if legal {
				want = to.Phase
			}
			if got, err := s.Load("00001-a"); err != nil || got.State.Phase != want {
				t.Errorf("from %s to %s: it is %s, %v", from.Phase, to.Phase, got.State.Phase, err)
			}
		}
	}
}

func TestTheStoreRefusesStatesThatLackDataOfTheirPhase(t *testing.T) {
	for name, c := range map[string]struct{ from, to State }{
		"an agent that never started": {stateIn(Preparing), State{Phase: Running}},
		"an end without a result":     {stateIn(Running), State{Phase: Ended, Started: Now()}},
		"a derived phase":             {stateIn(Running), State{Phase: Ending, Started: Now()}},
		"an unknown phase":            {stateIn(Running), State{Phase: "dreaming", Started: Now()}},
		"no phase":                    {stateIn(Running), State{Started: Now()}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := storedAs(t, c.from).WriteState("00001-a", c.to); err == nil {
				t.Error("it was stored")
			}
		})
	}
}

// The supervisor knows the state, even if the file was damaged.
func TestAnyStateReplacesADamagedOne(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "torn": "{\n  \"pha", "of another program": "[]", "garbage": "\x00\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			s := storedAs(t, stateIn(Running))
			if err := os.WriteFile(filepath.Join(s.Dir("00001-a"), StateFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.WriteState("00001-a", stateIn(Computing)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Load("00001-a"); err != nil || got.State.Phase != Computing {
				t.Errorf("it is %s, %v", got.State.Phase, err)
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

// A supervisor can die right before it replaces the state, and the disk can then damage it.
func TestTheStateBeforeTheLastStepIsNotDamagedWithTheState(t *testing.T) {
	state := stateIn(Running)
	state.ImageID = "sha256:1"
	s := storedAs(t, state)
	s.keepPrevious("00001-a")
	if err := os.Truncate(filepath.Join(s.Dir("00001-a"), StateFile), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore("00001-a"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.loadState("00001-a"); err != nil || got.Phase != Running || got.ImageID != state.ImageID {
		t.Errorf("restored is %+v (%v)", got, err)
	}
}
