package quota

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"aibox/api/store"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// reaching is a sandbox that can send to hosts and use a model, within these limits.
func reaching(upload amount.MiB, tokens int) session.Launch {
	return sandboxOf("a", config.Run{Network: "allowlist", Inference: "http://model.example", EgressUpload: upload, MaxTokens: tokens})
}

// start starts a sandbox, and fails the test unless its limits are then these.
func start(t *testing.T, e *Enforcer, m *machine, l session.Launch, upload amount.MiB, tokens int) {
	t.Helper()
	id, err := e.Limit(m.launch)(t.Context(), l, func(session.Step) {})
	if err != nil {
		t.Errorf("it is refused: %v", err)
		return
	}
	if spec := m.find(id).Spec; spec.EgressUpload != upload || spec.MaxTokens != tokens {
		t.Errorf("it can send %d MiB and use %d tokens, not %d and %d", spec.EgressUpload, spec.MaxTokens, upload, tokens)
	}
}

func refused(t *testing.T, e *Enforcer, m *machine, l session.Launch) {
	t.Helper()
	if _, err := e.Limit(m.launch)(t.Context(), l, func(session.Step) {}); fault.KindOf(err) != fault.Limit {
		t.Errorf("it is not refused for the limit: %v", err)
	}
}

func TestASandboxReservesItsLimitOfTheDaysQuota(t *testing.T) {
	e, m := enforcer(t, store.Quota{UploadBytes: 10 << 20, Tokens: 1000})
	start(t, e, m, reaching(6, 600), 6, 600)
	start(t, e, m, reaching(6, 600), 4, 400) // the rest
	refused(t, e, m, reaching(1, 1))
	start(t, e, m, sandboxOf("a", config.Run{Network: "none"}), 0, 0) // it can send nothing
	if used, err := e.Usage(t.Context(), "a"); used.UploadBytes != 10<<20 || used.Tokens != 1000 || err != nil {
		t.Errorf("in use are %+v (%v)", used, err)
	}
	m.spend("00000-sandbox", 2<<20, 100)
	refused(t, e, m, reaching(1, 1)) // the rest of its limits is still reserved
	m.end("00000-sandbox")
	start(t, e, m, reaching(0, 0), 2, 250) // half of what the first one has not used
	m.spend("00001-sandbox", 4<<20, 400)
	m.end("00001-sandbox")
	m.end("00003-sandbox")
	start(t, e, m, reaching(100, 0), 4, 250)
	start(t, e, m, sandboxOf("a", config.Run{Network: "local", Inference: "http://model.example"}), 0, 125) // it only has a model
}

func TestSandboxesWithoutALimitShareTheDaysQuota(t *testing.T) {
	e, m := enforcer(t, store.Quota{Sandboxes: 4, UploadBytes: 10 << 20, Tokens: 1000})
	for _, part := range []struct {
		upload amount.MiB
		tokens int
	}{{2, 250}, {2, 250}, {3, 250}, {3, 250}} {
		start(t, e, m, reaching(0, 0), part.upload, part.tokens)
	}
}

func TestASandboxWithoutALimitFromBeforeTheQuotaReservesAllOfIt(t *testing.T) {
	e, m := enforcer(t, store.Quota{})
	start(t, e, m, reaching(0, 0), 0, 0)
	if _, err := e.Store.ChangeQuota(t.Context(), "a", func(q *store.Quota) { *q = store.Quota{UploadBytes: 10 << 20} }); err != nil {
		t.Fatal(err)
	}
	refused(t, e, m, reaching(1, 0))
	m.end("00000-sandbox")
	start(t, e, m, reaching(1, 0), 1, 0)
}

// Sandboxes that start at the same time, use all that they may, and end in any order.
func TestADaysQuotaIsNotExceededByManySandboxes(t *testing.T) {
	const upload, tokens = 100, 10_000
	e, m := enforcer(t, store.Quota{UploadBytes: upload << 20, Tokens: tokens})
	launch := e.Limit(m.launch)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 10 {
				id, err := launch(context.Background(), reaching(amount.MiB(rand.IntN(30)), rand.IntN(3000)), func(session.Step) {})
				if fault.KindOf(err) == fault.Limit {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				spec := m.find(id).Spec
				m.spend(id, spec.EgressUpload.Bytes()/int64(1+rand.IntN(3)), spec.MaxTokens/(1+rand.IntN(3)))
				if rand.IntN(2) == 0 {
					m.end(id)
				}
			}
		})
	}
	wait.Wait()
	if err := e.Count(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	up, used, err := e.Store.UsageToday(t.Context(), "a", time.Now())
	if up > upload<<20 || used > tokens || up == 0 || used == 0 || err != nil {
		t.Errorf("they sent %d bytes and used %d tokens (%v)", up, used, err)
	}
}

func TestAReservationEndsIfTheStartFails(t *testing.T) {
	e, m := enforcer(t, store.Quota{UploadBytes: 10 << 20})
	broken := fault.New(fault.Environment, "no daemon")
	failing := e.Limit(func(context.Context, session.Launch, func(session.Step)) (session.ID, error) {
		refused(t, e, m, reaching(1, 0)) // all is reserved while it starts
		return "", broken
	})
	if _, err := failing(t.Context(), reaching(10, 0), func(session.Step) {}); fault.KindOf(err) != fault.Environment {
		t.Fatal(err)
	}
	start(t, e, m, reaching(10, 0), 10, 0)
}

func TestTheUsageOfAnEndedSessionCountsUntilTheDayEnds(t *testing.T) {
	e, m := enforcer(t, store.Quota{Tokens: 1000})
	ended := session.Session{Spec: session.Spec{ID: "00001-codex"}, State: session.State{Phase: session.Ended, Ended: time.Now()}}
	e.Agents = func(session.Tenant) ([]session.Session, error) { return []session.Session{ended}, nil }
	m.spend("00001-codex", 0, 700)
	if err := e.Count(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	e.Agents = nil // its record was deleted
	if used, err := e.Usage(t.Context(), "a"); used.Tokens != 700 || err != nil {
		t.Errorf("in use are %+v (%v)", used, err)
	}
	old := session.Session{Spec: session.Spec{ID: "00002-codex"}, State: session.State{Phase: session.Ended, Ended: time.Now().AddDate(0, 0, -1)}}
	e.Agents = func(session.Tenant) ([]session.Session, error) { return []session.Session{old}, nil }
	m.spend("00002-codex", 0, 100)
	if used, err := e.Usage(t.Context(), "a"); used.Tokens != 700 || err != nil {
		t.Errorf("with one of yesterday, in use are %+v (%v)", used, err)
	}
}
