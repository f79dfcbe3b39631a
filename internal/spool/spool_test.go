package spool

import (
	"fmt"
	"strings"
	"testing"
)

func TestSpoolReturnsItsDataInOrder(t *testing.T) {
	s := Spool{Dir: t.TempDir()}
	defer s.Close()
	for i := range 3000 {
		if err := s.Add([]byte(strings.Repeat("r", i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.buf) > 2*spoolMemory || s.file == nil {
		t.Errorf("%d bytes are in memory", len(s.buf))
	}
	for range 2 {
		next := 0
		err := s.Each(func(record []byte) error {
			if len(record) != next {
				return fmt.Errorf("record %d has %d bytes", next, len(record))
			}
			next++
			return nil
		})
		if err != nil || next != 3000 {
			t.Fatalf("%d records: %v", next, err)
		}
	}
}
