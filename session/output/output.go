// Package output records the output of a session's agent: raw bytes, an index of their
// times and streams, and the scrollback of an interactive agent. It filters nothing: what
// it returns must pass the terminal filter before it reaches a terminal.
package output

import (
	"context"
	"errors"
	"io"
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
	Offset int64 // of Data's first byte in the record
	Stream Stream
	Time   time.Time
	Data   []byte
}

const (
	rawName   = "output.raw"
	indexName = "output.idx"
)

// MaxSize limits the size of a session's record and index in bytes, so that an agent that
// prints forever does not fill the disk. Output beyond it is counted and dropped.
const MaxSize = 256 << 20

// Recorder appends output to a session's record and wakes its followers.
// One goroutine records; any number may follow.
type Recorder struct {
	raw   *os.File
	idx   *os.File
	limit int64

	mu      sync.Mutex
	index   indexWriter
	end     int64
	since   time.Time   // of the first byte that has no entry yet, all of which are standard output
	flush   *time.Timer // gives them their entry
	failed  error       // of the index, returned by the next Append
	dropped int64
	closed  bool
	grown   chan struct{} // closed and replaced at each growth
}

// NewRecorder makes the record in the session folder dir, which must have none.
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

// Append appends data. Past the limit the rest is dropped; Dropped counts it.
func (r *Recorder) Append(stream Stream, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	// Room for the data, its entry, and the entry of pending data.
	room := max(r.limit-r.end-r.index.size-indexRoom, 0)
	if int64(len(data)) > room {
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
		return errors.Join(err, r.raw.Truncate(r.end)) // a full disk may have stored a part
	}
	if stream != Stdout { // without an entry it would count as standard output
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

// Size is the number of bytes recorded.
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

// Follow visits the record of dir from offset from, waiting for growth until
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
				err = errIndexDamaged // it has lost an entry
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

// Read visits what the record of dir holds from offset from on and returns
// the offset after it. A missing record is empty. With whole, bytes that a crash
// left out of the index come too, as standard output; while a recorder is at
// work they are about to be indexed, so a follower leaves them.
func Read(dir string, from int64, whole bool, visit func(Chunk) error) (int64, error) {
	raw, err := os.Open(filepath.Join(dir, rawName))
	if errors.Is(err, os.ErrNotExist) {
		return from, nil
	}
	if err != nil {
		return from, err
	}
	defer raw.Close()
	index, err := os.Open(filepath.Join(dir, indexName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return from, err
	}
	if err == nil {
		defer index.Close()
		if from, err = readIndexed(raw, index, from, visit); err != nil {
			return from, err
		}
	}
	if !whole {
		return from, nil
	}
	return readTail(raw, from, visit)
}

// readIndexed visits the indexed chunks from offset from on.
func readIndexed(raw, index *os.File, from int64, visit func(Chunk) error) (int64, error) {
	err := readIndex(index, from, func(offset int64, entry indexEntry) error {
		if offset > from {
			return errIndexDamaged
		}
		data := make([]byte, offset+entry.length-from)
		if _, err := raw.ReadAt(data, from); err != nil {
			return err
		}
		chunk := Chunk{Offset: from, Stream: entry.stream, Time: entry.at, Data: data}
		if err := visit(chunk); err != nil {
			return err
		}
		from += int64(len(data))
		return nil
	})
	return from, err
}

// readPending visits the bytes up to offset end that have no entry in the index yet.
func readPending(dir string, from, end int64, since time.Time, visit func(Chunk) error) (int64, error) {
	raw, err := os.Open(filepath.Join(dir, rawName))
	if err != nil {
		return from, err
	}
	defer raw.Close()
	data := make([]byte, end-from)
	if _, err := raw.ReadAt(data, from); err != nil {
		return from, err
	}
	return end, visit(Chunk{Offset: from, Stream: Stdout, Time: since, Data: data})
}

// readTail visits what lies in raw from offset from on.
func readTail(raw *os.File, from int64, visit func(Chunk) error) (int64, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := raw.ReadAt(buf, from)
		if n > 0 {
			if err := visit(Chunk{Offset: from, Stream: Stdout, Data: buf[:n]}); err != nil {
				return from, err
			}
			from += int64(n)
		}
		if errors.Is(err, io.EOF) || n == 0 {
			return from, nil
		}
		if err != nil {
			return from, err
		}
	}
}

// Size returns the number of bytes that the record of dir holds; 0 without one.
func Size(dir string) (int64, error) {
	info, err := os.Stat(filepath.Join(dir, rawName))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Tail returns at most the last limit bytes of the record of dir, all streams in the
// order in which they came, raw.
func Tail(dir string, limit int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(dir, rawName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-limit), limit))
}
