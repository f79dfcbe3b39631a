package cli

import (
	"os"
	"strings"

	"aibox/internal/termtext"

	"golang.org/x/term"
)

// terminal holds the abilities of a stream. The zero value is a plain file.
type terminal struct {
	interactive bool // a terminal
	color       bool
	width       int // columns, 80 when unknown
	height      int // lines, 0 when unknown
}

// terminalOf examines a stream. NO_COLOR (https://no-color.org) and TERM=dumb
// turn color off.
func terminalOf(file *os.File) terminal {
	t := terminal{width: 80, interactive: term.IsTerminal(int(file.Fd()))}
	t.color = t.interactive && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		t.width, t.height = width, height
	}
	return t
}

// currentTerm is c.term with the current size of the output, which changes with its window.
func (c *console) currentTerm() terminal {
	if out, ok := fileOf(c.out); ok {
		return terminalOf(out)
	}
	return c.term
}

// accessible reports whether to use lines instead of screens: for a screen reader
// (ACCESSIBLE, as in other terminal programs), or on a terminal that cannot move its
// cursor.
func accessible() bool { return os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb" }

func (t terminal) style(code, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t terminal) bad(text string) string   { return t.style("1;31", text) }
func (t terminal) good(text string) string  { return t.style("32", text) }
func (t terminal) warn(text string) string  { return t.style("33", text) }
func (t terminal) bold(text string) string  { return t.style("1", text) }
func (t terminal) faint(text string) string { return t.style("2", text) }

// safe makes text that may hold the agent's or a program's bytes fit to print. It
// keeps newlines, since messages of programs have several lines.
func safe(text string) string { return strings.TrimRight(termtext.Text(text), "\n") }
