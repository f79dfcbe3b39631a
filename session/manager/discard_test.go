package manager

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/review/recovery"
	"aibox/session"
)

// logged are the events of a session, by type, in order.
func (d *fixture) logged(id session.ID) (types []audit.Type, data map[audit.Type]json.RawMessage) {
	d.t.Helper()
	data = map[audit.Type]json.RawMessage{}
	d.must(audit.Read(d.store.AuditPath(id), func(e audit.Event) error {
		types, data[e.Type] = append(types, e.Type), e.Data
		return nil
	}))
	return types, data
}

// An agent that left thousands of files with long names that git cannot store made the
// event of a discard larger than the maximum: the event was lost, and so was the workspace.
func TestADiscardOfManyLongNamesIsLogged(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	for i := range 5000 {
		name := fmt.Sprintf("%0200d.pipe", i)
		d.must(unix.Mkfifo(filepath.Join(ws.Path, name), 0o600))
	}
	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	if len(saved.NotKept) == 0 {
		t.Fatal("nothing is said to be lost")
	}
	types, data := d.logged("00001-a")
	if !slices.Equal(types, []audit.Type{audit.DiscardBegun, audit.ChangesDiscarded}) {
		t.Fatalf("logged is %v", types)
	}
	var event struct {
		Ref     string `json:"ref"`
		Files   int    `json:"files"`
		NotKept int    `json:"not_kept"`
	}
	d.must(json.Unmarshal(data[audit.ChangesDiscarded], &event))
	if event.Ref != saved.Ref || event.Files != 1 || event.NotKept != len(saved.NotKept) {
		t.Errorf("the event is %s", data[audit.ChangesDiscarded])
	}
}

// A step that cannot be logged does not happen.
func TestADiscardThatCannotBeLoggedRemovesNothing(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.must(os.WriteFile(d.store.AuditPath("00001-a"), []byte("no event\n"), 0o600))
	if _, err := d.Discard(t.Context(), "00001-a"); err == nil {
		t.Fatal("it was discarded")
	}
	if _, err := d.Accept(t.Context(), "00001-a", everything); err == nil {
		t.Fatal("it was accepted")
	}
	if gone, err := ws.Gone(); gone || err != nil {
		t.Errorf("the workspace is gone: %v, %v", gone, err)
	}
	if refs := d.git("branch", "--list", "aibox*"); refs != "" {
		t.Errorf("a branch was made: %s", refs)
	}
	if got := d.saved("00001-a"); got != "" {
		t.Errorf("saved is %q", got)
	}
}

// If a discard dies after it removed the workspace and before it is logged, the next one
// completes it, with the work that the first has saved.
func TestAnInterruptedDiscardIsFinishedByTheNext(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.write(filepath.Join(ws.Path, "later.txt"), "written after the end\n")
	record, err := d.store.Load("00001-a")
	d.must(err)
	d.must(d.logBegin(&record, audit.DiscardBegun, map[string]any{}))
	first, err := d.saveAndRemove(t.Context(), &record, recovery.Discarded)
	d.must(err) // the first discard dies here

	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	if saved.Ref != first.Ref || saved.Files != 2 {
		t.Errorf("the second saved %s with %d files, the first %s", saved.Ref, saved.Files, first.Ref)
	}
	if types, _ := d.logged("00001-a"); !slices.Contains(types, audit.ChangesDiscarded) {
		t.Errorf("logged is %v", types)
	}
	if _, err := d.Discard(t.Context(), "00001-a"); err == nil || !strings.Contains(err.Error(), "already discarded") {
		t.Errorf("a third discard gives %v", err)
	}
	if got := d.saved("00001-a"); got != "1 discarded 00001-a" {
		t.Errorf("saved is %q", got)
	}
}
