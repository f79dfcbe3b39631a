// Package keymap describes the keys of a screen in one place. The foot of the screen, the help and
// the command palette are made from this description. It also makes text fields.
package keymap

import (
	"strings"
	"unicode/utf8"

	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Group is keys that belong together.
type Group struct {
	Title string
	Keys  []key.Binding
}

// Bind makes a binding of keys with a help text. The first key is the one shown, or both
// arrows if the binding begins with "up" and "down".
func Bind(help string, keys ...string) key.Binding {
	shown := Shown(keys[0])
	if len(keys) > 1 && keys[0] == "up" && keys[1] == "down" {
		shown = "↑↓"
	}
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
}

// Shown returns the displayed name of a key: "↑" for "up".
func Shown(name string) string {
	switch name {
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	case "space":
		return "space"
	default:
		return name
	}
}

// Short returns a line of at most width columns with as many keys as fit, in order.
// Disabled bindings are left out.
func Short(t theme.Theme, width int, keys []key.Binding) string {
	var line strings.Builder
	for i, place := range places(width, keys) {
		if i > 0 {
			line.WriteString(t.Faint.Render(between))
		}
		h := place.binding.Help()
		line.WriteString(t.Key.Render(h.Key) + " " + h.Desc)
	}
	return line.String()
}

// At returns the key that Short shows at column x; false also for one that has no keys and is only
// shown.
func At(width int, keys []key.Binding, x int) (key.Binding, bool) {
	for _, place := range places(width, keys) {
		if x >= place.from && x < place.to {
			return place.binding, len(place.binding.Keys()) > 0
		}
	}
	return key.Binding{}, false
}

// between separates two keys.
const between = " · "

// place is the position of a key in the line of keys.
type place struct {
	binding  key.Binding
	from, to int // columns; to is exclusive
}

// places returns the positions of the keys that fit into width.
func places(width int, keys []key.Binding) []place {
	var out []place
	at := 0
	for _, binding := range keys {
		if !binding.Enabled() {
			continue
		}
		if at > 0 {
			at += ansi.StringWidth(between)
		}
		h := binding.Help()
		to := at + ansi.StringWidth(h.Key) + 1 + ansi.StringWidth(h.Desc)
		if to > width {
			break
		}
		out = append(out, place{binding, at, to})
		at = to
	}
	return out
}

// Press returns the message of a key by its name as in Bind: "a", "enter", "ctrl+s",
// "shift+tab". An unknown name means its first rune.
func Press(name string) tea.KeyPressMsg {
	var mod tea.KeyMod
	rest := name
	for prefix, bit := range map[string]tea.KeyMod{"ctrl+": tea.ModCtrl, "alt+": tea.ModAlt, "shift+": tea.ModShift} {
		if strings.Contains(rest, prefix) && len(rest) > len(prefix) {
			rest, mod = strings.Replace(rest, prefix, "", 1), mod|bit
		}
	}
	if code, ok := special[rest]; ok {
		msg := tea.KeyPressMsg{Code: code, Mod: mod}
		if code == tea.KeySpace && mod == 0 {
			msg.Text = " "
		}
		return msg
	}
	first, _ := utf8.DecodeRuneInString(rest)
	msg := tea.KeyPressMsg{Code: first, Mod: mod}
	if mod == 0 {
		msg.Text = rest
	}
	return msg
}

// special are the keys that type no text.
var special = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "insert": tea.KeyInsert,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5,
}
