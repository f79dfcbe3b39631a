package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Read visits the chunks in the record of dir from the offset from on and returns the
// offset after them. A missing record is empty. If whole is set, Read includes bytes that
// are missing in the index because of a crash, as standard output, and so all bytes after a
// damaged place in it. A follower omits them, because a running recorder is about to index them.
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
		from, err = readIndexed(raw, index, from, visit)
		if err != nil && !(whole && errors.Is(err, errIndexDamaged)) {
			return from, err
		}
	}
	if !whole {
		return from, nil
	}
	return readTail(raw, from, visit)
}

// readIndexed visits the indexed chunks from the offset from on.
func readIndexed(raw, index *os.File, from int64, visit func(Chunk) error) (int64, error) {
	err := readIndex(index, from, func(offset int64, entry indexEntry) error {
		if offset > from {
			return errIndexDamaged
		}
		data := make([]byte, offset+entry.length-from)
		if _, err := raw.ReadAt(data, from); errors.Is(err, io.EOF) { // a part was lost in a crash
			return errIndexDamaged
		} else if err != nil {
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

// readTail visits the bytes of raw from the offset from on.
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

// Size returns the number of bytes in the record of dir; 0 if there is none.
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

// Tail returns at most the last limit bytes of the record of dir, all streams in the order
// of their output, raw.
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
