package auditlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
)

// past is an ended session in which accesses to the names were refused.
func past(t *testing.T, store session.Store, names ...string) session.ID {
	t.Helper()
	id, err := store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(store.AuditPath(id))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := log.Append(audit.AccessRefused, session.Refusal{What: "name", Target: name, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, store, id, session.State{Phase: session.Ended, Result: &session.Result{}})
	return id
}

func TestAllowedAndRefusedAccessesAreDistinguished(t *testing.T) {
	event := func(kind audit.Type, data any) audit.Event {
		t.Helper()
		log, err := audit.Open(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		e, err := log.Append(kind, data)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	call := func(outcome Outcome, text string) audit.Event {
		return event(audit.ModelAnswered, ModelCall{Method: "POST", Path: "/v1/x", Status: 200, Error: text, Outcome: outcome})
	}
	for _, test := range []struct {
		name    string
		event   audit.Event
		allowed bool
	}{
		{"an answer", call(Answered, ""), true},
		{"a server's no", call(Refused, ""), true},
		{"a server that is not there", call(Broken, "nothing answers"), true},
		{"the gateway's no", call(Refused, "no such path"), false},
		{"the gateway's later", call(Busy, "more than 32"), false},
		{"a name", event(audit.DNSRefused, audit.Query{Name: "x", Record: "A", Reason: "no"}), false},
		{"a name in an older log", event(audit.AccessRefused, session.Refusal{What: "name", Target: "x", Reason: "no"}), false},
		{"a request to the proxy", event(audit.EgressAllowed, audit.Egress{Host: "x", Port: 443}), true},
		{"the proxy's no", event(audit.EgressRefused, audit.Egress{Host: "x", Port: 443, Reason: "no"}), false},
	} {
		a, ok := AccessOf("0a-x", test.event)
		if !ok || a.Allowed != test.allowed || a.Times != 1 || a.Session != "0a-x" || a.Time.IsZero() {
			t.Errorf("%s: %+v, %v", test.name, a, ok)
		}
		if a.What == AskedModel && a.Target != "POST /v1/x" {
			t.Errorf("%s: %+v", test.name, a)
		}
	}
	if _, ok := AccessOf("0a-x", event(audit.StopRequested, nil)); ok {
		t.Error("a stop is an access")
	}
	if _, ok := AccessOf("0a-x", event(audit.AccessRefused, []int{1})); ok {
		t.Error("nonsense is an access")
	}
}

func TestTheTrafficHistoryIsLimited(t *testing.T) {
	store := sessiontest.Store(t)
	logs := New(client.New(store), store)
	past(t, store, "old.example")
	past(t, store, "new.example", "newer.example")
	enough := errors.New("enough")
	var targets []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := logs.WatchTraffic(ctx, 1, func(n Traffic) error {
		if n.Live != nil {
			return enough // the end of a session
		}
		targets = append(targets, n.Access.Target)
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(targets, []string{"new.example", "newer.example"}) {
		t.Errorf("%v, %v", targets, err)
	}
	targets = nil
	err = logs.WatchTraffic(ctx, 1, func(n Traffic) error {
		if n.Live != nil {
			cancel()
			return nil
		}
		targets = append(targets, n.Access.Target)
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(targets) != 2 {
		t.Errorf("%v, %v", targets, err)
	}
}

// A session of a newer version, or one with a damaged record, ended the view of all sessions.
func TestASessionWithAnUnreadableRecordEndsNoViewOfAllSessions(t *testing.T) {
	for name, state := range map[string]string{"of a newer version": `{"phase": "ended", "format": 99}`, "damaged": `{"phase": "ended", "result": 1}`} {
		t.Run(name, func(t *testing.T) {
			store := sessiontest.Store(t)
			logs := New(client.New(store), store)
			read := past(t, store, "read.example")
			unreadable, last := past(t, store, "unreadable.example"), past(t, store, "last.example")
			indented := new(bytes.Buffer)
			if err := errors.Join(json.Indent(indented, []byte(state), "", "  "), os.WriteFile(filepath.Join(store.Dir(unreadable), session.StateFile), append(indented.Bytes(), '\n'), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Load(unreadable); err == nil {
				t.Fatal("it can be read")
			}
			enough := errors.New("enough")
			err := logs.WatchTraffic(t.Context(), 10, func(n Traffic) error {
				if n.Session == read && n.Live != nil {
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Errorf("the traffic ends with %v", err)
			}
			held, err := store.Lock(unreadable) // as if it ran
			if err != nil {
				t.Fatal(err)
			}
			err = logs.FollowAudit(t.Context(), nil, func(session.ID) bool { return true }, func(e Event) error {
				switch {
				case e.Session == last: // visited after the other is followed
					return errors.Join((Command{}).Append(store, read, audit.StopRequested, nil), held.Close())
				case e.Type == audit.StopRequested:
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Errorf("the log ends with %v", err)
			}
		})
	}
}

// Each denied question is a refused connection, whatever ended it.
func TestTheUsersRefusalIsDenied(t *testing.T) {
	request := session.Request{What: session.RequestAccess}
	ends := map[string]bool{"none": true, "settled": false, "no": true} // "no" in logs of earlier versions
	for _, answer := range request.Answers() {
		ends[string(answer)] = !answer.Allows()
	}
	for answer, want := range ends {
		data, err := json.Marshal(audit.AccessAnswer{Request: 1, Host: "example.org", Port: 443, Answer: answer})
		if err != nil {
			t.Fatal(err)
		}
		e := Event{Event: audit.Event{Type: audit.AccessAnswered, Data: data}}
		if e.Denied() != want || e.Line().Denied != want {
			t.Errorf("the answer %q is denied: %v", answer, e.Denied())
		}
	}
}
