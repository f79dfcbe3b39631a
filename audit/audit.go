// Package audit keeps a session's event log: one JSON object a line, each bound
// to the one before it by a SHA-256 hash, so that Read detects a line that was changed,
// removed or inserted later. It never holds secrets: callers pass only what every reader
// of the session may see.
package audit

import (
	"bufio"
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
	Hash string          `json:"hash"`           // hex SHA-256 of the event with Hash empty
}

// hash returns the event's own hash: over its JSON form with an empty Hash field.
func (e Event) hash() (string, error) {
	e.Hash = ""
	line, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

// Log appends events to one file. It is safe for concurrent use by one process;
// the session's lock keeps a second process away.
type Log struct {
	mu   sync.Mutex
	file *os.File
	next int
	prev string

	end    int64 // offset after the last event
	closed bool
	grown  chan struct{} // closed and replaced on each event
}

// Open opens or creates the log at path (mode 0600) and continues its chain. A
// torn last line, as a power cut leaves it, is cut off; any other damage is an
// error, because appending would hide it.
func Open(path string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{file: file, grown: make(chan struct{})}
	l.end, err = scan(file, func(e Event) error {
		l.next, l.prev = e.Seq+1, e.Hash
		return nil
	})
	if err == nil {
		err = file.Truncate(l.end)
	}
	if err == nil {
		_, err = file.Seek(l.end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// Append writes one event. data is nil or anything that encoding/json
// encodes as an object; data that is too large is shortened.
func (l *Log) Append(kind Type, data any) (Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := Event{Seq: l.next, Time: time.Now().UTC(), Type: kind, Prev: l.prev}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return Event{}, err
		}
		if e.Data, err = shorten(raw); err != nil {
			return Event{}, err
		}
	}
	var err error
	if e.Hash, err = e.hash(); err != nil {
		return Event{}, err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return Event{}, err
	}
	if len(line) >= MaxLine {
		return Event{}, fmt.Errorf("audit: event %q has %d bytes, more than %d", kind, len(line), MaxLine)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
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

// Close syncs and closes the file, and ends every Follow.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.grown)
	}
	return errors.Join(l.file.Sync(), l.file.Close())
}

// Read calls visit for every event of the log at path, in order, verifying the
// chain on the way. It stops at visit's first error. A torn last line is not an
// error; a missing log has no events.
func Read(path string, visit func(Event) error) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = scan(file, visit)
	return err
}

// ErrBroken reports a log whose hash chain does not verify.
var ErrBroken = errors.New("the audit log was changed after it was written")

// scan verifies events from the start of r and returns the offset after the
// last whole line.
func scan(r io.Reader, visit func(Event) error) (int64, error) {
	var c chain
	err := c.read(r, visit)
	return c.end, err
}

// chain is how far a log was read.
type chain struct {
	end  int64 // offset after the last whole line
	next int
	prev string
}

// read verifies the events of r, which begins at c.end, up to its last whole line.
func (c *chain) read(r io.Reader, visit func(Event) error) error {
	in := bufio.NewReaderSize(r, MaxLine)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // a torn line, if any, is dropped
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%w: line %d is too long", ErrBroken, c.next+1)
		case err != nil:
			return err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%w: line %d is not an event", ErrBroken, c.next+1)
		}
		want, err := e.hash()
		if err != nil {
			return err
		}
		if e.Seq != c.next || e.Prev != c.prev || e.Hash != want {
			return fmt.Errorf("%w: line %d does not follow the one before", ErrBroken, c.next+1)
		}
		if err := visit(e); err != nil {
			return err
		}
		c.next, c.prev = e.Seq+1, e.Hash
		c.end += int64(len(line))
	}
}
