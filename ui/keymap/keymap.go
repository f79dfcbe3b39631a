// Package keymap says which keys a screen knows, once: the line at the foot of the
// screen, the help and the command palette are all made from it.
package keymap

import (
	"strings"

	"aibox/ui/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Group is keys that belong together.
type Group struct {
	Title string
	Keys  []key.Binding
}

// Bind makes a binding: the keys, and a verb for people. The first key is the one
// that is shown.
func Bind(help string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown(keys[0]), help))
}

// shown is a key as people know it.
func shown(name string) string {
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

// Short is one line of at most width columns with as many keys as fit, in order.
// Bindings that are disabled are left out.
func Short(t theme.Theme, width int, keys []key.Binding) string {
	var line strings.Builder
	used := 0
	for _, binding := range keys {
		if !binding.Enabled() {
			continue
		}
		h := binding.Help()
		size := ansi.StringWidth(h.Key) + 1 + ansi.StringWidth(h.Desc)
		if used > 0 {
			size += 3
		}
		if used+size > width {
			break
		}
		if used > 0 {
			line.WriteString(t.Faint.Render(" · "))
		}
		line.WriteString(t.Key.Render(h.Key) + " " + h.Desc)
		used += size
	}
	return line.String()
}

// Help is every key of the groups, in as many columns as fit into width; it may
// have more lines than the screen.
func Help(t theme.Theme, width int, groups []Group) []string {
	blocks := make([]string, 0, len(groups))
	for _, group := range groups {
		blocks = append(blocks, block(t, group))
	}
	var rows []string
	for len(blocks) > 0 {
		n, used := 0, 0
		for n < len(blocks) {
			size := lipgloss.Width(blocks[n]) + gap
			if n > 0 && used+size > width {
				break
			}
			used += size
			n++
		}
		padded := make([]string, n)
		for i, b := range blocks[:n] {
			padded[i] = lipgloss.NewStyle().PaddingRight(gap).Render(b)
		}
		rows = append(rows, strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, padded...), "\n")...)
		rows = append(rows, "")
		blocks = blocks[n:]
	}
	for i, row := range rows {
		rows[i] = ansi.Truncate(strings.TrimRight(row, " "), width, "…")
	}
	return rows
}

// gap is the columns between two groups.
const gap = 4

func block(t theme.Theme, group Group) string {
	widest := 0
	for _, binding := range group.Keys {
		widest = max(widest, ansi.StringWidth(allKeys(binding)))
	}
	lines := []string{t.Title.Render(group.Title)}
	for _, binding := range group.Keys {
		if !binding.Enabled() {
			continue
		}
		keys := allKeys(binding)
		pad := strings.Repeat(" ", widest-ansi.StringWidth(keys))
		lines = append(lines, t.Key.Render(keys)+pad+"  "+binding.Help().Desc)
	}
	return strings.Join(lines, "\n")
}

// allKeys is every key of a binding.
func allKeys(binding key.Binding) string {
	keys := binding.Keys()
	names := make([]string, len(keys))
	for i, name := range keys {
		names[i] = shown(name)
	}
	return strings.Join(names, " ")
}
