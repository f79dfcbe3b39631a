// Package spool stores records in order: a few in memory, more in an unnamed file. It limits
// the memory of lists whose length an agent determines.
package spool

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// spoolMemory is the maximum size of the records in memory, in bytes.
const spoolMemory = 1 << 20

// Spool stores records in order: a few in memory, more in an unnamed file. It is not safe for
// concurrent use. The caller must close it.
type Spool struct {
	Dir   string // for the file
	buf   []byte // each record with its length before it
	file  *os.File
	size  int64 // of the file
	Count int
}

func (s *Spool) Add(record []byte) error {
	s.buf = append(binary.AppendUvarint(s.buf, uint64(len(record))), record...)
	s.Count++
	if len(s.buf) < spoolMemory {
		return nil
	}
	return s.spill()
}

// spill moves the records in memory to the file.
func (s *Spool) spill() (err error) {
	if s.file == nil {
		if s.file, err = CreateUnnamed(s.Dir); err != nil {
			return err
		}
	}
	n, err := s.file.WriteAt(s.buf, s.size)
	s.size += int64(n)
	s.buf = s.buf[:0]
	if err != nil {
		return fmt.Errorf("noting what was found: %w", err)
	}
	return nil
}

// Each visits the records in order. A record is valid until visit returns.
func (s *Spool) Each(visit func(record []byte) error) error {
	parts := []io.Reader{bytes.NewReader(s.buf)}
	if s.file != nil {
		parts = []io.Reader{io.NewSectionReader(s.file, 0, s.size), parts[0]}
	}
	in := bufio.NewReaderSize(io.MultiReader(parts...), 64<<10)
	var record []byte
	for range s.Count {
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return fmt.Errorf("reading what was found: %w", err)
		}
		if uint64(cap(record)) < size {
			record = make([]byte, size)
		}
		record = record[:size]
		if _, err := io.ReadFull(in, record); err != nil {
			return fmt.Errorf("reading what was found: %w", err)
		}
		if err := visit(record); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spool) Close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// CreateUnnamed creates a file without a name in dir, which vanishes when it is closed.
func CreateUnnamed(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, ".snapshot-*")
	if err != nil {
		return nil, fmt.Errorf("making a file to note in: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
