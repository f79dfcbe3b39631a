package scan

import (
	"encoding/binary"
	"errors"
	"strings"

	"aibox/internal/git"
	"aibox/internal/spool"
	"aibox/review"
)

// encode appends the candidate as a record.
func (c candidate) encode(to []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(c.was+1)), c.path...)
}

func decodeCandidate(record []byte) candidate {
	was, n := binary.Uvarint(record)
	return candidate{path: string(record[n:]), was: int(was) - 1}
}

// results are the changed files that a workspace holds.
type results struct {
	changed spool.Spool
	total   review.ListSize
	most    int              // files that are listed
	sizes   map[string]int64 // of contents, by path; as long as all are listed
	notes   map[string][]string
}

func newResults(scratch string, most int) results {
	return results{changed: spool.Spool{Dir: scratch}, most: most, sizes: map[string]int64{}, notes: map[string][]string{}}
}

// add keeps a changed file.
func (f *results) add(out outcome) error {
	path := out.entry.Path
	f.total.Add(path)
	if !f.total.Within(f.most) {
		f.sizes = nil
	} else if out.size >= 0 {
		f.sizes[path] = out.size
	}
	if len(out.notes) > 0 && len(f.notes) < f.most { // only files of the baseline have any
		f.notes[path] = out.notes
	}
	return f.changed.Add([]byte(string(out.entry.Mode) + " " + out.entry.ID + " " + path))
}

// each visits the changed files, in no order.
func (f *results) each(visit func(git.Entry)) error {
	return f.changed.Each(func(record []byte) error {
		mode, rest, _ := strings.Cut(string(record), " ")
		id, path, ok := strings.Cut(rest, " ")
		if !ok {
			return errors.New("a record of a changed file is damaged")
		}
		visit(git.Entry{Mode: git.Mode(mode), ID: id, Path: path})
		return nil
	})
}
