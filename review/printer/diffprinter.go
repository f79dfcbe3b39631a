package printer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
)

// diffPrinter reads git's patch line by line, by the counts in the hunks' headers, so that
// content cannot be mistaken for a header, and writes it for a terminal.
type diffPrinter struct {
	out     *bufio.Writer
	opts    DiffOptions
	changes []review.Change
	failed  error // of the writer

	line []byte
	long bool // the rest of the line is dropped

	at       int // the current change; the patch has the same order
	sections int // sections of this change so far: a change of type has two
	skipped  bool
	remarks  []Remark // of this change, those not shown yet
	oldMode  string   // old mode of this change, if the mode has changed

	oldLeft, newLeft int // lines of the hunk still to come, of each side
	oldAt, newAt     int // numbers of the next lines
	run              run // changed lines that are not written yet
}

func (s *diffPrinter) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if room := review.MaxLine - len(s.line); len(part) > room {
			part, s.long = part[:room], true
		}
		s.line = append(s.line, part...)
		if !whole {
			continue
		}
		s.take()
		if s.failed != nil {
			return 0, s.failed
		}
	}
	return written, nil
}

// take handles one whole line.
func (s *diffPrinter) take() {
	line, long := s.line, s.long
	s.line, s.long = s.line[:0], false
	switch {
	case s.oldLeft > 0 || s.newLeft > 0 || bytes.HasPrefix(line, []byte(`\`)):
		s.hunkLine(line, long)
	case bytes.HasPrefix(line, []byte("diff --git ")):
		s.nextFile()
	case s.skipped:
		s.count(line) // its lines must be skipped line by line
	case bytes.HasPrefix(line, []byte("@@ ")):
		s.flush()
		s.count(line)
		s.print(cyan, string(line))
	default:
		s.header(string(line))
	}
}

// count parses the spans of a hunk's header; any other line has none.
func (s *diffPrinter) count(line []byte) {
	fields := strings.Fields(string(line[:min(len(line), 100)]))
	if len(fields) < 3 || fields[0] != "@@" {
		return
	}
	s.oldAt, s.oldLeft = span(fields[1])
	s.newAt, s.newLeft = span(fields[2])
}

// span reads "-12,3"; without a count it is 1.
func span(text string) (at, lines int) {
	start, count, given := strings.Cut(strings.TrimLeft(text, "-+"), ",")
	at, _ = strconv.Atoi(start)
	if !given {
		return at, 1
	}
	lines, _ = strconv.Atoi(count)
	return at, lines
}

// hunkLine takes a line of a hunk.
func (s *diffPrinter) hunkLine(line []byte, long bool) {
	if len(line) == 0 {
		return
	}
	l := hunkLine{op: line[0], text: slices.Clone(line[1:]), long: long}
	switch l.op {
	case '+':
		l.number = s.newAt
		s.newAt, s.newLeft = s.newAt+1, s.newLeft-1
	case '-':
		l.number = s.oldAt
		s.oldAt, s.oldLeft = s.oldAt+1, s.oldLeft-1
	case '\\': // always so for a symbolic link
		if n := len(s.run.lines); n > 0 && s.changes[max(s.at, 0)].ModeOf(s.run.lines[n-1].op) == string(git.Symlink) {
			return
		}
	case ' ':
		l.number = s.newAt
		s.oldAt, s.oldLeft = s.oldAt+1, s.oldLeft-1
		s.newAt, s.newLeft = s.newAt+1, s.newLeft-1
	}
	if s.skipped || l.op == '-' && s.changes[max(s.at, 0)].LFS != nil { // a line of the pointer is not an older version
		return
	}
	if l.op == ' ' || l.op == '-' && s.run.added > 0 || s.run.full() {
		s.flush()
	}
	s.run.add(l)
	if l.op == ' ' {
		s.flush()
	}
}

// flush writes the buffered changed lines.
func (s *diffPrinter) flush() {
	s.run.highlight()
	for _, l := range s.run.lines {
		s.write(l.shown(s.opts.Color) + "\n")
		s.remarked(func(r Remark) bool {
			return r.Line == l.number && r.Old == (l.op == '-')
		})
	}
	s.run = run{lines: s.run.lines[:0]}
}

// nextFile begins a file. Its name is the change's: what git writes is quoted.
func (s *diffPrinter) nextFile() {
	s.endFile()
	s.sections++
	if s.at < 0 || s.changes[s.at].Kind != review.TypeChanged || s.sections > 2 {
		s.at, s.sections = s.at+1, 1
	}
	if s.at >= len(s.changes) {
		s.at, s.failed = len(s.changes)-1, errors.New("git shows more files than were changed")
		return
	}
	c := &s.changes[s.at]
	if s.skipped = s.opts.Only != nil && !s.opts.Only(c); s.skipped {
		return
	}
	s.print(bold, "diff --git a/"+oldName(c)+" b/"+c.Path.String())
	if c.LFS != nil {
		s.print(bold, c.DescribeLFS())
	}
	if s.opts.Remarks != nil && s.sections == 1 {
		s.remarks = slices.Clone(s.opts.Remarks(c))
		s.remarked(func(r Remark) bool { return r.Line <= 0 })
	}
}

// endFile writes the remaining remarks of a file.
func (s *diffPrinter) endFile() {
	s.flush()
	if s.at < 0 || s.changes[s.at].Kind == review.TypeChanged && s.sections < 2 {
		return
	}
	for i, r := range s.remarks { // in lines that are not shown
		s.remarks[i].Text = fmt.Sprintf("line %d: %s", r.Line, r.Text)
	}
	s.remarked(func(Remark) bool { return true })
}

// header writes a line between a file's name and its hunks.
func (s *diffPrinter) header(line string) {
	c := &s.changes[max(s.at, 0)]
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "index": // object ids are meaningless to the user
		if strings.HasSuffix(rest, " "+string(git.Symlink)) {
			s.print(bold, review.DescribeFile(string(git.Symlink)))
		}
	case word == "old" && strings.HasPrefix(rest, "mode "):
		s.oldMode = rest[len("mode "):]
	case word == "new" && strings.HasPrefix(rest, "mode "):
		s.print(bold, review.DescribeMode(s.oldMode, rest[len("mode "):]))
	case (word == "new" || word == "deleted") && strings.HasPrefix(rest, "file mode "):
		s.print(bold, word+" "+review.DescribeFile(rest[len("file mode "):]))
	case word == "---" && rest != "/dev/null":
		s.print(bold, "--- a/"+oldName(c))
	case word == "+++" && rest != "/dev/null":
		s.print(bold, "+++ b/"+c.Path.String())
	case word == "rename" && strings.HasPrefix(rest, "from "):
		s.print(bold, "rename from "+oldName(c))
	case word == "rename" && strings.HasPrefix(rest, "to "):
		s.print(bold, "rename to "+c.Path.String())
	case word == "Binary":
		s.print(bold, fmt.Sprintf("binary, %d bytes", c.Size))
	default:
		s.print(bold, line)
	}
}

// oldName is the escaped name in the baseline.
func oldName(c *review.Change) string {
	if c.OldPath != "" {
		return c.OldPath.String()
	}
	return c.Path.String()
}

// remarked writes the remarks for the current line and removes them from the list.
func (s *diffPrinter) remarked(fits func(Remark) bool) {
	s.remarks = slices.DeleteFunc(s.remarks, func(r Remark) bool {
		if !fits(r) {
			return false
		}
		style, lead := cyan, "▌ "
		if r.Alarm {
			style, lead = yellow, "! "
		}
		for line := range strings.SplitSeq(strings.TrimRight(r.Text, "\n"), "\n") {
			s.print(style, lead+line)
		}
		return true
	})
}

// print writes a line, escaped.
func (s *diffPrinter) print(style, text string) {
	s.write(styled(termtext.Text(text), style, s.opts.Color) + "\n")
}

func styled(text, style string, color bool) string {
	if style == "" || !color {
		return text
	}
	return style + text + reset
}

func (s *diffPrinter) write(text string) {
	if _, err := s.out.WriteString(text); err != nil && s.failed == nil {
		s.failed = err
	}
}

func (s *diffPrinter) end() error {
	if len(s.line) > 0 {
		s.take()
	}
	if s.at >= 0 {
		s.endFile()
	}
	return s.failed
}

// folder writes the entry of a folded folder.
func (s *diffPrinter) folder(c *review.Change) {
	s.print(bold, c.Path.String()+": "+c.Folded())
	if s.opts.Remarks != nil {
		s.remarks = slices.Clone(s.opts.Remarks(c))
		s.remarked(func(Remark) bool { return true })
	}
}
