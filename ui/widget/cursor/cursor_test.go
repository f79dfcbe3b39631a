package cursor

import (
	"testing"

	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

func TestTheSelectedLineIsAlwaysShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Cursor
		c.Fit(rapid.IntRange(0, 50).Draw(t, "lines"), rapid.IntRange(0, 20).Draw(t, "height"))
		for range 30 {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				name := rapid.SampledFrom([]string{"up", "j", "pgup", "pgdown", "home", "G"}).Draw(t, "key")
				if !c.Press(keymap.Press(name)) {
					t.Fatalf("%s is no key of a list", name)
				}
			case 1:
				c.Fit(rapid.IntRange(0, 50).Draw(t, "lines"), rapid.IntRange(0, 20).Draw(t, "height"))
			case 2:
				row := rapid.IntRange(-3, 25).Draw(t, "row")
				from, to := c.Window()
				if hit := c.Click(row); hit != (row >= 0 && from+row < to) || hit && c.At() != from+row {
					t.Fatalf("a click on row %d of %d to %d: %v, at %d", row, from, to, hit, c.At())
				}
			default:
				c.Wheel(tea.MouseWheelMsg{Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}).Draw(t, "wheel")})
			}
			from, to := c.Window()
			if empty := c.n == 0; !empty && (c.At() < from || c.At() >= to) || empty && (from != 0 || to != 0 || c.At() != 0) {
				t.Fatalf("at %d, shown are %d to %d of %d", c.At(), from, to, c.n)
			}
			if to-from < min(c.n, c.height) {
				t.Fatalf("%d lines are shown where %d of %d fit", to-from, c.height, c.n)
			}
		}
	})
}
