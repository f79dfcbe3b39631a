package keymap

import (
	"strings"

	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"
)

// gap is the columns between two groups.
const gap = 4

// Help returns the enabled keys of the groups, in as few lines as fit into width. The
// groups fill the columns from top to bottom. The result may have more lines than the
// screen. Groups without enabled keys are left out.
func Help(t theme.Theme, width int, groups []Group) []string {
	var blocks []block
	highest, all := 0, 0
	for _, group := range groups {
		if b := newBlock(group); len(b.keys) > 0 {
			blocks = append(blocks, b)
			highest = max(highest, b.height())
			all += b.height()
		}
	}
	for height := highest; height <= all; height++ {
		if columns := fill(blocks, height); widthOf(columns) <= width || height == all {
			return join(t, columns, width)
		}
	}
	return nil
}

// block is a group in the help.
type block struct {
	title       string
	keys, verbs []string
	keyWidth    int // of the widest keys
	verbWidth   int // of the widest help text
}

func newBlock(group Group) block {
	b := block{title: group.Title}
	for _, binding := range group.Keys {
		if !binding.Enabled() {
			continue
		}
		keys, verb := allKeys(binding), binding.Help().Desc
		b.keys, b.verbs = append(b.keys, keys), append(b.verbs, verb)
		b.keyWidth, b.verbWidth = max(b.keyWidth, ansi.StringWidth(keys)), max(b.verbWidth, ansi.StringWidth(verb))
	}
	return b
}

// height returns the number of lines, with the empty one below the block.
func (b block) height() int { return len(b.keys) + 2 }

// column is blocks below each other, with their help texts aligned.
type column struct {
	blocks              []block
	height              int
	keyWidth, verbWidth int
	titleWidth          int
}

// width returns the cells that the column needs.
func (c column) width() int { return max(c.titleWidth, c.keyWidth+keyGap+c.verbWidth) }

// keyGap is the cells between keys and their help texts.
const keyGap = 2

// fill puts blocks into columns of at most this height. A higher block gets a column of
// its own.
func fill(blocks []block, height int) []column {
	var columns []column
	for _, b := range blocks {
		last := len(columns) - 1
		if last < 0 || columns[last].height+b.height() > height {
			columns, last = append(columns, column{}), last+1
		}
		c := &columns[last]
		c.blocks = append(c.blocks, b)
		c.height += b.height()
		c.titleWidth = max(c.titleWidth, ansi.StringWidth(b.title))
		c.keyWidth, c.verbWidth = max(c.keyWidth, b.keyWidth), max(c.verbWidth, b.verbWidth)
	}
	return columns
}

func widthOf(columns []column) int {
	width := -gap
	for _, c := range columns {
		width += c.width() + gap
	}
	return width
}

// join puts the columns side by side.
func join(t theme.Theme, columns []column, width int) []string {
	var rows []string
	before := 0 // cells of the columns so far
	for _, c := range columns {
		for i, line := range c.lines(t) {
			for len(rows) <= i {
				rows = append(rows, "")
			}
			if line != "" {
				rows[i] += strings.Repeat(" ", max(0, before-ansi.StringWidth(rows[i]))) + line
			}
		}
		before += c.width() + gap
	}
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, width, "…")
	}
	return rows
}

func (c column) lines(t theme.Theme) []string {
	var lines []string
	for i, b := range c.blocks {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t.Title.Render(b.title))
		for j, keys := range b.keys {
			pad := strings.Repeat(" ", c.keyWidth-ansi.StringWidth(keys)+keyGap)
			lines = append(lines, t.Key.Render(keys)+pad+b.verbs[j])
		}
	}
	return lines
}

// allKeys returns the names of all keys of a binding.
func allKeys(binding key.Binding) string {
	keys := binding.Keys()
	names := make([]string, len(keys))
	for i, name := range keys {
		names[i] = Shown(name)
	}
	return strings.Join(names, " ")
}
