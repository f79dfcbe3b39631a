package review

import (
	"bytes"
	"context"
	"errors"

	"aibox/internal/git"
)

// Span is the range [From, To) of the lines of a file, counted from 0.
type Span struct{ From, To int }

// MaxLine is how many bytes of a line are kept; a longer line is cut.
const MaxLine = 64 << 10

// lineCost is how many bytes a line takes in addition to its text.
const lineCost = 48

// OldLines reads lines of the baseline's version of a changed file, in which hunks count
// their old lines. The spans must be in order and must not overlap. It returns the lines of
// each span and the number of lines in the file. It keeps at most most bytes; lines beyond
// that are left out, and lines of more than 64 KB are cut. A new file has no old lines.
func (cs *ChangeSet) OldLines(ctx context.Context, path Path, most int, spans ...Span) (lines [][]Line, total int, err error) {
	found, err := cs.indexes([]Path{path})
	if err != nil {
		return nil, 0, err
	}
	read := lineReader{spans: spans, most: most, lines: make([][]Line, len(spans))}
	id := cs.Changes[found[0]].OldBlob
	if id == "" {
		return read.lines, 0, nil
	}
	blobs := git.Owned(cs.GitDir).Blobs(ctx)
	err = blobs.Copy(id, &read)
	if err = errors.Join(err, blobs.Close()); err != nil {
		return nil, 0, err
	}
	read.end()
	return read.lines, read.at, nil
}

// lineReader is a writer that keeps the lines of some spans.
type lineReader struct {
	spans []Span
	most  int // bytes that may still be kept
	lines [][]Line
	in    int // the current span, or the next one
	at    int // the current line
	begun bool
	line  []byte // its bytes, if it is wanted
	room  textArena
}

// Write takes the next bytes of the file.
func (r *lineReader) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		data, r.begun = rest, true
		if r.wanted() {
			r.line = append(r.line, part[:min(len(part), MaxLine-len(r.line))]...)
		}
		if whole {
			r.take(false)
		}
	}
	return written, nil
}

// wanted reports whether to keep the current line.
func (r *lineReader) wanted() bool {
	for r.in < len(r.spans) && r.at >= r.spans[r.in].To {
		r.in++
	}
	return r.in < len(r.spans) && r.at >= r.spans[r.in].From && r.most > 0
}

// take ends the current line.
func (r *lineReader) take(noNewline bool) {
	if r.wanted() {
		if r.most -= len(r.line) + lineCost; r.most >= 0 {
			if r.lines[r.in] == nil {
				r.lines[r.in] = make([]Line, 0, min(r.spans[r.in].To-r.at, r.most/lineCost+1))
			}
			r.lines[r.in] = append(r.lines[r.in], Line{Op: ' ', Text: r.room.keep(r.line), NoNewline: noNewline})
		}
		r.line = r.line[:0]
	}
	r.at, r.begun = r.at+1, false
}

// end ends a last line without a newline.
func (r *lineReader) end() {
	if r.begun {
		r.take(true)
	}
}
