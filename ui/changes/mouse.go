package changes

import tea "charm.land/bubbletea/v2"

// wheel scrolls the pane under the mouse.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	if m.set == nil {
		return
	}
	by := 3
	if msg.Button == tea.MouseWheelUp {
		by = -3
	} else if msg.Button != tea.MouseWheelDown {
		return
	}
	switch {
	case m.conflict != nil:
		m.conflict.scroll(by)
	case m.verify.shown():
		m.verify.scroll(by)
	case m.Typing():
	case msg.X < m.diff.ListWidth():
		m.list.Cursor.Go(m.list.Cursor.At() + by)
	default:
		m.diff.ToRow(m.diff.Row + by)
	}
}

// click selects the file, the folder or the line under the mouse.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	row := msg.Y - headRows
	if m.conflict != nil && msg.Button == tea.MouseLeft {
		m.conflict.click(row)
		return nil
	}
	if m.set == nil || m.Typing() || m.verify.shown() || msg.Button != tea.MouseLeft || row < 0 || row >= m.bodyHeight() {
		return nil
	}
	if msg.X >= m.diff.ListWidth() {
		return m.clickDiff(row)
	}
	if !m.list.Cursor.Click(row) {
		return nil
	}
	if e, ok := m.list.Entry(); ok {
		return m.clickEntry(e)
	}
	return nil
}
