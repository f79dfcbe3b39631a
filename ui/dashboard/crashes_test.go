package dashboard

import (
	"errors"
	"testing"

	"aibox/session"
)

// openStarted opens the dashboard with some sessions and lets it look after them.
func openStarted(t *testing.T, sessions *fakeSessions) *user {
	p := newUser(t, sessions, 120, 30)
	p.m.started = true
	p.Run(p.m.load())
	return p
}

func TestASessionWhoseSupervisorDiesEndsOnTheDashboard(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs()}
	p := openStarted(t, sessions)
	p.Sees("running")
	p.Send(crashesDue{})
	sessions.did(t, "[]")

	sessions.dead = true
	p.Send(crashesDue{})
	sessions.did(t, "[repair]")
	p.DoesNotSee("running")
	p.Sees("failed")
	p.Sees("the supervisor of 0dddd-shell has died")
}

func TestASessionThatEndsByItselfIsNotSaidToHaveCrashed(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs(), dead: true, ended: true}
	p := openStarted(t, sessions)
	sessions.did(t, "[repair]")
	p.DoesNotSee("running")
	p.DoesNotSee("has died")
	p.DoesNotSee("have died")
}

func TestASessionThatCannotBeEndedIsTriedOnce(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs(), dead: true, fail: errors.New("the daemon does not answer")}
	p := openStarted(t, sessions)
	p.Sees("the daemon does not answer")
	p.Send(crashesDue{})
	p.Run(p.m.load())
	sessions.did(t, "[repair]")
	p.Sees("running")
}

func TestNothingLooksForCrashesWhileNoSessionCanCrash(t *testing.T) {
	p, sessions := openAsIs(t, 120, 30)
	for i := range sessions.briefs {
		sessions.briefs[i].Phase = session.Ended
	}
	p.m.started = true
	p.Run(p.m.load())
	if p.m.crashes.pending {
		t.Error("it looks for crashes of ended sessions")
	}
	sessions.briefs[3].Phase = session.Running
	p.m.covered = true
	p.Run(p.m.load())
	if p.m.crashes.pending {
		t.Error("it looks for crashes below another screen")
	}
}
