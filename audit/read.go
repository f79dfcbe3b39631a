package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrBroken reports a log that was changed after it was written. A *Damage says where.
var ErrBroken = errors.New("the audit log was changed after it was written")

// Damage is a place where a log was changed after it was written. It is an ErrBroken.
type Damage struct {
	Line    int    // from 1; 0 if it is about the whole file
	Problem string // a clause about that line, or a sentence about the file
}

func (d *Damage) Error() string { return ErrBroken.Error() + ": " + d.String() }

// String returns the place and the problem.
func (d *Damage) String() string {
	if d.Line == 0 {
		return d.Problem
	}
	return fmt.Sprintf("line %d %s", d.Line, d.Problem)
}

// Is reports whether target is ErrBroken.
func (d *Damage) Is(target error) bool { return target == ErrBroken }

// Read calls visit for every event of the log at path, in order, verifying the
// chain on the way. It stops at visit's first error. A torn last line is not an
// error; a missing log has no events. Only Verify detects a log that was cut at its end.
func Read(path string, visit func(Event) error) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	var c chain
	return c.read(file, visit)
}

// chain is how far a log was read.
type chain struct {
	end  int64 // offset after the last whole line
	next int
	prev string
	torn bool // the last line is incomplete

	recorded mark // the end of the log, as recorded
	found    bool // its event is in the log, or a Cut about it
	format   int  // of the log
}

// read verifies the events of r, which begins at c.end, up to its last whole line.
func (c *chain) read(r io.Reader, visit func(Event) error) error {
	in := bufio.NewReaderSize(r, MaxLine)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			c.torn = len(line) > 0
			return nil // a torn line, if any, is dropped
		case errors.Is(err, bufio.ErrBufferFull):
			return &Damage{c.next + 1, "is too long"}
		case err != nil:
			return err
		}
		e, err := c.check(line)
		if err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
		c.next, c.prev = e.Seq+1, e.Hash
		c.end += int64(len(line))
	}
}

// check returns the event in line. The line must be exactly the encoding of the next event.
func (c *chain) check(line []byte) (Event, error) {
	var e Event
	if json.Unmarshal(line, &e) != nil {
		return e, &Damage{c.next + 1, "is not an event"}
	}
	canonical, hash, err := e.encode()
	if err != nil {
		return e, err
	}
	switch {
	case e.Hash != hash || string(canonical)+"\n" != string(line):
		return e, &Damage{c.next + 1, "was edited"}
	case e.Seq > c.next:
		return e, &Damage{c.next + 1, fmt.Sprintf("is event %d, not %d: lines before it were removed or moved", e.Seq, c.next)}
	case e.Seq < c.next:
		return e, &Damage{c.next + 1, fmt.Sprintf("is event %d, not %d: it was repeated or moved", e.Seq, c.next)}
	case e.Prev != c.prev:
		return e, &Damage{c.next + 1, "does not follow the line before it, which was replaced"}
	}
	c.note(e)
	return e, nil
}

// note looks for the recorded end of the log.
func (c *chain) note(e Event) {
	if e.Seq == 0 {
		c.format = e.Format
	}
	if e.Seq == c.recorded.seq && e.Hash == c.recorded.hash {
		c.found = true
	}
	if cut, ok := e.cut(); ok && cut.Hash == c.recorded.hash {
		c.found = true // the record was not updated after that
	}
}

// Cut is the data of LogCut: events at the end of the log were lost before this one.
type Cut struct {
	Found   int    `json:"found"`          // events that were left
	Written int    `json:"written"`        // events that had been written; 0 if unknown, because the record of the end was lost
	Hash    string `json:"last,omitempty"` // hash of the last one
}

// String returns a clause about the line of the event.
func (c Cut) String() string {
	if c.Written == 0 {
		return "follows a lost record of the log's end, so lines before it may be missing"
	}
	return fmt.Sprintf("follows a cut: %d of %d lines were left", c.Found, c.Written)
}

// cut returns the data of a LogCut event.
func (e Event) cut() (Cut, bool) {
	var cut Cut
	return cut, e.Type == LogCut && json.Unmarshal(e.Data, &cut) == nil
}

// checkEnd compares the end of a log that was read with its record. It returns what was
// cut off, or nil.
func (c *chain) checkEnd() (*Cut, error) {
	switch {
	case c.recorded == unknown && c.format >= endRecorded:
		return &Cut{Found: c.next}, nil
	case c.recorded == unknown || c.found:
		return nil, nil
	case c.next <= c.recorded.seq:
		return &Cut{Found: c.next, Written: c.recorded.seq + 1, Hash: c.recorded.hash}, nil
	default:
		return nil, &Damage{c.recorded.seq + 1, "and all lines after it were replaced"}
	}
}

// Verified is the result of verifying a log.
type Verified struct {
	Events int
	First  Event // the first event
	// EndUnknown reports that an earlier version wrote the log, which did not record its end:
	// a cut there cannot be detected.
	EndUnknown bool
	Damage     []*Damage // in the order of lines; empty if the log is as it was written
	// Tail is the part of a line at the end of a log that is whole up to there; nil if there is none.
	// It is damage unless a process was writing the log.
	Tail *Damage
}

// Verify reads the log at path and reports every damage up to the first line that does not
// continue the chain. The log may be in use: only the caller knows whether a Tail is damage.
func Verify(path string) (Verified, error) {
	recorded, err := readLast(path)
	for err == nil {
		var v Verified
		if v, err = verify(path, recorded); err != nil || len(v.Damage) == 0 {
			return v, err
		}
		// The record may have been read while it was written.
		before := recorded
		if recorded, err = readLast(path); err == nil && recorded == before {
			return v, nil
		}
	}
	return Verified{}, err
}

// verify is Verify with the recorded end of the log.
func verify(path string, recorded mark) (Verified, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Verified{Damage: []*Damage{{Problem: "the log was removed"}}}, nil
	}
	if err != nil {
		return Verified{}, err
	}
	defer file.Close()
	var v Verified
	c := chain{recorded: recorded}
	err = c.read(file, func(e Event) error {
		if v.Events++; v.Events == 1 {
			v.First = e
		}
		if cut, ok := e.cut(); ok {
			v.Damage = append(v.Damage, &Damage{e.Seq + 1, cut.String()})
		}
		return nil
	})
	var cut *Cut
	if err == nil {
		cut, err = c.checkEnd()
	}
	if damage, ok := errors.AsType[*Damage](err); ok {
		v.Damage = append(v.Damage, damage)
		return v, nil
	}
	switch {
	case v.Events == 0 && cut == nil:
		v.Damage = append(v.Damage, &Damage{Problem: "the log is empty"})
	case cut != nil:
		v.Damage = append(v.Damage, &Damage{Problem: c.cutText(*cut)})
	case c.torn:
		v.Tail = &Damage{c.next + 1, "has no end: it was cut, or bytes were appended"}
	}
	v.EndUnknown = recorded == unknown && c.format < endRecorded
	return v, err
}

// cutText describes a cut at the end of the log.
func (c *chain) cutText(cut Cut) string {
	if cut.Written == 0 {
		return "the record of the log's end is missing or unreadable, so lines at the end may be missing"
	}
	text := []string{fmt.Sprintf("the log was cut after line %d: %d lines were written", cut.Found, cut.Written)}
	if c.torn {
		text = append(text, "and the last one is incomplete")
	}
	return strings.Join(text, ", ")
}
