package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// diskCheckInterval is how often the free space of a file system is read, which costs
	// one system call.
	diskCheckInterval = 250 * time.Millisecond
	// diskMeasureFactor is how many times the duration of a measurement must pass before
	// the next one, unless the limit may have been exceeded since then.
	diskMeasureFactor = 20
	// While the free space does not fall, diskIdleFactor times that duration pass, within
	// these bounds: other programs may free as much as the session writes.
	diskIdleFactor      = 200
	minDiskIdleInterval = 5 * time.Second
	maxDiskIdleInterval = time.Minute
	// minFilesWritten is the number of new files on a file system that causes a measurement.
	minFilesWritten = 1000
)

// amountOnDisk is a number of bytes and of files: used, free or allowed.
type amountOnDisk struct{ bytes, files int64 }

// diskMeter decides when to measure folders again. It is a state machine without a clock.
// Without root, nothing on the host can cap the size of a folder; but files written to it
// reduce the free space of its file system, so a measurement is only needed when the free
// space falls or a long time has passed.
type diskMeter struct {
	limit  amountOnDisk
	used   amountOnDisk // at the last measurement
	free   amountOnDisk // free space at that time
	rest   time.Time
	latest time.Time
	warned bool
}

// due reports whether to measure at now, with the given free space.
func (m *diskMeter) due(now time.Time, free amountOnDisk) bool {
	written := amountOnDisk{m.free.bytes - free.bytes, m.free.files - free.files} // by anyone
	left := amountOnDisk{m.limit.bytes - m.used.bytes, m.limit.files - m.used.files}
	if now.Before(m.rest) {
		// Less than an eighth of the limit does not count: a session that is near its limit
		// could otherwise make each write of another program cause a measurement.
		return written.bytes > max(left.bytes, m.limit.bytes/8) || written.files > max(left.files, m.limit.files/8)
	}
	return !now.Before(m.latest) || written.bytes > max(left.bytes/8, 1<<20) || written.files > max(left.files/8, minFilesWritten)
}

// measured records a measurement that ran from begin to end, and reports whether to warn.
func (m *diskMeter) measured(begin, end time.Time, used, free amountOnDisk) (warn bool) {
	m.used, m.free = used, free
	took := end.Sub(begin)
	m.rest, m.latest = end.Add(took*diskMeasureFactor), end.Add(min(max(took*diskIdleFactor, minDiskIdleInterval), maxDiskIdleInterval))
	warn = !m.warned && (used.bytes > m.limit.bytes/5*4 || used.files > m.limit.files/5*4)
	m.warned = m.warned || warn
	return warn
}

// raise raises the limit and enables its warning again.
func (m *diskMeter) raise(by amountOnDisk) {
	m.limit.bytes, m.limit.files, m.warned = m.limit.bytes+by.bytes, m.limit.files+by.files, false
}

// fileSystem is the state of a file system.
type fileSystem struct {
	free  amountOnDisk // also for root; files is 0 if the file system has no fixed number
	left  int64        // bytes that the user can still write
	total int64        // bytes
}

// statFileSystem returns the state of a folder's file system; ok is false if it is unknown.
func statFileSystem(folder string) (fs fileSystem, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil || st.Blocks == 0 {
		return fileSystem{}, false
	}
	return fileSystem{
		free: amountOnDisk{int64(st.Bfree) * st.Bsize, int64(st.Ffree)},
		left: int64(st.Bavail) * st.Bsize, total: int64(st.Blocks) * st.Bsize,
	}, true
}
