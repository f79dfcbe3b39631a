package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/app/doctor"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/stream"

	tea "charm.land/bubbletea/v2"
)

// scene is the traffic of two sessions.
type scene struct {
	traffic []auditlog.Traffic
	locks   doctor.Guard
	err     error
	changes []string // of policies
	fails   error    // of the next change
}

func (s *scene) WatchTraffic(_ context.Context, _ int, visit func(auditlog.Traffic) error) error {
	for _, n := range s.traffic {
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) ChangePolicy(_ context.Context, id session.ID, change session.PolicyChange) (session.PolicyChanged, error) {
	s.changes = append(s.changes, fmt.Sprintf("%s +%s -%s", id, change.Allow, change.Deny))
	return session.PolicyChanged{Closed: len(change.Deny)}, s.fails
}

func (s *scene) Locks(context.Context) (doctor.Guard, error) { return s.locks, s.err }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// asked adds an access, seconds after noon.
func (s *scene) asked(after int, a auditlog.Access) {
	a.Time, a.Times = noon.Add(time.Duration(after)*time.Second), 1
	s.traffic = append(s.traffic, auditlog.Traffic{Session: a.Session, Access: &a})
}

func busy() *scene {
	s := &scene{locks: doctor.Guard{Up: true, Bridges: 2}}
	s.asked(60, auditlog.Access{Session: "0bbbb-claude", What: "name", Target: "late.example", Why: "outside names are not resolved"})
	s.asked(61, auditlog.Access{Session: "0bbbb-claude", Allowed: true, What: "model", Target: "POST /v1/messages", Call: auditlog.ModelCall{Model: "big-model", Status: 200, Input: 1234, Output: 56, Millis: 900}})
	for i := range 30 {
		s.asked(i, auditlog.Access{Session: "0aaaa-codex", What: "tcp", Target: fmt.Sprintf("192.0.2.%d:443", i), Why: "the sandbox has no route out"})
	}
	s.traffic = append(s.traffic, auditlog.Traffic{Session: "0aaaa-codex", Live: &session.Live{Refused: []session.Refusal{{What: "tcp", Target: "192.0.2.29:443", Reason: "the sandbox has no route out", Times: 12}}}})
	return s
}

func newUser(t testing.TB, s *scene, only session.ID, width, height int) *uitest.User {
	m := New(t.Context(), s, s, only)
	m.after = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	passed := noon
	m.clock = func() time.Time { passed = passed.Add(time.Second); return passed }
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p
}

func TestRequestsOfEarlierDaysHaveTheirDate(t *testing.T) {
	s := &scene{locks: doctor.Guard{Up: true}}
	s.asked(-13*60*60, auditlog.Access{Session: "0aaaa-codex", What: "name", Target: "yesterday.example"})
	s.asked(1, auditlog.Access{Session: "0aaaa-codex", What: "name", Target: "today.example"})
	for _, width := range []int{60, 120} {
		p := newUser(t, s, "", width, 20)
		p.Sees("  2026-01-01 23:00 0aaaa-codex ")
		p.Sees("▸ 12:00:01         0aaaa-codex ")
		p.Sees("✗ name   yesterday")
		p.Fits("two days")
	}
}

func TestRequestsOfAllSessionsAreShownLatestLast(t *testing.T) {
	p := newUser(t, busy(), "", 120, 40)
	for _, want := range []string{
		"✓ 2 networks locked", "1 allowed · 42 refused", "0aaaa-codex", "✗ tcp", "192.0.2.29:443 ×12", "the sandbox has no route out",
		"0bbbb-claude", "✓ model", "big-model", "200 0.9s 1234 in 56 out", "allowed model big-model: 200",
	} {
		p.Sees(want)
	}
	view := p.View()
	if strings.Index(view, "192.0.2.5:443") > strings.Index(view, "late.example") {
		t.Errorf("the order is wrong:\n%s", view)
	}
}

func TestRowsAreFilteredBySessionByRefusalAndByWords(t *testing.T) {
	p := newUser(t, busy(), "", 120, 40)
	p.Press("r")
	p.DoesNotSee("big-model")
	p.Press("r", "s") // the last one's session
	p.Sees("big-model")
	p.DoesNotSee("192.0.2.1:")
	p.Press("s", "/")
	p.Type("192.0.2.7")
	if !p.Page.Typing() {
		t.Error("keys are not text")
	}
	p.Sees(" 1/1 · ")
	p.Press("enter")
	p.Sees("/192.0.2.7 1/1 · ")
	p.Sees("192.0.2.7:443")
	p.DoesNotSee("192.0.2.8:443")
	p.Press("esc")
	p.Sees("192.0.2.8:443")
	p.Press("/")
	p.Type("192.0.2.1")
	p.Sees(" 11/11 · ")
	p.Press("enter", "up")
	p.Sees(" 10/11 · ")
	p.Press("esc", "/")
	p.Type("nothing like it")
	p.Sees("no access matches the filter")
	p.Sees(" 0/0 · ")
	p.Press("esc", "esc")
	if len(p.Asked) != 1 || p.Asked[0] != (page.Close{}) {
		t.Errorf("asks for %v", p.Asked)
	}
	p = newUser(t, busy(), "0bbbb-claude", 120, 40)
	p.Sees("late.example")
	p.DoesNotSee("192.0.2.1:")
}

func TestTheSelectedAccessStaysSelected(t *testing.T) {
	s := busy()
	p := newUser(t, s, "", 80, 24)
	m := p.Page.(*Model)
	p.Press("up", "up", "up")
	at, _ := m.current()
	late := auditlog.Access{Session: "0cccc-x", Time: noon.Add(time.Hour), What: "name", Target: "new.example", Times: 1}
	early := auditlog.Access{Session: "0cccc-x", Time: noon, What: "name", Target: "old.example", Times: 1}
	p.Send(stream.Batch[auditlog.Traffic]{All: []auditlog.Traffic{{Access: &late}, {Access: &early}}})
	if now, _ := m.current(); !sameAccess(now, at) {
		t.Errorf("at %+v, not %+v", now, at)
	}
	p.DoesNotSee("new.example")
	p.Press("G")
	p.Sees("new.example")
	later := late
	later.Target, later.Time = "newer.example", noon.Add(2*time.Hour)
	p.Send(stream.Batch[auditlog.Traffic]{All: []auditlog.Traffic{{Access: &later}}})
	p.Sees("newer.example")
}

func TestTheLinksToOtherScreensOpenThem(t *testing.T) {
	down := busy()
	down.locks = doctor.Guard{Drift: []string{"the chain \x1b]0;x\x07 is missing"}}
	for _, test := range []struct {
		scene *scene
		key   string
		want  page.Request
	}{
		{busy(), "enter", page.Session{ID: "0bbbb-claude"}},
		{busy(), "q", page.Close{}},
		{busy(), "U", nil},
		{down, "U", page.Command{Args: []string{"netguard", "up"}}},
	} {
		p := newUser(t, test.scene, "", 120, 40)
		p.Send(recheck{})
		p.Press(test.key)
		if test.want == nil && len(p.Asked) == 0 {
			continue
		}
		if len(p.Asked) != 1 || fmt.Sprintf("%#v", p.Asked[0]) != fmt.Sprintf("%#v", test.want) {
			t.Errorf("%s asks for %#v", test.key, p.Asked)
		}
	}
	p := newUser(t, down, "", 120, 40)
	p.Send(recheck{})
	p.Sees(`▲ locks not in place: the chain \x1b]0;x\x07 is missing`)
	locksErr := busy()
	locksErr.err = errors.New("there is no Docker")
	p = newUser(t, locksErr, "", 120, 40)
	p.Sees("locks unknown: there is no Docker")
	locksErr.err, locksErr.locks.Up = nil, true
	p.Press("u")
	p.Sees("✓ 2 networks locked")
}

// A network that a session has just made is without its locks for a moment.
func TestLocksThatAreNotInPlaceAreCheckedAgain(t *testing.T) {
	s := busy()
	s.locks = doctor.Guard{Drift: []string{"the bridge has no rules"}}
	m := New(t.Context(), s, s, "")
	var waiting []tea.Msg
	m.after = func(_ time.Duration, msg tea.Msg) tea.Cmd {
		waiting = append(waiting, msg)
		return nil
	}
	p := uitest.New(t, m, 120, 40)
	p.Run(m.Init())
	p.Sees("checking the locks…")
	p.Press("u") // checks at once, beside the check that waits
	if len(waiting) != 1 {
		t.Fatalf("%d checks wait", len(waiting))
	}
	p.Sees("checking the locks…")
	p.Send(waiting[0])
	p.Sees("locks not in place: the bridge has no rules")
	p.Press("u")
	p.Sees("locks not in place: the bridge has no rules")
	s.locks = doctor.Guard{Up: true, Bridges: 3}
	p.Send(waiting[1])
	p.Sees("✓ 3 networks locked")
	if len(waiting) != 2 {
		t.Error("locks in place are checked again")
	}
}

func TestAClickGoesToARowAndASecondOneOpensItsSession(t *testing.T) {
	p := newUser(t, busy(), "", 120, 40)
	p.ClickOn("192.0.2.3:443")
	if a, _ := p.Page.(*Model).current(); a.Target != "192.0.2.3:443" || len(p.Asked) != 0 {
		t.Errorf("at %+v, asks for %v", a, p.Asked)
	}
	p.ClickOn("192.0.2.3:443")
	if len(p.Asked) != 1 || p.Asked[0] != (page.Session{ID: "0aaaa-codex"}) {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestNothingOfASandboxReachesTheTerminalRaw(t *testing.T) {
	s := busy()
	s.asked(99, auditlog.Access{Session: "0aaaa-codex", What: "na\x1bme", Target: "\x1b]52;c;CANARY\x07", Why: "\u202e"})
	p := newUser(t, s, "", 120, 40)
	for _, bad := range []string{"\x1b]", "\x07", "\u202e"} {
		if strings.Contains(p.Page.View(), bad) {
			t.Errorf("%q is in the view", bad)
		}
	}
}

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newUser(t, busy(), "", size[0], size[1])
		p.Show("all")
		p.Press("up", "r")
		p.Show("only refused")
		p.Press("s")
		p.Show("only one session")
		p.Press("/")
		p.Type("late")
		p.Show("filtering")
		p.Press("enter")
		p.Show("filtered")
		p.Golden("")
	}
	p := newUser(t, &scene{}, "", 80, 24)
	p.Sees("no sandbox has used the network yet")
	p.Fits("nothing")
	p = newUser(t, busy(), "", 40, 12)
	p.Fits("the smallest")
	p.Sees("big-model")
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newUser(t, busy(), "", 80, 24)
		p.ActRandomly(rand.New(rand.NewPCG(seed, 1)), 60, []string{
			"up", "down", "pgup", "pgdown", "g", "G", "r", "s", "/", "enter", "esc", "q", "u", "U", "1", "9", "x", "space", "backspace",
		})
	})
}

// guarded is the traffic of a session with an allow list.
func guarded() *scene {
	s := &scene{locks: doctor.Guard{Up: true, Bridges: 1}}
	s.asked(1, auditlog.Access{Session: "0aaaa-codex", Allowed: true, What: auditlog.AskedEgress, Target: "good.example:443", Rule: "good.example (--allow)", Event: session.EventID{Session: "0aaaa-codex", Number: 7}})
	s.asked(2, auditlog.Access{Session: "0aaaa-codex", What: auditlog.AskedEgress, Target: "other.example:443", Why: "no entry of the allow list names this host", Event: session.EventID{Session: "0aaaa-codex", Number: 9}})
	return s
}

func TestARefusedHostIsAllowedOrDeniedForItsSession(t *testing.T) {
	s := guarded()
	p := newUser(t, s, "", 120, 40)
	p.Sees("refused egress other.example:443: no entry of the allow list names this host · 0aaaa/9")
	p.Press("a")
	p.Sees("other.example:443 is allowed until 0aaaa-codex ends")
	p.Press("d")
	p.Sees("other.example:443 is denied until 0aaaa-codex ends; closed 1 connection")
	p.Press("A") // there are no settings to add to
	p.Press("up", "a")
	p.Sees("rule good.example (--allow) · 0aaaa/7")
	p.Press("d")
	want := "0aaaa-codex +[other.example:443] -[], 0aaaa-codex +[] -[other.example:443], 0aaaa-codex +[] -[good.example:443]"
	if got := strings.Join(s.changes, ", "); got != want {
		t.Errorf("changes %s", got)
	}
	s.fails = errors.New("it has \x1b ended")
	p.Press("d")
	p.Sees(`it has \x1b ended`)
}

func TestAKeyForAHostDoesNotAllowOneThatWasJustSelected(t *testing.T) {
	s := guarded()
	p := newUser(t, s, "", 120, 40)
	m := p.Page.(*Model)
	now := noon
	m.clock = func() time.Time { return now }
	late := auditlog.Access{Session: "0aaaa-codex", What: auditlog.AskedEgress, Target: "evil.example:443", Time: noon.Add(time.Minute), Times: 1}
	m.log.Add(late)
	m.stale = true
	p.Press("a")
	if len(s.changes) > 0 {
		t.Fatalf("changes %v", s.changes)
	}
	p.Sees("another request was selected just now")
	now = now.Add(dialog.Grace)
	p.Press("a")
	if got := strings.Join(s.changes, ", "); got != "0aaaa-codex +[evil.example:443] -[]" {
		t.Errorf("changes %s", got)
	}
}

func TestAHostIsAllowedAlwaysAfterAQuestion(t *testing.T) {
	s := guarded()
	p := newUser(t, s, "", 120, 40)
	remembered := ""
	p.Page.(*Model).Remember = func(_ context.Context, _ session.ID, entry string) (string, error) {
		remembered = entry
		return "/home/ann/.config/aibox/config.toml", nil
	}
	p.Press("A")
	p.Sees("Allow other.example:443 always?")
	p.Press("y") // too early
	if remembered != "" {
		t.Error("a key that came with the question answered it")
	}
	ask := p.Page.(*Model).ask
	p.Run(ask.Do)
	p.Sees("and added to the allow list in /home/ann/.config/aibox/config.toml")
	if remembered != "other.example:443" || len(s.changes) != 1 {
		t.Errorf("remembered %q, changed %v", remembered, s.changes)
	}
	p = newUser(t, busy(), "", 120, 40)
	p.Press("a", "A", "d")
	p.DoesNotSee("always?")
}
