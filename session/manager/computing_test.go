package manager

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/summary"
)

// died is a session whose agent wrote a file and ended, and whose supervisor was killed in
// the given phase.
func (d *fixture) died(id session.ID, phase session.Phase, result *session.Result) {
	d.t.Helper()
	ws := d.prepared(id)
	d.write(filepath.Join(ws.Path, "made.txt"), "made\n")
	d.must(d.store.Write(id, session.StateFile, session.State{Phase: phase, Workspace: ws, Started: session.Now(), Result: result}))
}

func (d *fixture) loaded(id session.ID) *session.Session {
	d.t.Helper()
	record, err := d.store.Load(id)
	d.must(err)
	return &record
}

// A process that the kernel killed for its memory would be killed again. So the end of the
// agent is recorded before its changes are computed, and the repair does not compute them.
func TestTheEndIsKeptWhenComputingChangesIsInterrupted(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", session.Computing, &session.Result{ExitCode: 3, Seconds: 12, Tokens: session.Tokens{Input: 7}, Changes: session.Changes{Unknown: session.NotComputedYet}})
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 {
		t.Fatalf("repaired is %v", repaired)
	}
	record := d.loaded("00001-a")
	result := record.State.Result
	if record.State.Phase != session.Ended || result.ExitCode != 3 || result.Seconds != 12 || result.Tokens.Input != 7 || result.Fault != nil {
		t.Errorf("the session ended as %+v", result)
	}
	if !strings.Contains(result.Changes.Unknown, "out of memory") || record.UnknownChanges() == nil {
		t.Errorf("its changes are %+v", result.Changes)
	}
	if _, err := d.FinalChanges("00001-a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repair computed the changes: %v", err)
	}
	brief := summary.Of(record)
	if brief.Status() != summary.StatusToReview || !brief.Open() || !brief.Actions().Review {
		t.Errorf("the list shows it as %s", brief.Status())
	}

	if got := d.files("00001-a"); got != "made.txt" {
		t.Errorf("it changed %q", got)
	}
	record = d.loaded("00001-a")
	if record.UnknownChanges() != nil || !record.State.Result.Changed || record.State.Result.Changes.Files != 1 || record.State.Result.ExitCode != 3 {
		t.Errorf("afterwards it stands as %+v", record.State.Result)
	}
	if types, _ := d.logged("00001-a"); types[len(types)-1] != audit.ChangesComputed {
		t.Errorf("logged is %v", types)
	}
}

func TestRepairDoesNotComputeChanges(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", session.Running, nil)
	_, err := d.Repair(t.Context())
	d.must(err)
	record := d.loaded("00001-a")
	if record.State.Result.Fault == nil || record.UnknownChanges() == nil {
		t.Errorf("the session ended as %+v", record.State.Result)
	}
	if _, err := d.FinalChanges("00001-a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repair computed the changes: %v", err)
	}
	if got := d.files("00001-a"); got != "made.txt" {
		t.Errorf("it changed %q", got)
	}
}

// Changes that cannot be computed stay unknown, are reported as unknown, and are not lost.
func TestUnknownChangesAreRecomputedOnlyOnRequest(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", session.Computing, &session.Result{Changes: session.Changes{Unknown: session.NotComputedYet}})
	_, err := d.Repair(t.Context())
	d.must(err)
	_, err = d.beginCompute(d.loaded("00001-a")) // a command that dies here
	d.must(err)
	if _, err := d.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if changes := d.loaded("00001-a").State.Result.Changes; changes.Tries != 2 || !strings.Contains(changes.Unknown, "tried 1 times") {
		t.Errorf("after another death the changes are %+v", changes)
	}
	baseline := d.loaded("00001-a").State.Workspace.Baseline
	d.must(os.Rename(baseline, baseline+".away"))
	if _, err := d.Changes(t.Context(), "00001-a"); err == nil {
		t.Fatal("changes were computed without a baseline")
	}
	if changes := d.loaded("00001-a").State.Result.Changes; !strings.Contains(changes.Unknown, "baseline") {
		t.Errorf("after an error the changes are %+v", changes)
	}
	d.must(os.Rename(baseline+".away", baseline))
	if got := d.files("00001-a"); got != "made.txt" {
		t.Errorf("it changed %q", got)
	}
	if changes := d.loaded("00001-a").State.Result.Changes; changes.Unknown != "" || changes.Tries != 0 {
		t.Errorf("in the end the changes are %+v", changes)
	}
}

// The reason decides whether the changes are computed again once there is room.
func TestChangesThatCannotBeStoredAreUnknownForThatReason(t *testing.T) {
	for name, file := range map[string]string{"the changes": "changes.json", "the decisions": decisionsFile} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.died("00001-a", session.Computing, &session.Result{Changes: session.Changes{Unknown: session.NotComputedYet}})
			_, err := d.Repair(t.Context())
			d.must(err)
			full := filepath.Join(d.store.Dir("00001-a"), file)
			d.write(filepath.Join(full, "x"), "") // a folder in place of the file fails like a full disk
			if _, err := d.Changes(t.Context(), "00001-a"); err == nil {
				t.Fatal("they are stored")
			}
			if changes := d.loaded("00001-a").State.Result.Changes; !strings.Contains(changes.Unknown, file) || changes.Tries != 2 {
				t.Errorf("the changes are %+v", changes)
			}
			d.must(os.RemoveAll(full))
			if got := d.files("00001-a"); got != "made.txt" {
				t.Errorf("it changed %q", got)
			}
		})
	}
}

func TestChangesWhoseRecordCannotBeWrittenAreUnknownForThatReason(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "made.txt")
	set, err := d.FinalChanges("00001-a")
	d.must(err)
	record := d.loaded("00001-a")
	record.State.Result = &session.Result{Changes: session.Changes{Unknown: diedComputing, Tries: 2}}
	state := filepath.Join(d.store.Dir("00001-a"), session.StateFile)
	d.must(os.Remove(state))
	d.write(filepath.Join(state, "x"), "") // fails like a full disk
	cause := d.storeComputed(record, set)
	if cause == nil {
		t.Fatal("the record is written")
	}
	d.must(os.RemoveAll(state))
	d.must(d.storeFailure(t.Context(), record, session.Changes{Tries: 1}, cause))
	if result := d.loaded("00001-a").State.Result; result == nil || result.Changed || !strings.Contains(result.Changes.Unknown, session.StateFile) || result.Changes.Tries != 2 {
		t.Errorf("the result is %+v", result)
	}
}

func TestCountersOfACrashedSessionBecomeItsResult(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-a")
	d.must(d.store.Write("00001-a", session.StateFile, session.State{Phase: session.Running, Workspace: ws, Started: session.Now()}))
	d.must(d.store.WriteLive("00001-a", session.Live{Tokens: session.Tokens{Input: 3}, Refused: []session.Refusal{{Target: "x", Times: 2}}, Egress: session.Egress{Allowed: 4, Up: 5}}))
	d.noDocker = errors.New("no Docker here")
	_, err := d.Repair(t.Context())
	d.must(err)
	record, err := d.store.Load("00001-a")
	d.must(err)
	if r := record.State.Result; r == nil || r.Tokens.Input != 3 || len(r.Refused) != 1 || r.Egress != (session.Egress{Allowed: 4, Up: 5}) {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(d.store.Dir("00001-a"), "live.json")); err == nil {
		t.Error("they stand there twice")
	}
}

// In JSON, null means that the value is unknown.
func TestACrashedSessionWithoutRefusalsHasAnEmptyList(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", session.Running, nil)
	_, err := d.Repair(t.Context())
	d.must(err)
	if data, err := json.Marshal(d.loaded("00001-a").State.Result); err != nil || !strings.Contains(string(data), `"refused":[]`) {
		t.Errorf("the result is %s, %v", data, err)
	}
}

// The last stored numbers can be old: on a full disk a supervisor cannot store newer ones,
// and then it may be killed.
func TestTokensAreUnknownAfterASupervisorCrash(t *testing.T) {
	for name, full := range map[string]bool{"written to the end": false, "not written any more": true} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.died("00001-a", session.Running, nil)
			spec := d.loaded("00001-a").Spec
			spec.Network = netguard.Local.String()
			d.must(d.store.Write("00001-a", session.SpecFile, spec))
			d.must(d.store.WriteLive("00001-a", session.Live{Tokens: session.Tokens{Input: 7}, Requests: []session.Request{{}}}))
			if full { // a folder in place of the next file fails like a full disk
				d.must(os.Mkdir(filepath.Join(d.store.Dir("00001-a"), "live.json.next"), 0o700))
				d.write(filepath.Join(d.store.Dir("00001-a"), "live.json.next", "x"), "")
				if d.store.WriteLive("00001-a", session.Live{Tokens: session.Tokens{Input: 9000}}) == nil {
					t.Fatal("they are written")
				}
			}
			if live := d.store.Live("00001-a"); len(live.Requests) != 1 {
				t.Errorf("its questions are lost: %+v", live)
			}
			_, err := d.Repair(t.Context())
			d.must(err)
			record := d.loaded("00001-a")
			brief := summary.Of(record)
			if tokens := record.State.Result.Tokens; tokens.Lost != full || brief.Uncounted != full || (tokens.String() == "tokens unknown") != full {
				t.Errorf("the tokens are %+v", tokens)
			}
		})
	}
}

func TestAnInterruptedVerificationNamesWhatEndedIt(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*fixture) error
		says string
		kind fault.Kind
	}{
		"its supervisor died": {func(d *fixture) error { _, err := d.Repair(t.Context()); return err }, `the session's supervisor died while "make" verified the work`, fault.Internal},
		"the user stopped it": {func(d *fixture) error { _, err := d.Kill(t.Context(), "00001-a", "by the user"); return err }, `stopped at once: by the user, while "make" verified the work`, fault.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.died("00001-a", session.Verifying, &session.Result{Seconds: 12})
			spec := d.loaded("00001-a").Spec
			spec.Verify = "make"
			d.must(d.store.Write("00001-a", session.SpecFile, spec))
			d.must(c.end(d))
			result := d.loaded("00001-a").State.Result
			if result.Fault == nil || result.Fault.Message != c.says || result.Fault.Kind != c.kind.String() || result.Verification.Fault.Message != c.says || result.Seconds != 12 {
				t.Errorf("the session ended as %+v, because of %+v", result, result.Fault)
			}
		})
	}
}

func TestChangesThatWereNotComputedNameWhatEndedTheSession(t *testing.T) {
	const unverified = "not verified, because the changes were not computed"
	for name, c := range map[string]struct {
		phase session.Phase
		end   func(*fixture) error
		says  string
	}{
		"its supervisor died computing":  {session.Computing, func(d *fixture) error { _, err := d.Repair(t.Context()); return err }, diedComputing},
		"the user stopped the computing": {session.Computing, func(d *fixture) error { _, err := d.Kill(t.Context(), "00001-a", "by the user"); return err }, "stopped at once: by the user"},
		"the user stopped it":            {session.Running, func(d *fixture) error { _, err := d.Kill(t.Context(), "00001-a", "by the user"); return err }, "stopped at once: by the user"},
		"its supervisor died":            {session.Running, func(d *fixture) error { _, err := d.Repair(t.Context()); return err }, diedSupervising},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			result := &session.Result{Changes: session.Changes{Unknown: session.NotComputedYet}}
			if c.phase == session.Running {
				result = nil
			}
			d.died("00001-a", c.phase, result)
			spec := d.loaded("00001-a").Spec
			spec.Verify = "make"
			d.must(d.store.Write("00001-a", session.SpecFile, spec))
			d.must(c.end(d))
			if result := d.loaded("00001-a").State.Result; result.Changes.Unknown != c.says || !slices.Equal(result.Notes, []string{unverified}) {
				t.Errorf("it ended with %+v", result)
			}
		})
	}
}
