package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/session"
)

const (
	// maxStateEntries limits the number of files in state folders.
	maxStateEntries = 200_000
	// A workspace may get one more file for each bytesPerFile of its limit, and
	// minWorkspaceFiles at least.
	bytesPerFile      = 8 << 10
	minWorkspaceFiles = 20_000
)

// limitedFolders are folders of a session on the host's disk, with their limit.
type limitedFolders struct {
	what    string // the subject of messages, with the verb for the amount
	ended   string // a clause about the reached limit
	hidden  string // reason for the end of the session if the folders cannot be measured
	name    string // name of the limit in the log
	request string // Request.What of the question whether to raise the limit
	setting string // the limit's flag
	folders []string
	base    amountOnDisk // their content at the start, which does not count
	first   amountOnDisk // the initial limit

	mu    sync.Mutex // guards meter, which answers change, too
	meter diskMeter
	// startFree is the free space at the start. Unreadable content of a folder cannot exceed
	// the decrease since then.
	startFree amountOnDisk
	hides     bool // content that cannot be measured is bounded by the free space
}

// stateLimit returns the limit of the agent's state folders; nil without one.
func stateLimit(spec *session.Spec, folders []string) *limitedFolders {
	limit := amountOnDisk{spec.StateSize.Bytes(), maxStateEntries}
	if limit.bytes == 0 || len(folders) == 0 {
		return nil
	}
	return &limitedFolders{
		what: "the agent's conversation folders take", ended: "the agent's conversation folders have outgrown their limit of",
		hidden: "the agent's conversation folders cannot be measured", name: "conversation size", request: session.RequestState, setting: "--state-size",
		folders: folders, first: limit, meter: diskMeter{limit: limit},
	}
}

// workspaceLimit returns the limit on the growth of the workspace; nil without one.
func workspaceLimit(spec *session.Spec, folder string, base diskuse.Usage) *limitedFolders {
	limit := amountOnDisk{spec.Disk.Bytes(), max(spec.Disk.Bytes()/bytesPerFile, minWorkspaceFiles)}
	if limit.bytes == 0 {
		return nil
	}
	fs, _ := statFileSystem(folder)
	return &limitedFolders{
		what: "the workspace has grown by", ended: "the workspace has grown by more than its limit of",
		hidden: "the workspace cannot be measured", name: session.RequestDisk, request: session.RequestDisk, setting: "--disk",
		folders: []string{folder}, base: amountOnDisk{base.Bytes, int64(base.Entries)}, first: limit,
		meter: diskMeter{limit: limit}, startFree: fs.free, hides: true,
	}
}

// volumesLimit returns the limit on the growth of a sandbox's volumes; nil without one. Their present
// content does not count, so it must be called before a program runs.
func volumesLimit(spec *session.Spec, folders []string) *limitedFolders {
	if spec.Disk == 0 || len(folders) == 0 {
		return nil
	}
	// Content that cannot be measured counts as growth.
	base, _ := diskuse.Of(folders, diskuse.Limits{Bytes: math.MaxInt64, Entries: math.MaxInt})
	l := workspaceLimit(spec, folders[0], base)
	l.what, l.ended, l.hidden = "the volumes have grown by", "the volumes have grown by more than their limit of", "the volumes cannot be measured"
	l.folders = folders
	return l
}

// limit returns the current limit.
func (l *limitedFolders) limit() amountOnDisk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter.limit
}

// measure measures the folders, if that is due. warn reports whether to warn about the
// limit.
func (l *limitedFolders) measure(fs fileSystem) (used amountOnDisk, due, warn bool, err error) {
	begin := time.Now()
	l.mu.Lock()
	limit, due := l.meter.limit, l.meter.due(begin, fs.free)
	l.mu.Unlock()
	if !due {
		return amountOnDisk{}, false, false, nil
	}
	most := diskuse.Limits{Bytes: l.base.bytes + limit.bytes + limit.bytes/4, Entries: int(l.base.files + limit.files)}
	usage, err := diskuse.Of(l.folders, most)
	used = amountOnDisk{usage.Bytes - l.base.bytes, int64(usage.Entries) - l.base.files}
	if errors.Is(err, diskuse.ErrHidden) && l.hides {
		used.bytes, err = max(used.bytes, l.startFree.bytes-fs.free.bytes), nil
		used.files = max(used.files, l.startFree.files-fs.free.files)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return used, true, l.meter.measured(begin, time.Now(), used, fs.free), err
}

// limitDisk ends the session when its folders exceed their limit, or when a disk of the
// host is nearly full. It returns when ctx ends.
func (s *limits) limitDisk(ctx context.Context, res *resources) {
	var limited []*limitedFolders
	of := []*limitedFolders{stateLimit(&s.launch.Spec, res.state), res.volumesLimit}
	if res.workspace != nil { // a sandbox has none: its root file system has a limit
		of = append(of, s.growth(workspaceLimit(&s.launch.Spec, res.workspace.Path, res.workspaceUse)))
	}
	for _, l := range of {
		if l != nil {
			limited = append(limited, l)
		}
	}
	daemon, _ := res.docker.Backend.Info(ctx) // the backend has read it at the start
	disks := s.hostDisks(daemon)
	runsc, _ := daemon.Find(sandboxRuntime)
	root := rootWarning{limit: runsc.OverlaySize}
	tick := time.NewTicker(diskCheckInterval)
	defer tick.Stop()
	for {
		for _, disk := range disks {
			s.limitHostDisk(disk)
		}
		for _, l := range limited {
			s.limitFolders(l)
		}
		s.limitRoot()
		s.warnOfRoot(&root)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// limitFolders measures folders, if that is due, and applies their limit.
func (s *limits) limitFolders(l *limitedFolders) {
	fs, _ := statFileSystem(l.folders[0])
	used, due, warn, err := l.measure(fs)
	if !due {
		return
	}
	limit := l.limit()
	over := used.bytes > limit.bytes || used.files > limit.files
	if warn && !over && err == nil {
		s.warnOfFolders(l, used, limit)
	}
	s.enforceFolderLimit(l, used, err)
}

// warnOfFolders warns that folders are close to their limit, and asks whether to raise it.
func (s *limits) warnOfFolders(l *limitedFolders, used, limit amountOnDisk) {
	near, by := fmt.Sprintf("%s %s of %s", l.what, amount.Bytes(used.bytes), amount.Bytes(limit.bytes)), amount.Bytes(l.first.bytes)
	if used.bytes <= limit.bytes/5*4 {
		near, by = fmt.Sprintf("%s %d of %d files", l.what, used.files, limit.files), amount.Of(int(l.first.files), "file")
	}
	s.askToRaise(l.request, near, by, func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.meter.raise(l.first)
		return amount.Bytes(l.meter.limit.bytes)
	})
}

// enforceFolderLimit ends the session if used exceeds the limit, and at once if it exceeds
// it by far, because an ending agent can continue to write for a few seconds.
func (s *limits) enforceFolderLimit(l *limitedFolders, used amountOnDisk, err error) {
	limit := l.limit()
	what := l.ended + " " + amount.Bytes(limit.bytes)
	far := used.bytes > limit.bytes+limit.bytes/4
	switch {
	case errors.Is(err, diskuse.ErrHidden):
		what, far = l.hidden+": "+err.Error(), true
	case err != nil:
		fmt.Fprintf(os.Stderr, "measuring %q: %v\n", l.folders, err)
		what, far = l.hidden, true
	case used.files > limit.files:
		what, far = fmt.Sprintf("%s %d files", l.ended, limit.files), true
	case used.bytes <= limit.bytes:
		return
	}
	if !s.isEnding() {
		s.audit(audit.LimitReached, map[string]string{"limit": l.name, "value": amount.Bytes(limit.bytes)})
		s.end(fault.New(fault.Limit, "%s", what).
			Hint("%s", s.hintKept(l.setting+" sets another limit")))
	}
	if far {
		s.killSandbox()
	}
}
