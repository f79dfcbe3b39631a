package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aibox/audit"
)

// liveFile holds the Live of a session that runs.
const (
	liveFile  = "live.json"
	staleFile = "live.stale.json" // the last counters that fitted on the disk

	nextSuffix = ".next" // suffix of counters that are being written
)

// Live holds the current counters of a running session.
type Live struct {
	Usage // usage of the sandbox, if a client measured it in the last seconds

	Tokens   Tokens       `json:"tokens"`
	Models   []ModelUsage `json:"models,omitempty"`   // as in a Result
	Calls    int          `json:"calls"`              // all requests to the model
	Refused  []Refusal    `json:"refused,omitempty"`  // as in a Result
	Egress   Egress       `json:"egress,omitzero"`    // as in a Result
	Deadline time.Time    `json:"deadline,omitzero"`  // end of the time limit; zero without a limit
	Requests []Request    `json:"requests,omitempty"` // requests that wait for an answer, oldest first
	Output   int64        `json:"output,omitempty"`   // bytes in the agent's output
	Ports    []OpenPort   `json:"ports,omitempty"`    // ports of the sandbox that are open on the host
	Waiting  bool         `json:"waiting,omitempty"`  // its agent waits for the user, according to its terminal
}

// Live returns the counters of a session: at most a second old if it runs, from its result
// if it has ended.
func (s *Reader) Live(id ID) (Live, error) {
	session, err := s.store.Load(id)
	if err != nil {
		return Live{}, err
	}
	if r := session.State.Result; r != nil && session.State.Phase == Ended {
		return Live{Tokens: r.Tokens, Models: r.Models, Calls: r.Tokens.Requests, Refused: r.Refused, Egress: r.Egress}, nil
	}
	return s.store.Live(id), nil
}

// Requests returns the open requests of all running sessions, oldest session first.
func (s *Reader) Requests() ([]Request, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	var open []Request
	for _, id := range ids {
		if s.store.Ended(id) {
			continue
		}
		if asked := s.store.Live(id).Requests; len(asked) > 0 && IsLocked(s.store.Dir(id)) {
			open = append(open, asked...)
		}
	}
	return open, nil
}

// Live returns the last counters that a session's supervisor wrote, or zero.
func (s Store) Live(id ID) Live {
	live, current := s.LastLive(id)
	if !current {
		_ = s.Read(id, staleFile, &live)
	}
	return live
}

// LastLive returns the last counters. current is false if they may be stale.
func (s Store) LastLive(id ID) (live Live, current bool) {
	err := s.Read(id, liveFile, &live)
	return live, err == nil
}

// LiveTime returns when the counters of a session were written last; zero if that is not known.
func (s Store) LiveTime(id ID) time.Time {
	info, err := os.Lstat(filepath.Join(s.Dir(id), liveFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// WriteLive replaces a session's Live and notifies watchers. It does not sync the file,
// which is only for display. If it cannot replace the file, it renames it to staleFile, so
// that stale counters never become the result of a session whose supervisor dies.
func (s Store) WriteLive(id ID, live Live) error {
	data, err := json.Marshal(live)
	if err != nil {
		return err
	}
	file, stale := filepath.Join(s.Dir(id), liveFile), filepath.Join(s.Dir(id), staleFile)
	next := file + nextSuffix
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(next)), ignoreMissing(os.Rename(file, stale)))
	}
	if err := errors.Join(os.Rename(next, file), ignoreMissing(os.Remove(stale))); err != nil {
		return err
	}
	s.touch()
	return nil
}

// RemoveLive removes the counters of an ended session, whose result has them.
func (s Store) RemoveLive(id ID) error {
	dir := s.Dir(id)
	return errors.Join(ignoreMissing(os.Remove(filepath.Join(dir, liveFile))), ignoreMissing(os.Remove(filepath.Join(dir, staleFile))))
}

// ignoreMissing returns err, or nil if err reports a missing file.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// LiveChanged is an event whose data is a Live. It is not in the log, to keep that small,
// so its number is -1.
const LiveChanged audit.Type = "live.changed"

// LiveEvent returns a LiveChanged event.
func LiveEvent(live Live) (audit.Event, error) {
	data, err := json.Marshal(live)
	return audit.Event{Seq: -1, Time: time.Now().UTC(), Type: LiveChanged, Data: data}, err
}

// LiveOf returns the counters in a LiveChanged event; false for any other event.
func LiveOf(e audit.Event) (Live, bool) {
	var live Live
	if e.Type != LiveChanged || json.Unmarshal(e.Data, &live) != nil {
		return Live{}, false
	}
	return live, true
}

// OpenPort is a port of a sandbox that is open on the host's loopback.
type OpenPort struct {
	Port    int    `json:"port"`    // port of the sandbox
	Address string `json:"address"` // address on the host, with its port
}

// Usage is the resource usage of a running session's sandbox. It is zero if it was not
// measured recently.
type Usage struct {
	Memory      int64     `json:"memory,omitempty"`       // bytes
	CPU         float64   `json:"cpu,omitempty"`          // current percentage of one processor
	CPUSeconds  float64   `json:"cpu_seconds,omitempty"`  // processor time since the sandbox's start
	Processes   int       `json:"processes,omitempty"`    // number of processes on the host that run the sandbox's processes
	Disk        int64     `json:"disk,omitempty"`         // bytes of the root file system on the host's disk
	Measured    time.Time `json:"measured,omitzero"`      // time of the measurement
	MemoryLimit int64     `json:"memory_limit,omitempty"` // bytes; 0 for none
	CPULimit    float64   `json:"cpu_limit,omitempty"`    // processors; 0 for none
}
