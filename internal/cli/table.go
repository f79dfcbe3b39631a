package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
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

// printJSON prints value as indented JSON, the form of every --json.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
