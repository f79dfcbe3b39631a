package manager

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/sessiontest"
)

func TestARemovedSessionKeepsItsAuditLog(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.ended("00002-b", "two.txt")
	_, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}})
	d.must(err)
	d.must(d.Remove(t.Context(), "00001-a", false))
	logs, err := d.AuditLogs("00001")
	d.must(err)
	if len(logs) != 1 || !logs[0].Removed || logs[0].Session != "00001-a" {
		t.Fatalf("%+v", logs)
	}
	var ids []string
	d.must(d.AuditEvents(logs, func(e auditlog.Event) error {
		ids = append(ids, e.ID().String()+" "+string(e.Type))
		return nil
	}))
	if got := strings.Join(ids, ", "); got != "00001/0 accept.begun, 00001/1 changes.accepted, 00001/2 session.removed" {
		t.Error(got)
	}
	if v, err := d.VerifyAudit(logs[0]); err != nil || len(v.Damage) != 0 || v.Events != 3 || v.EndUnknown {
		t.Errorf("%+v, %v", v, err)
	}
	d.must(os.Truncate(logs[0].Path, 10))
	if v, err := d.VerifyAudit(logs[0]); err != nil || len(v.Damage) != 1 {
		t.Errorf("once it is cut: %+v, %v", v, err)
	}
	if _, err := d.AuditLogs("0000"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an ambiguous prefix: %v", err)
	}
}

func TestASessionWithADamagedLogOrOnAFullDiskCanBeRemoved(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.must(d.append("00001-a", audit.StopRequested, nil))
	damaged, err := os.ReadFile(d.store.AuditPath("00001-a"))
	d.must(err)
	damaged[9] ^= 1
	d.must(os.WriteFile(d.store.AuditPath("00001-a"), damaged, 0o600))
	d.must(d.Remove(t.Context(), "00001-a", true))
	logs, err := d.AuditLogs("00001-a")
	d.must(err)
	if kept, err := os.ReadFile(logs[0].Path); err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestRepairDeliversUndeliveredEvents(t *testing.T) {
	received := filepath.Join(t.TempDir(), "events")
	s := newManager(Deps{Settings: func() Settings { return Settings{AuditCommand: auditlog.NewCommand("tee -a " + received)} }}, sessiontest.Store(t))
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, s.store, id, session.State{Phase: session.Ended, Result: &session.Result{}})
	for range 3 {
		if err := (auditlog.Command{}).Append(s.store, id, audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Its supervisor was killed after it had delivered the first event.
	delivered := filepath.Join(s.store.Dir(id), "audit.delivered")
	if err := os.WriteFile(delivered, []byte("1         \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second repair has nothing to do
		_, _ = s.Repair(t.Context()) // returns an error because there is no Docker
	}
	var got []string
	data, _ := os.ReadFile(received)
	for line := range strings.Lines(string(data)) {
		var event auditlog.Line
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		got = append(got, event.ID)
	}
	if want := []string{session.EventID{Session: id, Number: 1}.String(), session.EventID{Session: id, Number: 2}.String()}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
