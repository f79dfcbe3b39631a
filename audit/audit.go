// Package audit keeps a session's event log: one JSON object a line, each bound
// to the one before it by a SHA-256 hash, so that Read detects a line that was changed,
// removed or inserted later. The last event is also recorded in a file beside the log, so
// that Verify detects a log that was cut at its end. The log never holds secrets: callers
// pass only what every reader of the session may see.
//
// The hashes have no key: a process that can write all files of a session can replace the log with
// a new one.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// MaxLine bounds one encoded event, in bytes. Larger details are shortened, so that a
// hostile name can neither fill the log with one event nor keep one out of it.
const MaxLine = 64 << 10

// Event is one line of the log.
type Event struct {
	Seq  int             `json:"seq"` // from 0, without gaps
	Time time.Time       `json:"time"`
	Type Type            `json:"type"`
	Data json.RawMessage `json:"data,omitempty"` // an object whose shape depends on Type
	Prev string          `json:"prev"`           // Hash of the event before; "" for the first
	// Format is set in the first event: the end of the log is recorded in a file beside it.
	// Logs of earlier versions have none.
	Format int    `json:"format,omitempty"`
	Hash   string `json:"hash"` // hex SHA-256 of the event with Hash empty
}

// endRecorded is the Format of logs whose end is recorded.
const endRecorded = 2

// unhashed ends an encoded event without its hash.
const unhashed = `"}`

// encode returns the event's line, without a newline, and its hash. It ignores e.Hash.
func (e Event) encode() (line []byte, hash string, err error) {
	e.Hash = ""
	line, err = json.Marshal(e)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(line)
	hash = hex.EncodeToString(sum[:])
	return append(line[:len(line)-len(unhashed)], hash+unhashed...), hash, nil
}

// Log appends events to one file. It is safe for concurrent use by one process; the session's lock
// excludes a second process.
type Log struct {
	mu   sync.Mutex
	file *os.File
	last *os.File // records the last event
	next int
	prev string

	end    int64 // offset after the last event
	closed bool
	grown  chan struct{} // closed and replaced on each event
}

// Open opens or creates the log at path (mode 0600) and continues its chain. A
// torn last line, as a power cut leaves it, is cut off. Lost events at the end of the log
// become an event of their own (LogCut). Any other damage is an error, because appending
// would hide it.
func Open(path string) (*Log, error) {
	recorded, err := readLast(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{file: file, grown: make(chan struct{})}
	cut, err := l.load(recorded)
	if err == nil {
		l.last, err = openLast(path)
	}
	switch {
	case err != nil:
	case cut == nil:
		err = mark{l.next - 1, l.prev}.write(l.last)
	default: // the record shows the cut until this event is in the log
		_, err = l.Append(LogCut, cut)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// load reads the existing events. It returns what was cut off, or nil.
func (l *Log) load(recorded mark) (*Cut, error) {
	c := chain{recorded: recorded}
	if err := c.read(l.file, func(Event) error { return nil }); err != nil {
		return nil, err
	}
	cut, err := c.checkEnd()
	if err != nil {
		return nil, err
	}
	l.next, l.prev, l.end = c.next, c.prev, c.end
	if err := l.file.Truncate(l.end); err != nil {
		return nil, err
	}
	_, err = l.file.Seek(l.end, io.SeekStart)
	return cut, err
}

// Append writes one event. data is nil or anything that encoding/json
// encodes as an object; data that is too large is shortened.
func (l *Log) Append(kind Type, data any) (Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := Event{Seq: l.next, Time: time.Now().UTC(), Type: kind, Prev: l.prev}
	if e.Seq == 0 {
		e.Format = endRecorded
	}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return Event{}, err
		}
		if e.Data, err = shorten(raw); err != nil {
			return Event{}, err
		}
	}
	line, hash, err := e.encode()
	if err != nil {
		return Event{}, err
	}
	e.Hash = hash
	if len(line) >= MaxLine {
		return Event{}, fmt.Errorf("audit: event %q has %d bytes, more than %d", kind, len(line), MaxLine)
	}
	_, err = l.file.Write(append(line, '\n'))
	if err == nil {
		// A crash before this leaves a log that is longer than its record, which is valid.
		err = mark{e.Seq, e.Hash}.write(l.last)
	}
	if err != nil {
		// A part of the line that reached a full disk must not precede the next event.
		_, seekErr := l.file.Seek(l.end, io.SeekStart)
		return Event{}, errors.Join(err, l.file.Truncate(l.end), seekErr)
	}
	l.next, l.prev = e.Seq+1, e.Hash
	l.end += int64(len(line)) + 1
	close(l.grown)
	l.grown = make(chan struct{})
	return e, nil
}

// Next returns the number of the next event.
func (l *Log) Next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// Close syncs and closes the file, and ends every Follow.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.grown)
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	if l.last != nil {
		err = errors.Join(err, l.last.Sync(), l.last.Close())
	}
	return err
}
