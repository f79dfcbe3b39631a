package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"aibox/test/terminal"

	"github.com/charmbracelet/x/ansi"
)

// frame is a screen, and how long it is shown.
type frame struct {
	lines []string // a line of text with SGR sequences for each row
	hold  time.Duration
	mark  string // the name of the chapter that begins here, if any
}

// castHeader is the first line of an asciicast v2 file.
type castHeader struct {
	Version int               `json:"version"`
	Width   int               `json:"width"`
	Height  int               `json:"height"`
	Title   string            `json:"title"`
	Env     map[string]string `json:"env"`
}

// writeCast writes frames as an asciicast v2: each as the rows that differ from the frame
// before, with a marker where a chapter begins.
func writeCast(out io.Writer, size terminal.Size, title string, frames []frame) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(castHeader{2, size.Cols, size.Rows, title, map[string]string{"TERM": "xterm-256color"}})
	var at time.Duration
	var before []string
	event := func(kind, data string) {
		err = errors.Join(err, encoder.Encode([]any{at.Seconds(), kind, data}))
	}
	for i, f := range frames {
		if f.mark != "" {
			event("m", f.mark)
		}
		text := ""
		if i == 0 {
			text = "\x1b[?25l\x1b[?7l\x1b[2J"
			before = make([]string, size.Rows)
		}
		for y, line := range f.lines {
			if line != before[y] {
				text += fmt.Sprintf("\x1b[%d;1H\x1b[m\x1b[2K%s\x1b[m", y+1, line)
			}
		}
		event("o", text)
		before, at = f.lines, at+f.hold
	}
	event("o", "\x1b[m") // so that the last frame has a length
	return err
}

// event is a line of an asciicast after the first.
type event struct {
	at         time.Duration
	kind, data string
}

// readCast reads an asciicast v2.
func readCast(in io.Reader) (header castHeader, events []event, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header.Version != 2 {
				return header, nil, fmt.Errorf("line 1: not the header of an asciicast v2: %w", err)
			}
			continue
		}
		var seconds float64
		var e event
		if err := json.Unmarshal(lines.Bytes(), &[]any{&seconds, &e.kind, &e.data}); err != nil {
			return header, nil, fmt.Errorf("line %d: %w", n, err)
		}
		e.at = time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
		events = append(events, e)
	}
	return header, events, lines.Err()
}

// thin drops frames until no more than limit are left, but neither the first nor the last.
func thin(frames []frame, limit int) []frame {
	if len(frames) <= limit {
		return frames
	}
	kept := make([]frame, 0, limit)
	for i := range limit {
		kept = append(kept, frames[i*(len(frames)-1)/(limit-1)])
	}
	return kept
}

// merge joins equal frames that follow each other.
func merge(frames []frame) []frame {
	var merged []frame
	for _, f := range frames {
		if last := len(merged) - 1; last >= 0 && f.mark == "" && slices.Equal(merged[last].lines, f.lines) {
			merged[last].hold += f.hold
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

// plainText returns the text of lines without colors and empty lines at the end.
func plainText(lines []string) string {
	return strings.TrimRight(ansi.Strip(strings.Join(lines, "\n")), "\n")
}
