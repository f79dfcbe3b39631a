package output

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sort"
	"time"
)

// The output index holds the time and stream of each piece of a record. It is a sequence of
// blocks, so that a reader finds any offset without reading all of it. A block begins with
// indexMagic, a time (Unix milliseconds) and an offset into the record, both little-endian
// 64 bits. Entries follow, each two varints: the milliseconds since the previous entry, and
// the length of the piece with its stream in the lowest two bits. An entry never has length
// 0, so zeros fill a block that has no room for the next one.
//
// Sessions of earlier versions have an index without blocks: see readFixedIndex.
const (
	indexMagic  = "aibox\x01ix"
	indexBlock  = 4096
	indexHeader = len(indexMagic) + 16
	// maxOffset bounds the offsets of a record that is not damaged.
	maxOffset = 1 << 40
	// maxIndexEntry bounds one entry in bytes.
	maxIndexEntry = 2 * binary.MaxVarintLen64
)

// Limits of one entry. Pieces within indexWindow share an entry, since agents print in very
// small pieces and no replay is faster than that.
const (
	indexWindow = 10 * time.Millisecond
	indexPiece  = 64 << 10 // bytes
)

// indexFile is the file that an indexWriter writes.
type indexFile interface {
	io.Writer
	Truncate(size int64) error
}

// indexWriter appends entries to an index. It is not safe for concurrent use.
type indexWriter struct {
	file   indexFile
	size   int64 // number of written bytes
	last   int64 // time of the last entry, Unix milliseconds
	offset int64 // offset into the record, after the last entry
}

// add appends the entry of the next piece of the record. If the clock went backwards, the
// time of the last entry is used.
func (w *indexWriter) add(at time.Time, stream Stream, length int64) error {
	now := max(at.UnixMilli(), w.last)
	entry := binary.AppendUvarint(nil, uint64(now-w.last))
	entry = binary.AppendUvarint(entry, uint64(length)<<2|uint64(stream))
	room := int((indexBlock - w.size%indexBlock) % indexBlock)
	if len(entry) > room {
		out := append(make([]byte, room), indexMagic...)
		out = binary.LittleEndian.AppendUint64(out, uint64(now))
		out = binary.LittleEndian.AppendUint64(out, uint64(w.offset))
		out = append(out, 0)
		entry = binary.AppendUvarint(out, uint64(length)<<2|uint64(stream))
	}
	if _, err := w.file.Write(entry); err != nil {
		return errors.Join(err, w.file.Truncate(w.size)) // a full disk may have stored part of it
	}
	w.size += int64(len(entry))
	w.last, w.offset = now, w.offset+length
	return nil
}

// indexEntry is one piece of a record.
type indexEntry struct {
	at     time.Time
	stream Stream
	length int64
}

// errIndexDamaged reports that no recorder can have written an index.
var errIndexDamaged = errors.New("the session's output index is damaged")

// readIndex visits the entries with their offsets, from the one that contains the record's
// offset from. It skips an incomplete entry at the end, which a crash or a concurrent write
// can cause. It also reads indexes of earlier versions.
func readIndex(file *os.File, from int64, visit func(offset int64, entry indexEntry) error) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	magic := make([]byte, len(indexMagic))
	if _, err := file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(magic) != indexMagic {
		return readFixedIndex(file, info.Size(), from, visit)
	}
	count := int((info.Size() + indexBlock - 1) / indexBlock)
	block := make([]byte, indexBlock)
	var failed error
	later := sort.Search(count, func(i int) bool {
		at, err := loadBlock(file, i, block)
		failed = errors.Join(failed, err)
		return at == nil || int64(binary.LittleEndian.Uint64(at[indexHeader-8:])) > from
	})
	if failed != nil {
		return failed
	}
	for i := max(later-1, 0); i < count; i++ {
		loaded, err := loadBlock(file, i, block)
		if err != nil || loaded == nil {
			return err
		}
		if err := readBlock(loaded, from, visit); err != nil {
			return err
		}
	}
	return nil
}

// loadBlock reads a block into buf and returns as much of it as exists: nil if it is
// smaller than a header, which a crash can cause at the end.
func loadBlock(file *os.File, i int, buf []byte) ([]byte, error) {
	n, err := file.ReadAt(buf, int64(i)*indexBlock)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n < indexHeader {
		return nil, nil
	}
	if !bytes.HasPrefix(buf, []byte(indexMagic)) {
		return nil, errIndexDamaged
	}
	return buf[:n], nil
}

// readBlock visits the entries of a block that end after the offset from.
func readBlock(block []byte, from int64, visit func(int64, indexEntry) error) error {
	header := block[len(indexMagic):]
	at, offset := int64(binary.LittleEndian.Uint64(header)), int64(binary.LittleEndian.Uint64(header[8:]))
	rest := block[indexHeader:]
	for len(rest) > 0 {
		step, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil
		}
		value, m := binary.Uvarint(rest[n:])
		if m <= 0 || value == 0 {
			return nil
		}
		rest = rest[n+m:]
		length := int64(value >> 2)
		if length <= 0 || length > MaxSize || offset < 0 || offset > maxOffset || step > 1<<50 {
			return errIndexDamaged
		}
		at += int64(step)
		if offset+length > from {
			if err := visit(offset, indexEntry{time.UnixMilli(at), Stream(value & 3), length}); err != nil {
				return err
			}
		}
		offset += length
	}
	return nil
}

// fixedEntry is the size of an entry in the index of earlier versions: time (Unix
// microseconds), end offset, stream, little-endian 64 bits each.
const fixedEntry = 24

// readFixedIndex is readIndex for an index of earlier versions.
func readFixedIndex(file *os.File, size, from int64, visit func(int64, indexEntry) error) error {
	entry := make([]byte, fixedEntry)
	var err error
	load := func(i int) (end int64) {
		_, loadErr := file.ReadAt(entry, int64(i)*fixedEntry)
		err = errors.Join(err, loadErr)
		return int64(binary.LittleEndian.Uint64(entry[8:]))
	}
	count := int(size / fixedEntry)
	first := sort.Search(count, func(i int) bool { return load(i) > from })
	offset := int64(0)
	if first > 0 {
		offset = load(first - 1)
	}
	for i := first; i < count && err == nil; i++ {
		end := load(i)
		if err != nil {
			break
		}
		if offset < 0 || end <= offset || end-offset > MaxSize {
			return errIndexDamaged
		}
		at := time.UnixMicro(int64(binary.LittleEndian.Uint64(entry)))
		err = visit(offset, indexEntry{at, Stream(entry[16]), end - offset})
		offset = end
	}
	return err
}
