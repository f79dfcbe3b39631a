package supervisor

import (
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
	"aibox/session"
)

// lender is a session with limits whose sandbox uses little of them.
func lender(t *testing.T) *ownSandboxes {
	t.Helper()
	_, s := watched(t)
	s.launch.Spec.Run = config.Run{Network: "allowlist", Sandboxes: 2, Memory: 1000, Disk: 1000, EgressUpload: 10}
	s.meter = limit.NewMeter(limittest.Start(t).Process)
	s.growth(workspaceLimit(&s.launch.Spec, t.TempDir(), diskuse.Usage{}))
	s.policy.proxy = &fakeProxy{}
	return s.own
}

func TestTheShareOfAnAgentsSandboxIsDeductedFromItsSession(t *testing.T) {
	s := lender(t)
	granted, giveBack, err := s.Lend(session.Share{Memory: 400 << 20, Disk: 300 << 20})
	if err != nil || granted.Memory != 400<<20 || granted.Disk != 300<<20 {
		t.Fatal(granted, err)
	}
	if left := s.memoryLeft(); left != 600<<20 {
		t.Errorf("the session's sandbox may use %d bytes of memory", left)
	}
	if l := s.loans.folder.limit(); l.bytes != 700<<20 {
		t.Errorf("its workspace may grow by %d bytes", l.bytes)
	}
	if _, _, err := s.Lend(session.Share{Memory: 600 << 20}); fault.KindOf(err) != fault.Limit {
		t.Errorf("all of the rest is lent: %v", err)
	}
	if granted, _, err := s.Lend(session.Share{Memory: 1 << 20, Disk: 900 << 20}); err != nil || granted.Disk != 700<<20 {
		t.Errorf("%+v is lent (%v)", granted, err)
	}
	if _, _, err := s.Lend(session.Share{Memory: 1 << 20, Disk: 900 << 20}); fault.KindOf(err) != fault.Limit {
		t.Errorf("disk space is lent that is not there: %v", err)
	}
	giveBack(session.Share{})
	giveBack(session.Share{})
	if left := s.memoryLeft(); left != 999<<20 {
		t.Errorf("then it may use %d bytes of memory", left)
	}
	if l := s.loans.folder.limit(); l.bytes != 300<<20 {
		t.Errorf("then its workspace may grow by %d bytes", l.bytes)
	}
}

// An agent can begin and end sandboxes as often as it wants.
func TestLoansOfDiskSpaceDoNotRepeatTheQuestionWhetherToRaiseTheLimit(t *testing.T) {
	s := lender(t)
	folder := s.loans.folder
	folder.meter.limit.bytes = 40 << 20
	grow(t, folder.folders[0], 1, 34<<20)
	for range 3 {
		folder.meter.rest, folder.meter.latest = time.Time{}, time.Time{}
		s.limitFolders(folder)
		_, giveBack, err := s.Lend(session.Share{Disk: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		giveBack(session.Share{})
	}
	if open := s.requests.pending(); len(open) != 1 {
		t.Errorf("the user is asked %d times", len(open))
	}
	if l := folder.limit(); l.bytes != 40<<20 {
		t.Errorf("the workspace may grow by %d bytes", l.bytes)
	}
}

func TestASessionWithoutLimitsLendsWithoutLimits(t *testing.T) {
	s := lender(t)
	s.launch.Spec.Memory, s.launch.Spec.Disk = 0, 0
	if _, _, err := s.Lend(session.Share{Memory: 1 << 40, Disk: 1 << 40}); err != nil {
		t.Error(err)
	}
	if s.memoryLeft() != 0 {
		t.Error("it has a limit of memory")
	}
}

// Its sandboxes together send no more to a host than the session may.
func TestTheShareForAHostStaysLentAsFarAsItIsSpent(t *testing.T) {
	s := lender(t)
	s.policy.proxy = &fakeProxy{leftPerHost: 8 << 20}
	want := session.Share{Traffic: netguard.Traffic{Upload: 4 << 20, UploadPerHost: 4 << 20}}
	for _, sent := range []int64{4 << 20, 3 << 20, 4 << 20} {
		granted, giveBack, err := s.Lend(want)
		if err != nil {
			t.Fatal(err)
		}
		sent = min(sent, granted.UploadPerHost)
		giveBack(session.Share{Traffic: netguard.Traffic{Upload: sent, UploadPerHost: sent}})
	}
	if _, _, err := s.Lend(want); fault.KindOf(err) != fault.Limit {
		t.Errorf("after 8 MiB, more can be sent to a host: %v", err)
	}
}
