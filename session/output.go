package session

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// Stream tells where a piece of output came from.
type Stream uint8

// The streams of a box.
const (
	Stdout Stream = 1 // the agent's standard output, or all of a terminal's
	Stderr Stream = 2
	// Notice is aibox's own word to those who follow, one escaped line a chunk: that
	// the model fails, for one. The box has no way to write to it. It is no part of
	// what the agent printed, so screens that show only that leave it out, or show it
	// beside them.
	Notice Stream = 3
)

// Chunk is a piece of recorded output: raw bytes that must pass the terminal
// filter before a person sees them.
type Chunk struct {
	Offset int64 // of Data's first byte in the record
	Stream Stream
	Time   time.Time
	Data   []byte
}

const (
	outputFile = "output.raw"
	indexFile  = "output.idx"

	// indexEntry is the size of one index entry: time (Unix microseconds), end
	// offset, stream, little-endian 64 bits each.
	indexEntry = 24
)

// maxRecord bounds a session's record in bytes: an agent that prints for ever
// must not fill the disk. What comes after is counted and dropped.
const maxRecord = 256 << 20

// recorder appends output to a session's record and wakes those who follow it.
// One goroutine records; any number may follow.
type recorder struct {
	raw, index *os.File
	limit      int64

	mu      sync.Mutex
	end     int64
	dropped int64
	closed  bool
	grown   chan struct{} // closed and replaced at each growth
}

// newRecorder makes the record in the session folder dir, which must have none.
func newRecorder(dir string) (*recorder, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND
	raw, err := os.OpenFile(filepath.Join(dir, outputFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	index, err := os.OpenFile(filepath.Join(dir, indexFile), flags, 0o600)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return &recorder{raw: raw, index: index, limit: maxRecord, grown: make(chan struct{})}, nil
}

// record appends data. Past the limit the rest is dropped; Dropped tells.
func (r *recorder) record(stream Stream, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if room := r.limit - r.end; int64(len(data)) > room {
		r.dropped += int64(len(data)) - room
		data = data[:room]
	}
	if len(data) == 0 {
		return nil
	}
	if _, err := r.raw.Write(data); err != nil {
		return err
	}
	r.end += int64(len(data))
	entry := make([]byte, 0, indexEntry)
	entry = binary.LittleEndian.AppendUint64(entry, uint64(time.Now().UnixMicro()))
	entry = binary.LittleEndian.AppendUint64(entry, uint64(r.end))
	entry = binary.LittleEndian.AppendUint64(entry, uint64(stream))
	if _, err := r.index.Write(entry); err != nil {
		return err
	}
	close(r.grown)
	r.grown = make(chan struct{})
	return nil
}

// Dropped is the number of bytes that did not fit the record.
func (r *recorder) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// size is the number of bytes recorded.
func (r *recorder) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// finish syncs the record and ends every follower after its last chunk.
func (r *recorder) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.grown)
	return errors.Join(r.raw.Sync(), r.index.Sync(), r.raw.Close(), r.index.Close())
}

// follow visits the record of dir from offset from, waiting for growth until
// finish or until ctx ends.
func (r *recorder) follow(ctx context.Context, dir string, from int64, visit func(Chunk) error) error {
	for {
		r.mu.Lock()
		end, closed, grown := r.end, r.closed, r.grown
		r.mu.Unlock()
		if from < end {
			next, err := readOutput(dir, from, false, visit)
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
			return ctx.Err()
		}
	}
}

// readOutput visits what the record of dir holds from offset from on and returns
// the offset behind it. A missing record is empty. With whole, bytes that a crash
// left out of the index come too, as standard output; while a recorder is at
// work they are about to be indexed, so a follower leaves them.
func readOutput(dir string, from int64, whole bool, visit func(Chunk) error) (int64, error) {
	raw, err := os.Open(filepath.Join(dir, outputFile))
	if errors.Is(err, os.ErrNotExist) {
		return from, nil
	}
	if err != nil {
		return from, err
	}
	defer raw.Close()
	index, err := os.Open(filepath.Join(dir, indexFile))
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
	info, err := index.Stat()
	if err != nil {
		return from, err
	}
	entry := make([]byte, indexEntry)
	load := func(i int) error {
		_, err := index.ReadAt(entry, int64(i)*indexEntry)
		return err
	}
	count := int(info.Size() / indexEntry)
	first := sort.Search(count, func(i int) bool {
		err = errors.Join(err, load(i))
		return int64(binary.LittleEndian.Uint64(entry[8:])) > from
	})
	for i := first; i < count && err == nil; i++ {
		if err = load(i); err != nil {
			break
		}
		end := int64(binary.LittleEndian.Uint64(entry[8:]))
		if end <= from || end-from > maxRecord {
			return from, errors.New("the session's output index is damaged")
		}
		data := make([]byte, end-from)
		if _, err = raw.ReadAt(data, from); err != nil {
			break
		}
		chunk := Chunk{
			Offset: from,
			Stream: Stream(entry[16]),
			Time:   time.UnixMicro(int64(binary.LittleEndian.Uint64(entry))),
			Data:   data,
		}
		if err = visit(chunk); err != nil {
			break
		}
		from = end
	}
	return from, err
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
