package sessionview

import (
	"testing"

	"aibox/session"
)

func TestTheUseOfResourcesIsShownWhileTheSessionRuns(t *testing.T) {
	s := running()
	open(t, s).Sees("312 MiB of 4 GiB · 45% CPU")
	if s.measured != 1 {
		t.Errorf("%d measurements are scheduled", s.measured)
	}
	p := newUser(t, s, 80, 24)
	p.Sees("312 MiB 45% CPU")
	p.DoesNotSee("of 4 GiB")
	p = newUser(t, s, 60, 24)
	p.DoesNotSee("312 MiB")
	p.Sees("4 refused")

	s.usage = session.Usage{} // the sandbox has ended
	p.Run(p.m.usage.measure())
	p.Resize(120, 40)
	p.DoesNotSee("CPU")
	if s.measured != 3 {
		t.Error("a sandbox that has ended is measured again")
	}
	s = ended()
	open(t, s).DoesNotSee("CPU")
	if s.measured != 0 {
		t.Error("an ended session is measured")
	}
}

func TestASandboxIsMeasuredOnceAtATime(t *testing.T) {
	s := running()
	p := open(t, s)
	if p.m.startMeasuring() != nil {
		t.Error("a second measurement starts")
	}
	if p.m.Update(usageDue{}) == nil {
		t.Error("the next measurement does not start")
	}
}
