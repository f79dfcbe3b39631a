package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"aibox/internal/spool"
)

// blockSize is the size of the blocks of a record, in bytes. The last block is in memory,
// the others are in an unnamed file, so that small output needs no file.
const blockSize = 256 << 10

// smallBlock is the size up to which a block's memory grows as needed.
const smallBlock = 32 << 10

// maxError is the maximum length of the error of an Exit, in bytes.
const maxError = 4 << 10

// MaxRest is how much more than its limit a record keeps of a process that has ended, in bytes:
// more than init still has of its output then.
const MaxRest = 8 << 20

// Record is the output of one process as frames. It keeps a limited number of bytes. It is
// safe for concurrent use; Append and End belong to one goroutine.
type Record struct {
	dir      string // folder of the file
	limit    int64
	overflow Overflow

	mu      sync.Mutex
	blocks  []block // oldest first; the last one is in memory
	kept    int64   // size of all blocks in bytes
	file    *os.File
	slots   []int64 // free places in the file, as offsets
	size    int64   // size of the file
	next    uint64  // number of the next frame
	offsets map[Kind]int64
	readers map[*Reader]bool
	taken   uint64 // the last frame that a reader has taken
	read    bool   // there has been a reader
	idle    time.Time
	rest    int64 // how much more than limit is kept
	ended   bool
	changed chan struct{} // closed and replaced at each change

	leaving []block // blocks in the file whose memory a reader still reads
	spare   []byte  // memory for the next block; nil if there is none
}

// block is a sequence of encoded frames.
type block struct {
	first, last uint64 // numbers of its frames
	data        []byte // nil if it is in the file
	at          int64  // offset in the file
	size        int
}

// NewRecord returns an empty record. It keeps limit bytes; its file is in dir.
func NewRecord(dir string, limit int64, overflow Overflow) *Record {
	return &Record{
		dir: dir, limit: limit, overflow: overflow, next: 1, idle: time.Now(),
		offsets: map[Kind]int64{}, readers: map[*Reader]bool{}, changed: make(chan struct{}),
	}
}

// Append adds output. If the record is full, it drops the oldest frames, or waits until a
// reader has taken them or ctx ends.
func (r *Record) Append(ctx context.Context, kind Kind, p []byte) error {
	for len(p) > 0 {
		part := p[:min(len(p), MaxData)]
		p = p[len(part):]
		if err := r.makeRoom(ctx, int64(frameHeader+len(part))); err != nil {
			return err
		}
		r.mu.Lock()
		err := r.add(Frame{Kind: kind, Offset: r.offsets[kind], Data: part})
		r.offsets[kind] += int64(len(part))
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// CutError returns the error of an Exit in the length that a record keeps. It does not refer to a longer
// text, which a sandbox could make as long as a frame of its lifeline.
func CutError(text string) string {
	if len(text) <= maxError {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:maxError], ""))
}

// End adds the last frame.
func (r *Record) End(exit Exit) error {
	exit.Error = CutError(exit.Error)
	data, err := json.Marshal(exit)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.add(Frame{Kind: Ended, Data: data})
	r.ended, r.spare = true, nil
	return err
}

// add adds a frame. r.mu is held.
func (r *Record) add(f Frame) error {
	f.Seq, f.Time = r.next, time.Now()
	size := frameHeader + len(f.Data)
	if n := len(r.blocks); n == 0 || r.blocks[n-1].size+size > blockSize {
		if n > 0 {
			if err := r.store(&r.blocks[n-1]); err != nil {
				return err
			}
		}
		r.blocks = append(r.blocks, block{first: f.Seq})
	}
	last := &r.blocks[len(r.blocks)-1]
	if needed := last.size + size; needed > cap(last.data) && needed > smallBlock {
		// The output is large: growing step by step would copy it several times.
		if r.spare == nil {
			r.spare = make([]byte, 0, blockSize)
		}
		last.data, r.spare = append(r.spare[:0], last.data...), nil
	}
	last.data = f.Append(last.data)
	last.size, last.last = len(last.data), f.Seq
	r.kept += int64(size)
	r.next++
	r.notify()
	return nil
}

// store moves a block to the file.
func (r *Record) store(b *block) error {
	if r.file == nil {
		file, err := spool.CreateUnnamed(r.dir)
		if err != nil {
			return err
		}
		r.file = file
	}
	if n := len(r.slots); n > 0 {
		b.at, r.slots = r.slots[n-1], r.slots[:n-1]
	} else {
		b.at, r.size = r.size, r.size+blockSize
	}
	if _, err := r.file.WriteAt(b.data, b.at); err != nil {
		return fmt.Errorf("storing the output of a process: %w", err)
	}
	r.leaving = append(r.leaving, *b)
	b.data = nil
	r.reuse()
	return nil
}

// reuse keeps the memory of a block that no reader still reads. r.mu is held.
func (r *Record) reuse() {
	r.leaving = slices.DeleteFunc(r.leaving, func(b block) bool {
		for reader := range r.readers {
			if reader.reads == b.first {
				return false
			}
		}
		if cap(b.data) == blockSize && !r.ended {
			r.spare = b.data
		}
		return true
	})
}

// makeRoom frees space for n bytes.
func (r *Record) makeRoom(ctx context.Context, n int64) error {
	for {
		r.mu.Lock()
		limit := r.limit + r.rest
		for r.kept+n > limit && len(r.blocks) > 1 && r.canDropOldest() {
			r.dropOldest()
		}
		fits, changed := r.kept+n <= limit, r.changed
		r.mu.Unlock()
		if fits {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// canDropOldest reports whether the oldest block may be dropped. r.mu is held.
func (r *Record) canDropOldest() bool {
	return r.overflow == Drop || r.overflow == DropUnread && r.read && len(r.readers) == 0 || r.isSpare()
}

// isSpare reports whether the oldest block can be dropped: no reader still needs its
// frames, and the other blocks fill half of the record, for readers that lost a connection
// and repeat its frames.
func (r *Record) isSpare() bool {
	needless := r.needless()
	if r.blocks[0].last > needless {
		return false
	}
	left := r.limit/2 - blockSize
	for _, b := range r.blocks[1:] {
		if left <= 0 || b.last > needless {
			break
		}
		left -= int64(b.size)
	}
	return left <= 0
}

// needless returns the last frame that all readers have taken. If there is no reader now,
// it is the last frame that any reader has taken.
func (r *Record) needless() uint64 {
	if len(r.readers) == 0 {
		return r.taken
	}
	least := r.next
	for reader := range r.readers {
		least = min(least, reader.taken)
	}
	return least
}

func (r *Record) dropOldest() {
	oldest := r.blocks[0]
	r.blocks = r.blocks[1:]
	r.kept -= int64(oldest.size)
	if oldest.data == nil {
		r.slots = append(r.slots, oldest.at)
	}
}

// notify wakes all goroutines that wait for a change. r.mu is held.
func (r *Record) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Sizes returns the number of the last frame, and the number of bytes in the process's
// output.
func (r *Record) Sizes() (frames uint64, output int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next - 1, r.offsets[Stdout] + r.offsets[Stderr]
}

// Kept returns how many bytes the record takes.
func (r *Record) Kept() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

// DropOldest makes a full record drop its oldest frames from now on, as Drop does, instead of
// waiting for a reader.
func (r *Record) DropOldest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overflow = Drop
	r.notify()
}

// Ending makes room for the rest of the output of a process that has ended, so that its end does
// not wait for a reader.
func (r *Record) Ending() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = MaxRest
	r.notify()
}

// Idle returns when the last reader left; zero while there is a reader.
func (r *Record) Idle() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readers) > 0 {
		return time.Time{}
	}
	return r.idle
}

// AwaitReaders waits until the record has no reader, or ctx ends.
func (r *Record) AwaitReaders(ctx context.Context) {
	for {
		r.mu.Lock()
		reading, changed := len(r.readers) > 0, r.changed
		r.mu.Unlock()
		if !reading {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Delivered reports whether a reader has taken the last frame of an ended process.
func (r *Record) Delivered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended && r.taken >= r.next-1
}

// Close frees the file. Readers fail.
func (r *Record) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks, r.kept, r.ended, r.leaving, r.spare = nil, 0, true, nil, nil
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
	r.notify()
}

// find returns the block with frame seq, or the first one after it; false if it does not
// exist yet. r.mu is held.
func (r *Record) find(seq uint64) (block, bool) {
	i := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].last >= seq })
	if i == len(r.blocks) {
		return block{}, false
	}
	return r.blocks[i], true
}
