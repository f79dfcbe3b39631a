package review

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxHunkLines is how many lines of one file are kept. A longer diff can only be accepted
// as a whole.
const maxHunkLines = 500_000

// patchVisitor receives the parts of the output of git diff-tree --raw -p.
type patchVisitor interface {
	raw(line string) error         // a line of the list, with its colon
	section(s *patchSection) error // the patch of one file, in the order of the list
	end() error
}

// patchSection is the patch of one file.
type patchSection struct {
	hunks []Hunk // hunks that have only numbers, section and lines
	count int    // lines kept
	long  bool   // there are more lines, which are not kept
}

// lines returns the lines of all hunks; none if there are too many.
func (s *patchSection) lines() []Line {
	if s.long || len(s.hunks) == 0 {
		return nil
	}
	if len(s.hunks) == 1 {
		return s.hunks[0].Lines
	}
	var all []Line
	for _, h := range s.hunks {
		all = append(all, h.Lines...)
	}
	return all
}

// readPatch reads the output of git diff-tree --raw -p (git-diff(1), "Raw output format"
// and "Generating patch text with -p"). Content cannot be mistaken for a header, since the
// lines of a hunk are counted.
func readPatch(r io.Reader, to patchVisitor) error {
	p := &patchReader{in: bufio.NewReaderSize(r, 64<<10), to: to}
	for {
		line, err := p.line()
		if errors.Is(err, io.EOF) {
			if err := p.flush(); err != nil {
				return err
			}
			return to.end()
		}
		if err == nil {
			err = p.take(line)
		}
		if err != nil {
			return err
		}
	}
}

type patchReader struct {
	in    *bufio.Reader
	to    patchVisitor
	now   *patchSection
	arena textArena
}

// textArena allocates the texts of lines in large blocks.
type textArena []byte

// arenaSize is the size of a block, since most lines are far shorter.
const arenaSize = 32 << 10

// keep copies the text of a line.
func (r *textArena) keep(text []byte) []byte {
	if len(text) > arenaSize/8 {
		return bytes.Clone(text)
	}
	if len(text) > len(*r) {
		*r = make([]byte, arenaSize)
	}
	kept := (*r)[:len(text):len(text)]
	*r = (*r)[len(text):]
	copy(kept, text)
	return kept
}

// line returns the next line without its newline. A short one is valid until the next
// call.
func (p *patchReader) line() ([]byte, error) {
	line, err := p.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = p.in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// take reads one line outside of hunks, with the hunk that it begins, if any.
func (p *patchReader) take(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("diff --git ")):
		if err := p.flush(); err != nil {
			return err
		}
		p.now = &patchSection{}
		return nil
	case p.now == nil && len(line) == 0:
		return nil
	case p.now == nil && line[0] == ':':
		return p.to.raw(string(line))
	case p.now == nil:
		return fmt.Errorf("unexpected line from git diff-tree: %.200q", line)
	case bytes.HasPrefix(line, []byte("@@ -")):
		return p.hunk(string(line))
	}
	return nil // modes, index, names, "Binary files … differ": the list has all of it
}

func (p *patchReader) flush() error {
	if p.now == nil {
		return nil
	}
	s := p.now
	p.now = nil
	return p.to.section(s)
}

// hunk reads the lines of a hunk.
func (p *patchReader) hunk(header string) error {
	h, err := parseHeader(header)
	if err != nil {
		return err
	}
	s := p.now
	if all := h.OldLines + h.NewLines; s.count+all <= maxHunkLines { // context counts twice
		h.Lines = make([]Line, 0, max(h.OldLines, h.NewLines))
	}
	for old, fresh := h.OldLines, h.NewLines; old > 0 || fresh > 0; {
		line, err := p.line()
		if err != nil {
			return fmt.Errorf("git diff-tree ends within a hunk: %w", noEOF(err))
		}
		if len(line) == 0 {
			return errors.New("git diff-tree prints an empty line within a hunk")
		}
		switch line[0] {
		case ' ':
			old, fresh = old-1, fresh-1
		case '-':
			old--
		case '+':
			fresh--
		case '\\':
			noNewline(h.Lines)
			continue
		default:
			return fmt.Errorf("unexpected line from git diff-tree within a hunk: %.200q", line)
		}
		if s.count++; s.count > maxHunkLines {
			s.long, s.hunks, h.Lines = true, nil, nil
		}
		if !s.long {
			h.Lines = append(h.Lines, Line{Op: line[0], Text: p.arena.keep(line[1:])})
		}
		if old < 0 || fresh < 0 {
			return errors.New("git diff-tree prints more lines in a hunk than it announces")
		}
	}
	if next, _ := p.in.Peek(1); len(next) == 1 && next[0] == '\\' {
		if _, err := p.line(); err != nil {
			return noEOF(err)
		}
		noNewline(h.Lines)
	}
	if !s.long {
		s.hunks = append(s.hunks, h)
	}
	return nil
}

// noNewline marks the last line.
func noNewline(lines []Line) {
	if len(lines) > 0 {
		lines[len(lines)-1].NoNewline = true
	}
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHeader reads "@@ -12,3 +14,2 @@ section".
func parseHeader(line string) (Hunk, error) {
	var h Hunk
	bad := fmt.Errorf("unexpected line from git diff-tree: %.200q", line)
	spans, section, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	before, after, both := strings.Cut(spans, " ")
	if !ok || !both || !strings.HasPrefix(before, "-") || !strings.HasPrefix(after, "+") {
		return h, bad
	}
	var err1, err2 error
	h.OldStart, h.OldLines, err1 = parseSpan(before[1:])
	h.NewStart, h.NewLines, err2 = parseSpan(after[1:])
	if err1 != nil || err2 != nil || h.OldLines+h.NewLines == 0 {
		return h, bad
	}
	h.Section = strings.TrimPrefix(section, " ")
	return h, nil
}

// parseSpan reads "12,3" or "12", which is one line.
func parseSpan(span string) (start, lines int, err error) {
	first, count, ok := strings.Cut(span, ",")
	lines = 1
	if ok {
		if lines, err = number(count); err != nil {
			return 0, 0, err
		}
	}
	if start, err = number(first); err != nil {
		return 0, 0, err
	}
	if lines > 0 && start == 0 {
		return 0, 0, errors.New("there is no line 0")
	}
	return start, lines, nil
}

// number parses an unsigned number that cannot overflow.
func number(digits string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err
}
