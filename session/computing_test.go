package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/audit"
)

// died is a session whose agent wrote a file and ended, and whose supervisor was killed in
// the given phase.
func (d *fixture) died(id ID, phase Phase, result *Result) {
	d.t.Helper()
	ws := d.prepared(id)
	d.write(filepath.Join(ws.Path, "made.txt"), "made\n")
	d.must(d.store.write(id, stateFile, State{Phase: phase, Workspace: ws, Started: now(), Result: result}))
}

func (d *fixture) loaded(id ID) *Session {
	d.t.Helper()
	session, err := d.store.Load(id)
	d.must(err)
	return &session
}

// A process that the kernel killed for its memory would be killed again. So the end of the
// agent is recorded before its changes are computed, and the repair does not compute them.
func TestTheEndIsKeptWhenComputingChangesIsInterrupted(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", Computing, &Result{ExitCode: 3, Seconds: 12, Tokens: Tokens{Input: 7}, Changes: Changes{Unknown: NotComputedYet}})
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 {
		t.Fatalf("repaired is %v", repaired)
	}
	session := d.loaded("00001-a")
	result := session.State.Result
	if session.State.Phase != Ended || result.ExitCode != 3 || result.Seconds != 12 || result.Tokens.Input != 7 || result.Fault != nil {
		t.Errorf("the session ended as %+v", result)
	}
	if !strings.Contains(result.Changes.Unknown, "out of memory") || session.UnknownChanges() == nil {
		t.Errorf("its changes are %+v", result.Changes)
	}
	if _, err := d.FinalChanges("00001-a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repair computed the changes: %v", err)
	}
	brief := session.Summary()
	if brief.Status() != StatusToReview || !brief.Open() || !brief.Actions().Review {
		t.Errorf("the list shows it as %s", brief.Status())
	}

	if got := d.files("00001-a"); got != "made.txt" {
		t.Errorf("it changed %q", got)
	}
	session = d.loaded("00001-a")
	if session.UnknownChanges() != nil || !session.State.Result.Changed || session.State.Result.Changes.Files != 1 || session.State.Result.ExitCode != 3 {
		t.Errorf("afterwards it stands as %+v", session.State.Result)
	}
	if types, _ := d.logged("00001-a"); types[len(types)-1] != audit.ChangesComputed {
		t.Errorf("logged is %v", types)
	}
}

func TestRepairDoesNotComputeChanges(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", Running, nil)
	_, err := d.Repair(t.Context())
	d.must(err)
	session := d.loaded("00001-a")
	if session.State.Result.Fault == nil || session.UnknownChanges() == nil {
		t.Errorf("the session ended as %+v", session.State.Result)
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
	d.died("00001-a", Computing, &Result{Changes: Changes{Unknown: NotComputedYet}})
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
