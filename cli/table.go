package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// tableGap is how many spaces separate two columns.
const tableGap = 2

// table prints rows in columns. Cells must be safe for a terminal already.
func table(out io.Writer, header string, rows [][]string) error {
	if header != "" {
		rows = slices.Insert(slices.Clone(rows), 0, strings.Split(header, "\t"))
	}
	if text, ok := aligned(rows); ok {
		_, err := out.Write(text)
		return err
	}
	buffered := bufio.NewWriter(out) // tabwriter writes each cell by itself
	w := tabwriter.NewWriter(buffered, 0, 4, tableGap, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	return errors.Join(w.Flush(), buffered.Flush())
}

// aligned returns what tabwriter makes of rows, in a fraction of its time, and does not count
// colors as text. It knows only rows with the same number of cells, none of which has a control
// character besides colors.
func aligned(rows [][]string) (text []byte, ok bool) {
	if len(rows) == 0 {
		return nil, true
	}
	columns := make([]int, len(rows[0]))             // the widths
	widths := make([]int, 0, len(rows)*len(columns)) // of all cells
	size := 0
	for _, row := range rows {
		if len(row) != len(columns) {
			return nil, false
		}
		for i, cell := range row {
			width, ok := printedWidth(cell)
			if !ok {
				return nil, false
			}
			columns[i] = max(columns[i], width)
			widths = append(widths, width)
			size += len(cell)
		}
	}
	for _, width := range columns {
		size += len(rows) * (width + tableGap)
	}
	text = make([]byte, 0, size)
	for _, row := range rows {
		for i, cell := range row {
			text = append(text, cell...)
			if i < len(row)-1 {
				for range columns[i] + tableGap - widths[i] {
					text = append(text, ' ')
				}
			}
		}
		widths = widths[len(row):]
		text = append(text, '\n')
	}
	return text, true
}

// printedWidth is cellWidth for a cell without control characters besides colors.
func printedWidth(cell string) (width int, ok bool) {
	for i := range len(cell) {
		if c := cell[i]; c < ' ' || c >= 0x7f { // not only ASCII
			control := func(r rune) bool { return unicode.IsControl(r) && r != '\x1b' }
			return cellWidth(cell), !strings.ContainsFunc(cell, control)
		}
	}
	return len(cell), true
}

// cellWidth counts the characters of a cell, without those of our own colors.
func cellWidth(cell string) int {
	width := utf8.RuneCountInString(cell)
	for {
		_, color, found := strings.Cut(cell, "\x1b[")
		if !found {
			return width
		}
		end := strings.IndexByte(color, 'm')
		if end < 0 {
			return width
		}
		width -= len("\x1b[") + end + 1
		cell = color[end+1:]
	}
}

// overview prints a table to standard output. On a terminal it cuts the last column to the
// width: other commands print its text in full.
func (c *console) overview(header string, rows [][]string) error {
	if c.term.interactive {
		room := lastColumn(append([][]string{strings.Split(header, "\t")}, rows...), c.term.width)
		for _, row := range rows {
			last := len(row) - 1
			row[last] = firstLine(row[last], room)
		}
	}
	return table(c.out, header, rows)
}

// explained is table on the standard output without a header, with its last column
// broken into lines where a terminal's line ends.
func (c *console) explained(rows [][]string) error {
	if !c.term.interactive {
		return table(c.out, "", rows)
	}
	room := lastColumn(rows, c.term.width)
	var broken [][]string
	for _, row := range rows {
		last := len(row) - 1
		for i, line := range breakLines(row[last], room) {
			next := make([]string, len(row))
			if i == 0 {
				copy(next, row)
			}
			next[last] = line
			broken = append(broken, next)
		}
	}
	return table(c.out, "", broken)
}

// lastColumn returns the width of the last column with which rows have at most width characters,
// and at least 12.
func lastColumn(rows [][]string, width int) int {
	const least = 12
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	for _, used := range widths {
		width -= used + tableGap
	}
	return max(width, least)
}

// minute returns a time as tables show it.
func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// breakLines breaks text between words into lines of at most width characters,
// where no word is longer.
func breakLines(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}
