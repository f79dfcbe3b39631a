package supervisor

import (
	"fmt"
	"os"
	"sync"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// The resources of the agent's own sandboxes are deducted from the session's limits while
// they run, so that all sandboxes together stay within these limits. The session's own
// sandbox is limited to the rest.

// loans are the parts of the session's limits that are lent to the agent's own sandboxes.
type loans struct {
	mu     sync.Mutex // guards the following fields
	lent   session.Share
	folder *limitedFolders // the workspace, whose growth is limited; nil without a limit
}

// The smallest useful loans, and the memory that the session's sandbox keeps in addition to
// its use at the time of a loan, in bytes.
const (
	leastTransfer = 1 << 20
	leastDisk     = 16 << 20
	spareMemory   = 32 << 20
)

var leastTraffic = netguard.Traffic{Upload: leastTransfer, Download: leastTransfer, UploadPerHost: leastTransfer, DownloadPerHost: leastTransfer}

var errNotRunning = fault.New(fault.Conflict, "the session does not run yet")

// memoryLeft returns the sandbox's memory limit minus the lent memory; 0 without a limit.
func (s *sandbox) memoryLeft() int64 {
	limit := s.resourceLimits().Memory
	if limit == 0 {
		return 0
	}
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	return max(1, limit-s.loans.lent.Memory)
}

// growth stores and returns the limit of the workspace, of which a part can be lent.
func (s *sandbox) growth(l *limitedFolders) *limitedFolders {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	s.loans.folder = l
	return l
}

// Lend implements session.Host.
func (s *ownSandboxes) Lend(want session.Share) (granted session.Share, giveBack func(spent session.Share), err error) {
	s.loans.mu.Lock()
	defer s.loans.mu.Unlock()
	if err := s.checkMemory(want.Memory); err != nil {
		return session.Share{}, nil, err
	}
	granted = session.Share{Memory: want.Memory}
	if granted.Traffic, err = s.lendTraffic(want.Traffic); err != nil {
		return session.Share{}, nil, err
	}
	if granted.Disk, err = s.lendDisk(want.Disk); err != nil {
		s.returnTraffic(granted.Traffic)
		return session.Share{}, nil, err
	}
	s.loans.lent.Memory += granted.Memory
	var once sync.Once
	return granted, func(spent session.Share) {
		once.Do(func() {
			s.loans.mu.Lock()
			defer s.loans.mu.Unlock()
			s.loans.lent.Memory -= granted.Memory
			if granted.Disk > 0 {
				s.loans.folder.change(granted.Disk)
			}
			s.returnTraffic(granted.Traffic.Sub(spent.Traffic))
		})
	}, nil
}

// checkMemory refuses to lend memory that the session's sandbox uses or that is already
// lent. s.loans.mu is held.
func (s *ownSandboxes) checkMemory(want int64) error {
	limit := s.resourceLimits().Memory
	if limit == 0 || want == 0 {
		return nil
	}
	s.mu.Lock()
	meter := s.meter
	s.mu.Unlock()
	if meter == nil {
		return errNotRunning
	}
	used, err := meter.Memory()
	if err != nil {
		return err
	}
	if left := limit - s.loans.lent.Memory - used - spareMemory; want > left {
		return fault.New(fault.Limit, "the sandbox asked for %s of memory, and %s of the session's %s are left: its own sandboxes have %s, and it uses %s itself",
			amount.Bytes(want), amount.Bytes(max(0, left)), amount.Bytes(limit), amount.Bytes(s.loans.lent.Memory), amount.Bytes(used)).
			Hint("ask for less memory, or destroy a sandbox")
	}
	return nil
}

// lendTraffic takes bytes from the budgets of the session's proxy.
func (s *ownSandboxes) lendTraffic(want netguard.Traffic) (lent netguard.Traffic, err error) {
	s.policy.mu.Lock()
	proxy := s.policy.proxy
	s.policy.mu.Unlock()
	if proxy == nil || want == (netguard.Traffic{}) {
		return netguard.Traffic{}, nil
	}
	lent = proxy.Lend(want)
	if missing := want.Min(leastTraffic).Sub(lent); missing != (netguard.Traffic{}) {
		proxy.Return(lent)
		return netguard.Traffic{}, fault.New(fault.Limit, "the session has used up what it can send to allowed hosts, or receive from them").
			Hint("create the sandbox without a network")
	}
	return lent, nil
}

func (s *ownSandboxes) returnTraffic(unused netguard.Traffic) {
	s.policy.mu.Lock()
	proxy := s.policy.proxy
	s.policy.mu.Unlock()
	if proxy != nil {
		proxy.Return(unused)
	}
}

// lendDisk takes bytes from the limit of the workspace's growth. s.loans.mu is held.
func (s *ownSandboxes) lendDisk(want int64) (int64, error) {
	folder := s.loans.folder
	switch {
	case s.launch.Spec.Disk == 0 || want == 0:
		return 0, nil
	case folder == nil:
		return 0, errNotRunning
	}
	granted := min(want, folder.unused())
	if granted < min(want, leastDisk) {
		return 0, fault.New(fault.Limit, "the session has used up the disk space that it can have").
			Hint("delete files in the workspace, or destroy a sandbox")
	}
	folder.change(-granted)
	return granted, nil
}

// unused returns how many bytes of the limit were unused at the last measurement.
func (l *limitedFolders) unused() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.meter.limit.bytes-l.meter.used.bytes)
}

// change raises the limit by a number of bytes, which may be negative. It does not enable the
// limit's warning again: the agent decides when its sandboxes begin and end.
func (l *limitedFolders) change(by int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meter.limit.bytes += by
}

// limitRoot ends a sandbox that an agent created when its root file system exceeds the disk
// space that was lent to it.
func (s *limits) limitRoot() {
	limit := s.launch.Spec.Disk.Bytes()
	if s.launch.Spec.ParentOf() == "" || limit == 0 || s.isEnding() {
		return
	}
	s.mu.Lock()
	meter := s.meter
	s.mu.Unlock()
	if meter == nil {
		return
	}
	used, err := meter.Root()
	switch {
	case err != nil && s.isSandboxEnding():
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "measuring the root file system:", err)
		s.end(fault.New(fault.Environment, "the sandbox's disk space cannot be measured, so the sandbox was ended"))
	case used > limit:
		s.audit(audit.LimitReached, map[string]string{"limit": "disk", "value": amount.Bytes(limit)})
		s.end(fault.New(fault.Limit, "the sandbox's files take more than its limit of %s, so it was ended", amount.Bytes(limit)))
	default:
		return
	}
	s.killSandbox()
}
