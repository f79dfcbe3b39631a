package changes

import (
	"aibox/review"

	tea "charm.land/bubbletea/v2"
)

// maxHeld is how many lines are held of all files; beyond it those seen longest ago
// are read again when a person comes back to them.
const maxHeld = 400_000

// read brings the hunks of one file.
type read struct {
	sent
	file  int
	hunks []review.Hunk
	total int // lines of the version before
	err   error
}

// load asks for what the file a person is at lacks.
func (m *Model) load() tea.Cmd { return tea.Batch(m.read(), m.align()) }

// read reads the hunks of the file a person is at. One file is read at a time: who
// holds a key down passes by many.
func (m *Model) read() tea.Cmd {
	f := m.file()
	if f == nil || f.loaded || f.err != nil || m.reading {
		return nil
	}
	m.reading = true
	ctx, set, to, at, path := m.ctx, m.set, m, m.at, f.change.Path
	return func() tea.Msg {
		msg := read{sent: sent{to}, file: at}
		msg.err = set.Files(ctx, func(d review.FileDiff) error {
			msg.hunks = d.Hunks
			return nil
		}, path)
		if msg.err == nil {
			_, msg.total, msg.err = set.OldLines(ctx, path, 0)
		}
		return msg
	}
}

// store takes the hunks of a file. The person may be at another one by now.
func (m *Model) store(msg read) tea.Cmd {
	m.reading = false
	f := m.files[msg.file]
	if f.err = msg.err; f.err == nil {
		f.total = msg.total
		f.fill(msg.hunks)
		f.foldLong()
	}
	m.makeRoom()
	if msg.file == m.at {
		m.arrangeRows()
		m.toHead(0)
		m.scroll()
		if m.wanted != nil && f.err == nil {
			return m.toHit()
		}
	}
	return m.load()
}

// makeRoom lets go of what was seen longest ago.
func (m *Model) makeRoom() {
	held := 0
	for _, f := range m.files {
		if f.loaded {
			held += f.lines()
		}
	}
	for held > maxHeld {
		var oldest *file
		for i, f := range m.files {
			if f.loaded && i != m.at && (oldest == nil || f.seen < oldest.seen) {
				oldest = f
			}
		}
		if oldest == nil {
			return
		}
		held -= oldest.lines()
		oldest.letGo()
	}
}
