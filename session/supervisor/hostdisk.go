package supervisor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// maxHostReserve is the free space at which a session ends on a large disk; on a smaller
// one it is a fiftieth of the disk.
const maxHostReserve = 1 << 30

// hostReserve returns how much of a file system sessions leave free, so that the host has
// free space, and the session can store its end.
func hostReserve(fs fileSystem) int64 { return min(fs.total/50, maxHostReserve) }

// hostDisk watches a disk of the host that a session writes to. A session ends before one
// of them is full: a full disk affects all programs of the user.
type hostDisk struct {
	folder string
	warned bool
}

// hostDisks returns the disks of folders, each once. A folder that does not exist yet
// counts as a separate disk; empty names are ignored.
func hostDisks(folders ...string) []*hostDisk {
	var disks []*hostDisk
	known := map[uint64]bool{}
	for _, folder := range folders {
		var st unix.Stat_t
		err := unix.Stat(folder, &st)
		if folder == "" || err == nil && known[st.Dev] {
			continue
		}
		if err == nil {
			known[st.Dev] = true
		}
		disks = append(disks, &hostDisk{folder: folder})
	}
	return disks
}

// hostDisks returns the disks of a running session: those of its record, of the workspace,
// of aibox's own repositories, and of Docker, where the root file system of its sandbox is.
func (s *limits) hostDisks(daemon runtime.Info) []*hostDisk {
	dirs := s.deps.Dirs
	return hostDisks(dirs.State, dirs.Workspace, dirs.Data, daemon.DataRoot)
}

// hostDiskState describes the free space of a disk.
type hostDiskState int

const (
	diskHasRoom hostDiskState = iota
	diskLow                   // to be reported
	diskNearlyFull
	diskFilling // nearly full and getting fuller, so that writing must stop
)

// check returns the state of a disk. It returns diskLow only once.
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

// checkHostDisks refuses to start on a disk that is nearly full, or would be once the session has
// reserved this many bytes. A folder that does not exist yet is not checked.
func (s *run) checkHostDisks(reserving int64) error {
	for _, disk := range hostDisks(s.deps.Dirs.State, s.deps.Dirs.Workspace, s.deps.Dirs.Data) {
		fs, ok := statFileSystem(disk.folder)
		fs.left -= reserving
		if ok && disk.check(fs) >= diskNearlyFull {
			return nearlyFull(disk.folder, fs)
		}
	}
	return nil
}

// checkDaemonDisk refuses to start if Docker's disk is nearly full.
func checkDaemonDisk(info runtime.Info) error {
	if fs, ok := statFileSystem(info.DataRoot); ok && new(hostDisk).check(fs) >= diskNearlyFull {
		return nearlyFull(info.DataRoot, fs)
	}
	return nil
}

// limitHostDisk warns about a disk with little free space, and ends the session when it is
// nearly full.
func (s *limits) limitHostDisk(d *hostDisk) {
	fs, ok := statFileSystem(d.folder)
	if !ok {
		return
	}
	folder, state := d.folder, d.check(fs)
	switch state {
	case diskLow:
		s.postNotice(fmt.Sprintf("the disk of %s has %s left; the session is ended at %s, and its work is kept",
			folder, amount.Bytes(fs.left), amount.Bytes(hostReserve(fs))))
	case diskNearlyFull, diskFilling:
		if !s.isEnding() {
			fmt.Fprintln(os.Stderr, "the disk of", folder, "is nearly full")
			s.audit(audit.LimitReached, map[string]string{"limit": "host disk", "value": amount.Bytes(hostReserve(fs))})
			s.end(nearlyFull(folder, fs).Hint("%s", s.hintKept("`"+session.ResumeCommand(s.id, s.launch.Spec.Agent)+"` continues then")))
		}
		if state == diskFilling {
			s.killSandbox()
		}
	}
}
