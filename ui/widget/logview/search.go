package logview

import (
	"bytes"
	"context"
	"errors"

	"aibox/internal/termtext"
	"aibox/session/output"

	tea "charm.land/bubbletea/v2"
)

// searched carries the offset of a matching line; at is -1 for none.
type searched struct {
	at      int64
	wrapped bool // the search continued at the other end
	err     error
}

// seek searches forward or back, from the current hit or from the first line on the
// screen. It continues at the other end of the log.
func (m *Model) seek(back bool) tea.Cmd {
	if m.words == "" {
		return nil
	}
	from, again := m.window.at(), m.hit >= 0
	if again {
		from = m.hit
	}
	m.loading = true
	m.note.Say("searching for "+termtext.Escape(m.words)+"…", nil)
	scan := scan{ctx: m.ctx, source: m.source, words: fold(m.words)}
	return m.reads.Replace(func() tea.Msg {
		msg := searched{}
		beyond := func(l line) bool { return l.at > from || l.at == from && !again }
		if back {
			msg.at = scan.last(0, func(l line) bool { return l.at < from })
		} else {
			msg.at = scan.first(from, beyond)
		}
		if msg.at < 0 && scan.err == nil {
			msg.wrapped = true
			if back {
				msg.at = scan.last(from, func(line) bool { return true })
			} else {
				msg.at = scan.first(0, func(line) bool { return true })
			}
		}
		msg.err = scan.err
		return msg
	})
}

// scan searches a log.
type scan struct {
	ctx    context.Context //nolint:containedctx // of one command
	source Source
	words  string
	err    error
	// next is where the next scan has to start, once more is recorded.
	next int64
}

// first returns the offset of the first matching line from offset from on that wanted
// accepts; -1 for none.
func (s *scan) first(from int64, wanted func(line) bool) int64 {
	at := int64(-1)
	s.each(from, func(l line) bool {
		if wanted(l) {
			at = l.at
			return false
		}
		return true
	})
	return at
}

// last returns the offset of the last such line before the first one that wanted does not
// accept.
func (s *scan) last(from int64, wanted func(line) bool) int64 {
	at := int64(-1)
	s.each(from, func(l line) bool {
		if !wanted(l) {
			return false
		}
		at = l.at
		return true
	})
	return at
}

// each visits the matching lines from offset from on, which must be the start of a line.
func (s *scan) each(from int64, visit func(line) (more bool)) {
	var reader lineReader
	look := func(lines []line) error {
		for _, l := range lines {
			if l.holds(s.words) && !visit(l) {
				return errEnough
			}
		}
		return s.ctx.Err()
	}
	s.next = from
	err := s.source.Output(from, func(chunk output.Chunk) error {
		s.next = chunk.Offset + int64(len(chunk.Data))
		begin, end := s.skippable(chunk.Data)
		before, after := chunk, chunk
		before.Data = chunk.Data[:begin]
		after.Data, after.Offset = chunk.Data[end:], chunk.Offset+int64(end)
		if err := look(reader.feed(before)); err != nil {
			return err
		}
		return look(reader.feed(after))
	})
	if err == nil {
		rest := reader.rest()
		for _, l := range rest {
			s.next = min(s.next, l.at)
		}
		err = look(rest)
	}
	if err != nil && !errors.Is(err, errEnough) {
		s.err = err
	}
}

// skippable returns the range of whole lines in data that cannot match: most of a long
// log, which then needs no line reader.
func (s *scan) skippable(data []byte) (begin, end int) {
	begin, end = bytes.IndexByte(data, '\n')+1, bytes.LastIndexByte(data, '\n')+1
	lines := data[min(begin, end):end]
	if bytes.ContainsAny(lines, "\x1b\r\b") || bytes.Contains(bytes.ToLower(lines), []byte(s.words)) {
		return len(data), len(data)
	}
	return begin, end
}

// takeSearch shows the hit.
func (m *Model) takeSearch(msg searched) tea.Cmd {
	m.loading = false
	switch {
	case msg.err != nil:
		m.note.Say("", msg.err)
		return nil
	case msg.at < 0:
		m.note.Say("no match for "+termtext.Escape(m.words), nil)
		return nil
	}
	m.note.Say("", nil)
	if msg.wrapped && m.hit >= 0 {
		m.note.Say("search wrapped", nil)
	}
	m.hit = msg.at
	if m.window.reveal(msg.at) {
		return tea.Batch(m.More(), m.count())
	}
	return tea.Batch(m.part(around, msg.at-block/2, msg.at+block/2, msg.at), m.count())
}
