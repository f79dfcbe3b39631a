package supervisor

import (
	"fmt"
	"os"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// maxHostReserve is the free space at which a session ends on a large disk; on a smaller
// one it is a fiftieth of the disk.
const maxHostReserve = 1 << 30

// hostReserve returns how much of a file system sessions leave free, so that the host and
// the session's own end have room.
func hostReserve(fs fileSystem) int64 { return min(fs.total/50, maxHostReserve) }

// hostDisk watches the disks of the host that a session writes to. A session ends before
// one of them is full: a full disk hurts every program of the user.
type hostDisk struct{ warned bool }

// hostDiskState says how much room a disk has.
type hostDiskState int

const (
	diskHasRoom hostDiskState = iota
	diskLow                   // to be reported
	diskNearlyFull
	diskFilling // nearly full and still getting fuller, so that nothing may be written any more
)

// check returns the state of a disk. diskLow comes once.
func (d *hostDisk) check(fs fileSystem) hostDiskState {
	reserve := hostReserve(fs)
	switch {
	case fs.left < reserve/2:
		return diskFilling
	case fs.left < reserve:
		return diskNearlyFull
	case fs.left < 2*reserve && !d.warned:
		d.warned = true
		return diskLow
	default:
		return diskHasRoom
	}
}

// nearlyFull returns the fault for a disk that is nearly full.
func nearlyFull(folder string, fs fileSystem) *fault.Fault {
	return fault.New(fault.Environment, "the disk of %s is nearly full: %s are left", folder, amount.Bytes(max(fs.left, 0))).
		Hint("free some space: `df -h %s` shows how much is left; `aibox gc` removes what old sessions keep", folder)
}

// checkHostDisks refuses to start on a disk that is nearly full. A folder that does not
// exist yet is not checked.
func (s *run) checkHostDisks() error {
	for _, folder := range []string{s.deps.Dirs.State, s.deps.Dirs.Workspace} {
		fs, ok := statFileSystem(folder)
		fs.left -= session.ReservedSize // which the session is about to take
		if ok && new(hostDisk).check(fs) >= diskNearlyFull {
			return nearlyFull(folder, fs)
		}
	}
	return nil
}

// limitHostDisk warns of a disk with little room, and ends the session when it is nearly
// full.
func (s *limits) limitHostDisk(d *hostDisk, folder string, fs fileSystem) {
	state := d.check(fs)
	switch state {
	case diskLow:
		s.postNotice(fmt.Sprintf("the disk of %s has %s left; the session is ended at %s, and its work is kept",
			folder, amount.Bytes(fs.left), amount.Bytes(hostReserve(fs))))
	case diskNearlyFull, diskFilling:
		if !s.isEnding() {
			fmt.Fprintln(os.Stderr, "the disk of", folder, "is nearly full")
			s.audit(audit.LimitReached, map[string]string{"limit": "host disk", "value": amount.Bytes(hostReserve(fs))})
			s.end(nearlyFull(folder, fs).Hint("%s", s.hintKept("`aibox run --resume "+string(s.id)+"` continues then")))
		}
		if state == diskFilling {
			s.killSandbox()
		}
	}
}
