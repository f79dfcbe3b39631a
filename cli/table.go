package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table prints rows in columns. Cells must be safe for a terminal already.
func table(out io.Writer, header string, rows [][]string) error {
	buffered := bufio.NewWriter(out) // tabwriter writes each cell by itself
	w := tabwriter.NewWriter(buffered, 0, 4, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(w, header)
	}
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

// lastColumn is how many characters the last column may have so that lines of
// rows have at most width; at least a few.
func lastColumn(rows [][]string, width int) int {
	const gap, least = 2, 12
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, used := range widths {
		width -= used + gap
	}
	return max(width, least)
}

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
