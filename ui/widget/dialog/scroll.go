package dialog

import (
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Scroll is the position in a text of which a dialog may show only a part. The zero value is its
// start.
type Scroll struct {
	top  int // the first line that is shown
	most int // the greatest top, as of the last Part
}

var (
	down = keymap.Bind("more of the text", "down", "j")
	up   = keymap.Bind("back in the text", "up", "k")
)

// Part returns at most room lines of a text, at least 2. If there are more, the last one says which of them
// are shown.
func (s *Scroll) Part(t theme.Theme, text []string, room int) []string {
	if s.most = 0; len(text) <= room {
		return text
	}
	shown, all := room-1, len(text)
	s.most = all - shown
	s.top = min(s.top, s.most)
	return append(text[s.top:s.top+shown:s.top+shown], t.Warn.Render("↑↓ "+cursor.Range(s.top, s.top+shown, all)))
}

// Keys returns the keys that scroll; none if all of the text is shown.
func (s *Scroll) Keys() []key.Binding {
	if s.most == 0 {
		return nil
	}
	return []key.Binding{down, up}
}

// Press handles a key, and reports whether it scrolls.
func (s *Scroll) Press(msg tea.KeyPressMsg) bool {
	switch {
	case key.Matches(msg, down):
		s.top = min(s.top+1, s.most)
	case key.Matches(msg, up):
		s.top = max(0, s.top-1)
	default:
		return false
	}
	return true
}
