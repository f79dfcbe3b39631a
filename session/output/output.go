// Package output records the output of a session's agent: raw bytes, an index of their
// times and streams, and the scrollback of an interactive agent. It filters nothing: what
// it returns must pass the terminal filter before it reaches a terminal.
package output

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Stream is the source of a piece of output.
type Stream uint8

// The streams of a sandbox.
const (
	Stdout Stream = 1 // the agent's standard output, or all of a terminal's
	Stderr Stream = 2
	// Notice is a message of aibox itself to followers, such as a failure of the model,
	// one escaped line per chunk. The sandbox cannot write to it. It is not part of the
	// agent's output, so screens show it separately or not at all.
	Notice Stream = 3
)

// Chunk is a piece of recorded output: raw bytes that must pass the terminal
// filter before they are shown.
type Chunk struct {
	Offset int64 // offset of Data's first byte in the record
	Stream Stream
	Time   time.Time
	Data   []byte
}

const (
	rawName   = "output.raw"
	indexName = "output.idx"
)

// MaxSize is the limit of a record and its index in bytes unless SetLimit changes it, so
// that an agent's endless output does not fill the disk. Output beyond the limit is counted
// and dropped.
const MaxSize = 256 << 20

// noticeRoom is how far notices may exceed the limit: the notice about the limit comes
// last.
const noticeRoom = 1 << 20

// Recorder appends output to a session's record and wakes its followers.
// One goroutine records; any number may follow.
type Recorder struct {
	raw   *os.File
	idx   *os.File
	limit int64

	mu      sync.Mutex
	index   indexWriter
	end     int64
	since   time.Time   // offset of the first byte without an entry; all bytes without one are standard output
	flush   *time.Timer // writes the entry of these bytes
	failed  error       // error of the index, returned by the next Append
	dropped int64
	closed  bool
	grown   chan struct{} // closed and replaced when the record grows
}

// NewRecorder makes the record in the session folder dir, which must not contain one.
func NewRecorder(dir string) (*Recorder, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND
	raw, err := os.OpenFile(filepath.Join(dir, rawName), flags, 0o600)
	if err != nil {
		return nil, err
	}
	idx, err := os.OpenFile(filepath.Join(dir, indexName), flags, 0o600)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	r := &Recorder{raw: raw, idx: idx, limit: MaxSize, index: indexWriter{file: idx}, grown: make(chan struct{})}
	r.flush = time.AfterFunc(time.Hour, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closed {
			r.failed = errors.Join(r.failed, r.addPending())
		}
	})
	r.flush.Stop()
	return r, nil
}

// SetLimit changes the limit in bytes.
func (r *Recorder) SetLimit(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = bytes
}

// Append appends data. Data beyond the limit is dropped, and Dropped counts it.
func (r *Recorder) Append(stream Stream, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	// Space for the data, its entry, and the entry of pending data.
	room := r.limit - r.end - r.index.size - indexRoom
	if stream == Notice {
		room += noticeRoom
	}
	if room = max(room, 0); int64(len(data)) > room {
		r.dropped += int64(len(data)) - room
		data = data[:room]
	}
	if len(data) == 0 {
		return nil
	}
	now := time.Now()
	if err := r.settle(stream, now, len(data)); err != nil {
		return err
	}
	if _, err := r.raw.Write(data); err != nil {
		return errors.Join(err, r.raw.Truncate(r.end)) // a full disk may have stored part of it
	}
	if stream != Stdout { // without an entry it would be read as standard output
		if err := r.index.add(now, stream, int64(len(data))); err != nil {
			return errors.Join(err, r.raw.Truncate(r.end))
		}
	}
	r.end += int64(len(data))
	close(r.grown)
	r.grown = make(chan struct{})
	return nil
}

// indexRoom is how much the index may grow by one record.
const indexRoom = 2 * int64(maxIndexEntry+indexHeader)

// settle writes the entry of pending data if the next bytes need a separate one, and
// notes when pending standard output began. Only standard output may stay pending: bytes
// that a crash leaves without an entry count as such. r.mu is held.
func (r *Recorder) settle(stream Stream, now time.Time, length int) error {
	pending := r.end - r.index.offset
	if pending > 0 && (stream != Stdout || now.Sub(r.since) >= indexWindow || pending+int64(length) > indexPiece) {
		if err := r.addPending(); err != nil {
			return err
		}
		pending = 0
	}
	if stream == Stdout && pending == 0 {
		r.since = now
		r.flush.Reset(indexWindow)
	}
	return nil
}

// addPending writes the entry of the pending bytes. r.mu is held.
func (r *Recorder) addPending() error {
	r.flush.Stop()
	if pending := r.end - r.index.offset; pending > 0 {
		return r.index.add(r.since, Stdout, pending)
	}
	return nil
}

// Dropped returns the number of bytes beyond the record's limit.
func (r *Recorder) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Taken returns the part of the limit that is used by the recorded bytes and their index.
func (r *Recorder) Taken() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end + r.index.size
}

// Size returns the number of recorded bytes.
func (r *Recorder) Size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// Close syncs the record and ends every follower after its last chunk.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := errors.Join(r.failed, r.addPending())
	close(r.grown)
	return errors.Join(err, r.raw.Sync(), r.idx.Sync(), r.raw.Close(), r.idx.Close())
}

// Follow visits the record of dir from the offset from, and waits for new output until
// finish or until ctx ends.
func (r *Recorder) Follow(ctx context.Context, dir string, from int64, visit func(Chunk) error) error {
	for ctx.Err() == nil {
		r.mu.Lock()
		end, indexed, since, closed, grown := r.end, r.index.offset, r.since, r.closed, r.grown
		r.mu.Unlock()
		if from < end {
			next, err := Read(dir, from, false, visit)
			if err == nil && next == from && from >= indexed {
				next, err = readPending(dir, from, end, since, visit)
			}
			if err == nil && next == from {
				err = errIndexDamaged // an entry was lost
			}
			if err != nil {
				return err
			}
			from = next
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
