package terminal

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// watch parses the output that is not text: which modes are on, and where a frame ends.
type watch struct {
	background string // the terminal's color, as #rrggbb

	modes  map[string]bool // by number, as they were switched last
	kitty  int             // keyboard modes on the stack
	titles []string        // of the window, in order
	frames int
	last   time.Time
	rest   []byte // the begin of a sequence whose end is not here yet
}

// sequences matches what matters here: private modes and the query for one, the keyboard's
// stack, the window's title, and the query for the background color.
var sequences = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl]|\$p)|\x1b\[([<>])[0-9]*u|\x1b\][02];([^\x07\x1b]*)(\x07|\x1b\\)|\x1b\]11;\?(\x07|\x1b\\)`)

// longest is the maximum length of a match of sequences.
const longest = 64

// take looks at bytes that arrived now and returns what the terminal answers.
func (w *watch) take(p []byte, now time.Time) (answer string) {
	if w.modes == nil {
		w.modes = map[string]bool{}
	}
	data := append(w.rest, p...)
	end := 0
	for _, at := range sequences.FindAllSubmatchIndex(data, -1) {
		end = at[1]
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return string(data[at[2*i]:at[2*i+1]])
		}
		switch {
		case part(2) == "$p":
			answer += w.mode(part(1))
		case part(2) != "":
			w.change(part(1), part(2) == "h", now)
		case part(3) == ">":
			w.kitty++
		case part(3) == "<":
			w.kitty = max(0, w.kitty-1)
		case part(5) != "":
			w.titles = append(w.titles, part(4))
		default:
			c := w.background
			answer += fmt.Sprintf("\x1b]11;rgb:%s/%s/%s\x1b\\", strings.Repeat(c[1:3], 2), strings.Repeat(c[3:5], 2), strings.Repeat(c[5:7], 2))
		}
	}
	w.rest = nil
	if i := bytes.LastIndexByte(data[end:], '\x1b'); i >= 0 && len(data)-end-i < longest {
		w.rest = bytes.Clone(data[end+i:])
	}
	return answer
}

// change switches modes. The end of synchronized output is the end of a frame.
func (w *watch) change(numbers string, on bool, now time.Time) {
	for number := range strings.SplitSeq(numbers, ";") {
		w.modes[number] = on
		if number == "2026" && !on {
			w.frames++
			w.last = now
		}
	}
}

// mode answers DECRQM: synchronized output is known here, and nothing else.
func (w *watch) mode(number string) string {
	state := 0
	if number == "2026" {
		state = 2
	}
	return fmt.Sprintf("\x1b[?%s;%d$y", number, state)
}

// usual are the modes that a terminal has on of itself.
var usual = map[string]bool{"7": true, "25": true}

// Keyboard is the entry of Left for a keyboard mode that was pushed and not popped.
const Keyboard = "a mode of the keyboard is left"

func (w *watch) left() []string {
	var left []string
	for _, number := range slices.Sorted(maps.Keys(w.modes)) {
		if w.modes[number] != usual[number] {
			left = append(left, fmt.Sprintf("mode %s is %t", number, w.modes[number]))
		}
	}
	if w.kitty > 0 {
		left = append(left, Keyboard)
	}
	return left
}
