package logview

import (
	"context"
	"errors"
	"slices"

	"aibox/session/output"
	"aibox/ui/widget/stream"

	tea "charm.land/bubbletea/v2"
)

// block is how much of the record is read at once, in bytes.
const block = 256 << 10

// errEnough ends a look at the record.
var errEnough = errors.New("enough")

// loaded is a part of the record: up to from it was cut so that a line begins there.
type loaded struct {
	place  place
	from   int64
	chunks []output.Chunk
	reveal int64 // the line to show, for around
	err    error
}

// place is where a part of the record belongs.
type place int

// The places.
const (
	before place = iota // what is in memory
	after               // the same
	around              // in its place
	atEnd               // in its place, to be followed
)

// part reads [from, to) of the record.
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

// cut drops what is before the first line that begins in the chunks, unless that is
// all there is.
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

// end reads the end of the record, to be followed.
func (m *Model) end() tea.Cmd { return m.part(atEnd, 0, 0, -1) }

// load takes a part of the record.
func (m *Model) load(msg loaded) tea.Cmd {
	m.loading = false
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			m.note.Say("", msg.err)
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
		if m.chunks == nil {
			return m.follow()
		}
	}
	return m.More()
}

// More reads what the user is about to scroll to.
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

// follow begins to follow the record from the end of what is here.
func (m *Model) follow() tea.Cmd {
	from, source := m.window.hi, m.source
	m.chunks = stream.Start(m.ctx, func(ctx context.Context, put func(output.Chunk) error) error {
		return source.Follow(ctx, from, func(chunk output.Chunk) error {
			chunk.Data = slices.Clone(chunk.Data)
			return put(chunk)
		})
	})
	return tea.Batch(m.awaitOutput(), m.More())
}

func (m *Model) awaitOutput() tea.Cmd {
	output := m.chunks
	return func() tea.Msg { return output.Take() }
}

// takeOutput takes what the agent says.
func (m *Model) takeOutput(output stream.Batch[output.Chunk]) tea.Cmd {
	for _, chunk := range output.All {
		m.window.feed(chunk)
	}
	if output.Over() {
		return nil // how it ended is for the screen to know
	}
	return tea.Batch(m.awaitOutput(), m.More())
}
