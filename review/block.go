package review

import (
	"bytes"
	"errors"
)

// applyBlocks replaces lines of a baseline's content. The blocks must be in order, and
// the lines that they remove must match the content.
func applyBlocks(baseline []byte, blocks []block) ([]byte, error) {
	size := len(baseline)
	for _, b := range blocks {
		for _, line := range b.lines {
			size += len(line.Text) + 1
		}
	}
	content := make([]byte, 0, size)
	at, rest := 0, baseline
	next := func() (line []byte) {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line, rest = rest[:end], rest[end:]
		at++
		return line
	}
	for _, b := range blocks {
		if b.at < at {
			return nil, errors.New("two hunks change the same lines")
		}
		for at < b.at {
			if len(rest) == 0 {
				return nil, errors.New("a hunk is past the end of the file")
			}
			content = append(content, next()...)
		}
		for _, line := range b.lines {
			if n := len(content); line.Op != '-' && n > 0 && content[n-1] != '\n' {
				if !b.partial {
					return nil, errors.New("a hunk adds lines after one without a newline")
				}
				content = append(content, '\n')
			}
			text := line.Text
			switch end := !line.NoNewline; {
			case line.Op == '+':
				content = append(content, text...)
				if end {
					content = append(content, '\n')
				}
			case len(rest) == 0:
				return nil, errors.New("a hunk is past the end of the file")
			default:
				was := next()
				if whole, ok := bytes.CutSuffix(was, []byte("\n")); ok != end || !bytes.Equal(whole, text) {
					return nil, errors.New("a hunk removes lines that are not there")
				}
				if line.Op == ' ' {
					content = append(content, was...)
				}
			}
		}
	}
	if n := len(content); n > 0 && content[n-1] != '\n' && len(rest) > 0 {
		return nil, errors.New("a hunk ends without a newline before the end")
	}
	return append(content, rest...), nil
}

// overlaps reports whether the blocks change the same lines, so that only one of them can be applied.
func (b block) overlaps(other block) bool {
	return b.at == other.at || b.at < other.at+other.old && other.at < b.at+b.old
}

// block is a run of changed lines; text hunks consist of these.
type block struct {
	at    int // lines of the baseline before it
	old   int // lines of the baseline it replaces
	lines []Line
	from  int // index of its first line among the hunk's

	partial bool // some of its lines are left out; deleted lines that stay are ' '
}

// blocks are the runs of changed lines of a text hunk.
func (h *Hunk) blocks() []block {
	at := h.OldStart
	if h.OldLines > 0 {
		at--
	}
	var found []block
	open := false
	for i, line := range h.Lines {
		if line.Op == ' ' {
			open = false
			at++
			continue
		}
		if !open {
			found = append(found, block{at: at, from: i})
			open = true
		}
		b := &found[len(found)-1]
		b.lines = h.Lines[b.from : i+1]
		if line.Op == '-' {
			b.old++
			at++
		}
	}
	return found
}
