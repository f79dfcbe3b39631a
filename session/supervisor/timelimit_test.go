package supervisor

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
)

// limited is a supervisor whose session has a running time limit.
func limited(t *testing.T, limit time.Duration) *supervisor {
	t.Helper()
	s := newSupervisor(&run{id: "0abc-talker", dir: t.TempDir(), store: session.NewStore(paths.Dirs{State: t.TempDir()}), ended: make(chan struct{})})
	s.launch.Spec.Timeout = amount.Duration(limit)
	s.requests.record = s.answered
	var err error
	s.record = newRecord(t, t.TempDir())
	if s.log, err = audit.Open(filepath.Join(s.dir, "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	s.limitTime()
	return s
}

// logged returns the types of the logged events.
func logged(t *testing.T, s *supervisor) []audit.Type {
	t.Helper()
	var types []audit.Type
	err := audit.Read(filepath.Join(s.dir, "audit.jsonl"), func(e audit.Event) error {
		types = append(types, e.Type)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestASessionAsksForMoreTimeBeforeItsTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, 10*time.Minute)
		time.Sleep(9*time.Minute - time.Millisecond)
		synctest.Wait()
		if open := s.requests.pending(); len(open) != 0 {
			t.Fatalf("asked too early: %+v", open)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		open := s.requests.pending()
		if len(open) != 1 || open[0].ID != 1 || open[0].Session != s.id || open[0].Yes != "give it 10m more" {
			t.Fatalf("asks %+v", open)
		}
		if left := time.Until(open[0].Until); left > time.Minute || left < 50*time.Second {
			t.Errorf("%v are left", left)
		}
		time.Sleep(time.Minute)
		<-s.ended
		if fault.KindOf(s.cause) != fault.Limit || s.cause.Error() != "the time limit of 10m was reached" {
			t.Errorf("ended by %v", s.cause)
		}
		if err := s.Answer(1, "yes"); fault.KindOf(err) != fault.Conflict {
			t.Errorf("an answer that came too late gave %v", err)
		}
		want := []audit.Type{audit.RequestMade, audit.NoticeGiven, audit.RequestAnswered, audit.LimitReached}
		if got := logged(t, s); !slices.Equal(got, want) {
			t.Errorf("the log has %v", got)
		}
	})
}

func TestYesExtendsTheTimeLimitAndNoDoesNot(t *testing.T) {
	for _, test := range []struct {
		yes  bool
		ends time.Duration
	}{{true, 20 * time.Minute}, {false, 10 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			s := limited(t, 10*time.Minute)
			begun := time.Now()
			time.Sleep(9*time.Minute + time.Second)
			synctest.Wait()
			if err := s.Answer(1, map[bool]string{true: "yes", false: "no"}[test.yes]); err != nil {
				t.Fatal(err)
			}
			if err := s.Answer(1, "yes"); fault.KindOf(err) != fault.Conflict {
				t.Errorf("a second answer gave %v", err)
			}
			<-s.ended
			if took := time.Since(begun); took != test.ends {
				t.Errorf("ended after %v, not %v", took, test.ends)
			}
			if made := s.requests.made; made != 1 && !test.yes || made != 2 && test.yes {
				t.Errorf("asked %d times", made)
			}
		})
	}
}

func TestExtendingTheTimeLimitAnswersThePendingRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, time.Hour)
		begun := time.Now()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if err := s.Extend(5 * time.Minute); err != nil {
			t.Fatal(err)
		}
		if open := s.requests.pending(); len(open) != 0 {
			t.Errorf("still asks %+v", open)
		}
		if end := s.timeLimit.deadline(); !end.Equal(begun.Add(65 * time.Minute)) {
			t.Errorf("ends at %v", end)
		}
		<-s.ended
		if took := time.Since(begun); took != 65*time.Minute || s.cause.Error() != "the time limit of 1h5m was reached" {
			t.Errorf("ended after %v: %v", took, s.cause)
		}
		if err := s.Extend(time.Minute); fault.KindOf(err) != fault.Conflict {
			t.Errorf("more time after the end gave %v", err)
		}
	})
}

func TestInvalidExtensionsAreRefused(t *testing.T) {
	for _, by := range []time.Duration{0, -time.Second, maxExtension + 1, math.MaxInt64} {
		a := timeBudget{began: time.Now(), limit: time.Hour}
		if err := a.extend(by); fault.KindOf(err) != fault.Usage || a.limit != time.Hour {
			t.Errorf("%v: %v, %v", by, err, a.limit)
		}
	}
	a := timeBudget{began: time.Now(), limit: math.MaxInt64 - time.Hour}
	if err := a.extend(2 * time.Hour); err == nil {
		t.Error("the limit is past all time")
	}
	a = timeBudget{began: time.Now()}
	if err := a.extend(time.Hour); fault.KindOf(err) != fault.Usage {
		t.Errorf("a session without a limit: %v", err)
	}
}

func TestAnExtensionAfterTheAgentEndedIsRefused(t *testing.T) {
	var c countdown
	c.start(time.Hour, func(time.Time) {}, func(time.Duration) {})
	c.stop()
	if _, err := c.extend(time.Minute); fault.KindOf(err) != fault.Conflict || err.Error() != "the session is no longer running" {
		t.Errorf("extend says %v", err)
	}
}

func TestAVerificationTimesOutWithoutARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, 0)
		s.launch.Spec.Timeout, s.launch.Spec.Verifies = amount.Duration(time.Minute), &session.Verifies{}
		s.limitTime()
		<-s.ended
		if s.requests.made != 0 {
			t.Error("it asked")
		}
	})
}

func TestNoQuestionIsAskedAfterTheEnd(t *testing.T) {
	var ends []string
	l := requestQueue{record: func(_ session.Request, answer string) { ends = append(ends, answer) }}
	if _, ok := l.ask(session.Request{What: "x"}, func(session.Answer) error { return nil }); !ok {
		t.Fatal("nobody is asked")
	}
	l.close()
	if _, ok := l.ask(session.Request{}, nil); ok || !slices.Equal(ends, []string{unanswered}) {
		t.Errorf("asked after the end, or %v", ends)
	}
	if err := l.answer(7, session.AnswerYes); fault.KindOf(err) != fault.Usage {
		t.Errorf("an answer to nothing gave %v", err)
	}
}

func TestAnAnswerReturnsTheErrorOfItsAction(t *testing.T) {
	failed := errors.New("failed")
	l := requestQueue{record: func(session.Request, string) {}}
	l.ask(session.Request{}, func(session.Answer) error { return failed })
	if err := l.answer(1, session.AnswerYes); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

// Times in records and files come from the wall clock, which can be set. Limits measure
// elapsed time: their times keep the monotonic reading that Go prints as "m=".
func TestTheTimeLimitDoesNotDependOnTheWallClock(t *testing.T) {
	s := limited(t, time.Hour)
	defer s.timeLimit.stop()
	if at, _ := s.timeLimit.time.due(); !strings.Contains(at.String(), "m=") {
		t.Errorf("it is due at %v", at)
	}
}
