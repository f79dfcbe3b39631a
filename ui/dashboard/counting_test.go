package dashboard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/uitest"
)

// working are sessions that run and have done something, the first of them longest ago.
func working(n int) []summary.Summary {
	briefs := make([]summary.Summary, n)
	for i := range briefs {
		began := noon.Add(time.Duration(i-n) * time.Minute)
		briefs[i] = summary.Summary{
			ID: session.ID(fmt.Sprintf("0%04d-codex", i)), Agent: "codex", Repository: "/home/ann/shop", Task: "fix it", Created: began, Started: began,
			Phase: session.Running, Done: 1,
		}
	}
	return briefs
}

// counting waits until the next count has ended; it reports whether there was one.
func (p *user) counting() bool {
	if !p.m.counter.due {
		return false
	}
	p.now = p.now.Add(p.waits[len(p.waits)-1])
	p.Send(countDue{})
	return true
}

// countAll waits until everything that is due has been counted.
func (p *user) countAll() {
	p.T.Helper()
	for range 200 {
		if !p.counting() {
			return
		}
	}
	p.T.Fatal("there is no end of counting")
}

// always is a count with the same result for every session.
func always(changes session.Changes, err error) func(session.ID) (session.Changes, error) {
	return func(session.ID) (session.Changes, error) { return changes, err }
}

func TestTheChangesOfARunningSessionSoFarAreShown(t *testing.T) {
	for _, size := range uitest.Sizes {
		sessions := &fakeSessions{briefs: append(sampleBriefs()[:3], working(2)...), count: func(id session.ID) (session.Changes, error) {
			if id == "00001-codex" {
				return session.Changes{}, errors.New("its folder is \x1b[31mgone")
			}
			return session.Changes{Files: 12, Added: 340, Deleted: 7}, nil
		}}
		p := newUser(t, sessions, size[0], size[1])
		p.DoesNotSee("~")
		p.countAll()
		p.Show("one that cannot be counted")
		p.Sees(`changes not counted: its folder is \x1b[31mgone`)
		p.Press("down")
		p.countAll()
		p.Sees("12 files +340 -7 so far")
		if p.m.list.layout(p.m.listWidth())[byChanges] > 0 {
			p.Sees("~12 +340 -7")
		}
		p.Show("one that is counted")
		p.Golden("counting-")
		sessions.briefs[3].Phase, sessions.briefs[4].Phase = session.Ended, session.Ended
		p.Run(p.m.load())
		p.DoesNotSee("~")
		p.DoesNotSee("not counted")
	}
}

func TestNothingIsCountedWhileAllSessionsAreIdle(t *testing.T) {
	sessions := &fakeSessions{briefs: append(sampleBriefs(), working(3)...), count: always(session.Changes{Files: 1}, nil)}
	p := newUser(t, sessions, 100, 40)
	p.countAll()
	if len(sessions.counted) != 3 {
		t.Fatalf("counted %v", sessions.counted)
	}
	for range 5 {
		p.now = p.now.Add(time.Hour)
		p.Run(p.m.load())
		p.Press("down", "up", "S", "v")
		p.Send(tick{})
		if p.counting() {
			t.Fatalf("counted %v", sessions.counted)
		}
	}
	sessions.briefs[5].Done++
	p.Run(p.m.load())
	p.countAll()
	if len(sessions.counted) != 4 || sessions.counted[3] != sessions.briefs[5].ID {
		t.Errorf("counted %v", sessions.counted)
	}
}

func TestOnlySessionsOnTheScreenAreCounted(t *testing.T) {
	sessions := &fakeSessions{briefs: working(100), count: always(session.Changes{}, nil)}
	p := newUser(t, sessions, 100, 24)
	p.countAll()
	if n := len(sessions.counted); n != p.m.listHeight() {
		t.Errorf("%d of %d are counted", n, p.m.listHeight())
	}
	p.Send(page.Covered{})
	p.Press("end")
	if p.m.counter.due {
		t.Error("something is counted under another screen")
	}
	p.Send(page.Returned{})
	if !p.counting() || sessions.counted[len(sessions.counted)-1] > "00024" {
		t.Errorf("counted %v", sessions.counted)
	}
	narrow := &fakeSessions{briefs: working(9), count: always(session.Changes{}, nil)}
	p = newUser(t, narrow, 40, 20) // without a column for changes there is the preview
	p.countAll()
	if fmt.Sprint(narrow.counted) != "[00008-codex]" {
		t.Errorf("counted %v", narrow.counted)
	}
	p.Press("p", "down")
	if p.m.counter.due {
		t.Error("something is counted that has no place on the screen")
	}
}

func TestACountThatComesLateIsDropped(t *testing.T) {
	sessions := &fakeSessions{briefs: working(1), count: always(session.Changes{Files: 3}, nil)}
	p := newUser(t, sessions, 100, 24)
	sessions.count = func(session.ID) (session.Changes, error) {
		sessions.briefs[0].Phase, sessions.briefs[0].Changed = session.Ended, true
		sessions.briefs[0].Files, sessions.briefs[0].Added = 5, 9
		p.Run(p.m.load())
		return session.Changes{Files: 3}, nil
	}
	p.counting()
	p.Sees("5 +9 -0")
	p.Send(countEnded{id: "00007-codex", count: count{changes: session.Changes{Files: 3}}})
	if len(p.m.counter.known) > 0 {
		t.Errorf("%v is known", p.m.counter.known)
	}
}

// In every case and however long counts take: one runs at a time, and they use at most 2% of the
// time.
func TestCountsUseAtMostTwoPercentOfTheTime(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	sessions := &fakeSessions{briefs: working(6)}
	p := newUser(t, sessions, 100, 40)
	var spent, took time.Duration
	ended, under := noon, false
	sessions.count = func(session.ID) (session.Changes, error) {
		if rest := p.now.Sub(ended); rest < countPause || rest < countRest*took || under {
			t.Fatalf("a count begins %v after one that took %v", rest, took)
		}
		under = true
		took = time.Duration(random.ExpFloat64() * float64(300*time.Millisecond))
		sessions.briefs[random.IntN(6)].Done++
		planned := len(p.waits)
		p.Run(p.m.load())
		if len(p.waits) > planned {
			t.Fatal("another count is planned while one is under way")
		}
		p.now = p.now.Add(took)
		spent, ended, under = spent+took, p.now, false
		return session.Changes{Files: random.IntN(9)}, nil
	}
	for range 2000 {
		p.now = p.now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
		sessions.briefs[random.IntN(6)].Done++
		p.Run(p.m.load())
		planned := len(p.waits)
		p.Press([]string{"down", "up", "S", "home"}[random.IntN(4)])
		if len(p.waits) > planned {
			t.Fatal("a count is planned twice")
		}
		if random.IntN(2) == 0 {
			p.counting()
		}
	}
	if all := p.now.Sub(noon); len(sessions.counted) < 100 || spent > all/countRest {
		t.Errorf("%d counts took %v of %v", len(sessions.counted), spent, all)
	}
}
