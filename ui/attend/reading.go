package attend

import (
	"context"
	"errors"
	"slices"
	"time"

	"aibox/internal/screen"
	"aibox/session"
	"aibox/ui/stream"

	tea "charm.land/bubbletea/v2"
)

// block is how much of the record is read at once, in bytes.
const block = 256 << 10

// errEnough ends a look at the record.
var errEnough = errors.New("enough")

// loaded is a part of the record: up to from it was cut so that a line begins there.
type loaded struct {
	number int
	place  place
	from   int64
	chunks []session.Chunk
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
	m.asked++
	number, id, sessions := m.asked, m.id, m.sessions
	ctx := m.ctx
	return m.bring(func() any {
		msg := loaded{number: number, place: where, from: max(0, from), reveal: reveal}
		if where == atEnd {
			size, err := sessions.Recorded(id)
			if err != nil {
				msg.err = err
				return msg
			}
			msg.from, to = max(0, size-block), size
		}
		begin := msg.from
		_, err := sessions.Output(id, begin, func(chunk session.Chunk) error {
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
	if msg.number != m.asked {
		return nil
	}
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
		if m.said == nil {
			return m.follow()
		}
	}
	return m.more()
}

// more reads what a person is about to scroll to.
func (m *Model) more() tea.Cmd {
	w := &m.window
	near := 2 * max(1, w.height)
	switch {
	case m.loading || m.said == nil:
	case w.lo > 0 && w.top < near:
		return m.part(before, w.lo-block, w.lo, -1)
	case !w.complete() && (w.follow || len(w.lines)-w.top < near+w.height):
		return m.part(after, w.hi, w.hi+block, -1)
	}
	return nil
}

// follow begins to follow the record from the end of what is here.
func (m *Model) follow() tea.Cmd {
	id, from, sessions := m.id, m.window.hi, m.sessions
	m.said = stream.Start(m.ctx, func(ctx context.Context, put func(session.Chunk) error) error {
		_, err := sessions.Follow(ctx, id, from, func(chunk session.Chunk) error {
			chunk.Data = slices.Clone(chunk.Data)
			return put(chunk)
		})
		return err
	})
	return tea.Batch(m.takeSaid(), m.more())
}

func (m *Model) takeSaid() tea.Cmd {
	said := m.said
	return m.bring(func() any {
		all, err := said.Take()
		return spoke{all, len(all) == 0, err}
	})
}

// listen takes what the agent says.
func (m *Model) listen(msg spoke) tea.Cmd {
	for _, chunk := range msg.all {
		m.window.feed(chunk)
	}
	if msg.over {
		return m.find() // how it ended is told by the events
	}
	return tea.Batch(m.takeSaid(), m.more())
}

// What follows is for the screen of an interactive session.

// pictureTime is the shortest time between two looks at the screen of an agent.
const pictureTime = 150 * time.Millisecond

func (m *Model) hear() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	return m.bring(func() any {
		heard, err := sessions.Heard(ctx, id)
		return listened{heard, err}
	})
}

// look asks for the agent's screen.
func (m *Model) look() tea.Cmd {
	ctx, id, sessions := m.ctx, m.id, m.sessions
	more := m.heard != nil
	return m.bring(func() any {
		text, err := sessions.Screen(ctx, id)
		if err == nil {
			text = screen.Recolor(text, screen.TrueColors)
		}
		return pictured{text, more, err}
	})
}

// see takes the agent's screen and waits for another one.
func (m *Model) see(msg pictured) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrNoScreen) && !m.session.Alive:
		m.picture, m.noScreen = nil, true
		m.fit()
		return m.end()
	case msg.err == nil:
		m.picture = lines(string(msg.text))
	}
	heard := m.heard
	if heard == nil || !msg.more {
		return nil
	}
	ctx := m.ctx
	return m.bring(func() any {
		if _, more := <-heard; !more {
			return listened{} // the last look
		}
		timer := time.NewTimer(pictureTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return listened{}
		}
		return listened{heard: heard}
	})
}
