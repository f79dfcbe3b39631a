package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Reader reads a record from a given frame on. Only one goroutine may call Next; another
// one may call Take.
type Reader struct {
	record *Record
	next   uint64 // number of the next frame
	block  uint64 // number of the first frame of the last read block
	at     int    // offset of the next frame in that block
	rest   []byte // rest of that block, from at on
	done   bool   // the last frame was read
	buf    []byte // buffer for blocks that are in the file
	closed func() // called when reading ends; may be nil
	taken  uint64 // guarded by record.mu
	reads  uint64 // number of the first frame of the block whose memory is read; 0: none. Guarded by record.mu
}

// Reader returns a reader that starts with the frame numbered from, which can be the next one
// unless the process has ended. It must be closed.
func (r *Record) Reader(from uint64) (*Reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended && from >= r.next: // it would wait forever
		return nil, fmt.Errorf("the last frame is %d, so %d cannot be read", r.next-1, from)
	case from < 1 || from > r.next:
		return nil, fmt.Errorf("the next frame is %d, so %d cannot be read", r.next, from)
	}
	reader := &Reader{record: r, next: from, taken: from - 1}
	r.readers[reader], r.read = true, true
	r.notify() // it no longer needs the frames before
	return reader, nil
}

// Next returns the next frame, and waits for it. Its data is valid until the next call.
// io.EOF comes after the last frame.
func (r *Reader) Next(ctx context.Context) (Frame, error) {
	if lost, err := r.await(ctx); err != nil || lost.Kind == Lost {
		return lost, err
	}
	f, rest, err := parse(r.rest)
	if err != nil {
		return Frame{}, err
	}
	r.advance(f, rest)
	return f, nil
}

// NextEncoded is like Next, but returns all frames that can be read without waiting,
// encoded one after the other; see Frame.Append. They are valid until the next call.
func (r *Reader) NextEncoded(ctx context.Context) ([]byte, error) {
	lost, err := r.await(ctx)
	if err != nil {
		return nil, err
	}
	if lost.Kind == Lost {
		return lost.Append(nil), nil
	}
	all := r.rest
	for len(r.rest) > 0 {
		f, rest, err := parse(r.rest)
		if err != nil {
			return nil, err
		}
		r.advance(f, rest)
	}
	return all, nil
}

// await waits until there is a next frame. It returns a frame if frames are lost.
func (r *Reader) await(ctx context.Context) (lost Frame, err error) {
	for len(r.rest) == 0 {
		if r.done {
			return Frame{}, io.EOF
		}
		lost, changed, err := r.fetch()
		if err != nil || lost.Kind == Lost {
			return lost, err
		}
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
	return Frame{}, nil
}

// advance continues after a frame.
func (r *Reader) advance(f Frame, rest []byte) {
	r.at += len(r.rest) - len(rest)
	r.rest, r.next = rest, f.Seq+1
	r.done = f.Kind == Ended
}

// fetch reads the block with the next frame. It returns a frame if frames are lost, or a
// channel to wait for if there is no frame yet.
func (r *Reader) fetch() (lost Frame, changed <-chan struct{}, err error) {
	r.record.mu.Lock()
	found, ok := r.record.find(r.next)
	if r.reads = 0; ok && found.data != nil {
		r.reads = found.first
	}
	r.record.reuse()
	changed = r.record.changed
	gone := !ok && r.record.ended && len(r.record.blocks) == 0
	file := r.record.file
	r.record.mu.Unlock()
	switch {
	case gone:
		return Frame{}, nil, errors.New("the record is closed")
	case !ok:
		return Frame{}, changed, nil
	case found.first > r.next:
		data, err := json.Marshal(Gap{Next: found.first})
		lost = Frame{Seq: r.next, Kind: Lost, Time: time.Now().UTC(), Data: data}
		r.next = found.first
		return lost, nil, err
	}
	data := found.data
	if data == nil {
		if cap(r.buf) < found.size {
			r.buf = make([]byte, found.size)
		}
		data = r.buf[:found.size]
		if _, err := file.ReadAt(data, found.at); err != nil {
			return Frame{}, nil, fmt.Errorf("reading the output of a process: %w", err)
		}
		r.record.mu.Lock()
		again, ok := r.record.find(found.first)
		r.record.mu.Unlock()
		if !ok || again.first != found.first {
			return Frame{}, nil, nil // dropped in the meantime, and maybe overwritten
		}
	}
	if r.block != found.first {
		r.block, r.at = found.first, 0
	}
	for r.rest = data[r.at:]; ; {
		f, rest, err := parse(r.rest)
		if err != nil {
			return Frame{}, nil, err
		}
		if f.Seq >= r.next {
			return Frame{}, nil, nil
		}
		r.at += len(r.rest) - len(rest)
		r.rest = rest
	}
}

// Take reports that the reader no longer needs the frames up to seq.
func (r *Reader) Take(seq uint64) {
	r.record.mu.Lock()
	defer r.record.mu.Unlock()
	if seq <= r.taken || seq >= r.record.next {
		return
	}
	r.taken = seq
	r.record.taken = max(r.record.taken, seq)
	r.record.notify()
}

// OnClose lets Close call f. It is called before the reader is used.
func (r *Reader) OnClose(f func()) { r.closed = sync.OnceFunc(f) }

// Close ends reading.
func (r *Reader) Close() {
	if r.closed != nil {
		r.closed()
	}
	r.record.mu.Lock()
	defer r.record.mu.Unlock()
	delete(r.record.readers, r)
	r.record.reuse()
	r.record.idle = time.Now()
	r.record.notify()
}
