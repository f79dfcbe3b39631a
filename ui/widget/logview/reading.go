package logview

import (
	"context"
	"errors"
	"slices"

	"aibox/session/output"
	"aibox/ui/widget/stream"

	tea "charm.land/bubbletea/v2"
)

// block is how much of the log is read at once, in bytes: several screens of long lines, and
// few enough short ones that Update splits them into lines between two frames.
const block = 32 << 10

// errEnough stops reading.
var errEnough = errors.New("enough")

// loaded carries a part of the log. from is its start, at the beginning of a line.
type loaded struct {
	place  place
	from   int64
	chunks []output.Chunk
	reveal int64 // the offset of the line to show, for around
	err    error
}

// place is where a part of the log belongs.
type place int

// The places.
const (
	before place = iota // before the part in memory
	after               // after the part in memory
	around              // replaces the part in memory
	atEnd               // replaces it, and is followed
)

// part reads [from, to) of the log.
func (m *Model) part(where place, from, to, reveal int64) tea.Cmd {
	m.loading = true
	ctx, source := m.ctx, m.source
	return m.reads.Replace(func() tea.Msg {
		msg := loaded{place: where, from: max(0, from), reveal: reveal}
		if where == atEnd {
			size, err := source.Size()
			if err != nil {
				msg.err = err
				return msg
			}
			msg.from, to = max(0, size-block), size
		}
		begin := msg.from
		err := source.Output(begin, func(chunk output.Chunk) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if chunk.Offset >= to {
				return errEnough
			}
			chunk.Data = slices.Clone(chunk.Data)[:min(int64(len(chunk.Data)), to-chunk.Offset)]
			msg.chunks = append(msg.chunks, chunk)
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			msg.err = err
		}
		if begin > 0 && where != after {
			msg.cut()
		}
		return msg
	})
}

// cut drops the incomplete line at the start of the chunks, unless it is all there is.
func (l *loaded) cut() {
	for i, chunk := range l.chunks {
		for j, c := range chunk.Data {
			if c == '\n' && (j+1 < len(chunk.Data) || i+1 < len(l.chunks)) {
				l.chunks = l.chunks[i:]
				l.chunks[0].Data, l.chunks[0].Offset = chunk.Data[j+1:], chunk.Offset+int64(j+1)
				l.from = l.chunks[0].Offset
				return
			}
		}
	}
}

// end reads the end of the log, to follow it.
func (m *Model) end() tea.Cmd { return m.part(atEnd, 0, 0, -1) }

// load stores a part of the log.
func (m *Model) load(msg loaded) tea.Cmd {
	m.loading = false
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			m.note.Say("", msg.err)
			if m.chunks == nil { // nothing is followed yet
				m.failed = msg.err
			}
		}
		return nil
	}
	w := &m.window
	switch msg.place {
	case before:
		w.prepend(msg.from, msg.chunks)
	case after:
		for _, chunk := range msg.chunks {
			w.feed(chunk)
		}
		if len(msg.chunks) == 0 {
			w.total = w.hi
		}
	case around:
		w.replace(msg.from, msg.chunks)
		w.reveal(msg.reveal)
	case atEnd:
		w.replace(msg.from, msg.chunks)
		w.total, w.follow = w.hi, true
		if m.chunks == nil || m.failed != nil {
			return m.follow()
		}
	}
	return m.More()
}

// More reads the lines that the user is about to scroll to.
func (m *Model) More() tea.Cmd {
	w := &m.window
	near := 2 * max(1, w.height)
	switch {
	case m.loading || m.chunks == nil:
	case w.lo > 0 && w.top < near:
		return m.part(before, w.lo-block, w.lo, -1)
	case !w.complete() && (w.follow || len(w.lines)-w.top < near+w.height):
		return m.part(after, w.hi, w.hi+block, -1)
	}
	return nil
}

// follow starts to follow the log from the end of the part in memory.
func (m *Model) follow() tea.Cmd {
	from, source := m.window.hi, m.source
	m.failed = nil
	m.chunks = stream.Start(m.ctx, func(ctx context.Context, put func(output.Chunk) error) error {
		return source.Follow(ctx, from, func(chunk output.Chunk) error {
			chunk.Data = slices.Clone(chunk.Data)
			return put(chunk)
		})
	})
	return tea.Batch(m.awaitOutput(), m.More())
}

func (m *Model) awaitOutput() tea.Cmd {
	chunks := m.chunks
	return func() tea.Msg { return chunks.Take() }
}

// takeOutput adds new output.
func (m *Model) takeOutput(batch stream.Batch[output.Chunk]) tea.Cmd {
	for _, chunk := range batch.All {
		m.window.feed(chunk)
	}
	if batch.Over() {
		if m.failed = batch.Err; m.failed != nil {
			m.note.Say("", m.failed)
		}
		return nil // the screen reports how the session ended
	}
	return tea.Batch(m.awaitOutput(), m.More())
}
