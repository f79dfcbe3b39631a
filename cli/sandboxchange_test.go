package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session/snapshot"
)

func TestOnlyDestroyedSandboxesArePrinted(t *testing.T) {
	a, out, _ := testApp(t)
	serveFakeAPI(t)
	err := a.execute(t.Context(), strings.Fields("sandbox rm 0dq4f stuck 0dq4g"))
	if err == nil || !strings.Contains(err.Error(), "it does not end") || out.String() != "0dq4f\n0dq4g\n" {
		t.Errorf("it prints %q, and fails with %v", out, err)
	}
}

// The new sandbox of a fork runs even if the snapshot in between remains.
func TestAForkPrintsTheNewSandboxWhateverElseFails(t *testing.T) {
	a, out, _ := testApp(t)
	serveFakeAPI(t) // it cannot delete the snapshot
	if err := a.execute(t.Context(), strings.Fields("sandbox fork 0dq4f")); err == nil || out.String() != "0dq4h\n" {
		t.Errorf("it prints %q, and fails with %v", out, err)
	}
}

func TestTheParentOfSandboxesCanBeAPrefix(t *testing.T) {
	a, _, _ := testApp(t)
	api := serveFakeAPI(t)
	storedSession(t, "0dq4f-claude", time.Now())
	if err := a.execute(t.Context(), strings.Fields("sandbox ls --parent 0dq4")); err != nil || api.listed.GetParentId() != "0dq4f-claude" {
		t.Errorf("requested are %v: %v", api.listed, err)
	}
	b, _, _ := testAppAt(t)
	if err := b.execute(t.Context(), strings.Fields("sandbox ls --parent 0dq5")); err == nil {
		t.Error("an unknown parent has no error")
	}
}

func TestAPortIsOpenedInTheBrowserWithJSON(t *testing.T) {
	a, out, errOut := testApp(t)
	serveFakeAPI(t)
	programs := t.TempDir()
	opened := filepath.Join(programs, "opened")
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	if code := a.perform(t.Context(), strings.Fields("sandbox open 0dq4f 3000 --json --browser")); code != 0 || !json.Valid(out.Bytes()) {
		t.Fatalf("it exits with %d and prints %q: %s", code, out, errOut)
	}
	if got, err := os.ReadFile(opened); string(got) != "http://127.0.0.1:8800/signed\n" {
		t.Errorf("the browser got %q, %v", got, err)
	}
}

func TestASnapshotThatIsNotListedIsDeletedByItsWholeID(t *testing.T) {
	a, out, _ := testApp(t)
	serveFakeAPI(t)
	id := snapshot.NewID()
	if err := a.execute(t.Context(), []string{"sandbox", "snapshots", "rm", id}); err != nil || out.String() != id+"\n" {
		t.Errorf("it printed %q, %v", out, err)
	}
}

func TestEverySnapshotThatCanBeDeletedIs(t *testing.T) {
	a, out, _ := testApp(t)
	serveFakeAPI(t)
	err := a.execute(t.Context(), []string{"sandbox", "snapshots", "rm", "nothing", "7d", "neither"})
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "neither") || out.String() != "snap-7d2k\n" {
		t.Errorf("it printed %q, %v", out, err)
	}
}
