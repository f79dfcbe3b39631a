package auditlog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/audit"
	"aibox/session"
	"aibox/session/sessiontest"
)

// recordingCommand is an audit command that records the ids of events in a file; got
// returns them.
func recordingCommand(t *testing.T) (command Command, got func() []string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "record")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec cat >>"+dir+"/events\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return NewCommand(program), func() (ids []string) {
		data, _ := os.ReadFile(dir + "/events")
		for line := range strings.Lines(string(data)) {
			_, rest, _ := strings.Cut(line, `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, id)
		}
		return ids
	}
}

// killed is a session whose supervisor was killed after it had delivered one of three
// events.
func killed(t *testing.T, store session.Store) session.ID {
	t.Helper()
	id := past(t, store)
	log, err := audit.Open(store.AuditPath(id))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := log.Append(audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(deliveredPath(store.AuditPath(id)), encodeCursor(1), 0o600); err != nil {
		t.Fatal(err)
	}
	return id
}

func numbered(id session.ID, numbers ...int) (all []string) {
	for _, n := range numbers {
		all = append(all, session.EventID{Session: id, Number: n}.String())
	}
	return all
}

func TestADecisionDeliversUndeliveredEvents(t *testing.T) {
	command, got := recordingCommand(t)
	store := sessiontest.Store(t)
	id := killed(t, store)
	if err := command.Append(store, id, audit.ChangesAccepted, nil); err != nil {
		t.Fatal(err)
	}
	if want := numbered(id, 1, 2, 3); !slices.Equal(got(), want) {
		t.Errorf("%q, want %q", got(), want)
	}
}

func TestEventsOfARemovedSessionAreDeliveredFromTheArchive(t *testing.T) {
	command, got := recordingCommand(t)
	store := sessiontest.Store(t)
	id := killed(t, store)
	held, err := openDelivery(t.Context(), Log{Session: id, Path: store.AuditPath(id)}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()                                                          // the command does not wait
	if err := RemoveKeepingLog(ctx, store, id, command); err != nil { // while another process delivers the log
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := DeliverAll(t.Context(), store, func() Command { return command }); err != nil {
		t.Error(err)
	}
	if want := numbered(id, 1, 2, 3); !slices.Equal(got(), want) {
		t.Errorf("%q, want %q", got(), want)
	}
	if _, err := os.Lstat(deliveredPath(archivedPath(store, id))); err == nil {
		t.Error("the archive still has the file of the delivery")
	}
}

func TestAFailingDeliveryIsReportedAndNotRepeated(t *testing.T) {
	store := sessiontest.Store(t)
	command := func() Command { return NewCommand("false") }
	id := killed(t, store)
	if err := DeliverAll(t.Context(), store, command); err == nil || !strings.Contains(err.Error(), string(id)+": the audit command (setting audit-command) failed: event 1: ") {
		t.Error(err)
	}
	if err := DeliverAll(t.Context(), store, command); err != nil {
		t.Error(err)
	}
}

func TestADamagedOrLateCursorRepeatsEventsAndSkipsNone(t *testing.T) {
	for content, first := range map[string]int{"": 0, "x\n": 0, string(encodeCursor(99)): 2, string(encodeCursor(2)): 2} {
		command, got := recordingCommand(t)
		store := sessiontest.Store(t)
		id := killed(t, store)
		log := Log{Session: id, Path: store.AuditPath(id)}
		if err := os.WriteFile(deliveredPath(log.Path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := command.Append(store, id, audit.ChangesAccepted, nil); err != nil {
			t.Fatal(err)
		}
		want := numbered(id, 0, 1, 2, 3)[first:]
		if content == "" { // the log was never delivered, so the decision is the first
			want = numbered(id, 3)
		}
		if !slices.Equal(got(), want) {
			t.Errorf("%q: %q, want %q", content, got(), want)
		}
	}
}
