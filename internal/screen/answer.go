package screen

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// query answers an agent's query by a control sequence. It answers like a plain VT220 with
// colors, from the state of this screen only.
func (s *Screen) query(what string, p numbers) {
	at := s.current().CursorPosition()
	switch what {
	case "c": // DA1
		s.answer("\x1b[?62;22c")
	case ">c": // DA2
		s.answer("\x1b[>1;10;0c")
	case "n":
		switch p.at(0, 0) {
		case 5:
			s.answer("\x1b[0n")
		case 6:
			s.answer("\x1b[%d;%dR", at.Y+1, at.X+1)
		}
	case "?n":
		if p.at(0, 0) == 6 {
			s.answer("\x1b[?%d;%dR", at.Y+1, at.X+1)
		}
	case "?$p": // DECRQM
		s.answer("\x1b[?%d;%d$y", p.at(0, 0), s.modeState(p.at(0, 0)))
	case "$p":
		s.answer("\x1b[%d;0$y", p.at(0, 0))
	case "t":
		if p.at(0, 0) == 18 {
			s.answer("\x1b[8;%d;%dt", s.size.Rows, s.size.Cols)
		}
	}
}

// modeState returns the state of a DEC mode in an answer to DECRQM: 0 is unknown, 1 set, 2
// reset.
func (s *Screen) modeState(mode int) int {
	m := s.modes
	on, known := map[int]bool{
		1: m.cursorKeys, 7: m.autowrap, 25: !m.hidden,
		47: m.alt, 1047: m.alt, 1049: m.alt,
		1000: m.mouse == 1000, 1002: m.mouse == 1002, 1003: m.mouse == 1003,
		1004: m.focus, 1006: m.sgrMouse, 2004: m.paste, 2026: m.held,
	}[mode]
	switch {
	case !known:
		return 0
	case on:
		return 1
	default:
		return 2
	}
}

// osc answers queries for colors with those of a dark terminal with xterm's palette. All
// other OSC sequences are for a terminal's window, which this screen does not have.
func (s *Screen) osc(content string) {
	parts := strings.Split(content, ";")
	switch command := parts[0]; command {
	case "4": // pairs of a color's number and its new value
		for i := 1; i+1 < len(parts); i += 2 {
			if n, err := strconv.ParseUint(parts[i], 10, 8); err == nil && parts[i+1] == "?" {
				s.answer("\x1b]4;%d;%s\x1b\\", n, rgb(ansi.IndexedColor(n)))
			}
		}
	case "9": // notifications of iTerm2; 9;4 is a progress bar
		s.rang = s.rang || len(parts) > 1 && parts[1] != "4"
	case "99": // notifications of kitty; p=? asks whether there are any
		s.rang = s.rang || len(parts) > 1 && !strings.Contains(parts[1], "p=")
	case "777": // notifications of urxvt
		s.rang = s.rang || len(parts) > 1 && parts[1] == "notify"
	case "10", "11", "12": // text, background, cursor
		if len(parts) == 2 && parts[1] == "?" {
			s.answer("\x1b]%s;%s\x1b\\", command, rgb(map[bool]ansi.IndexedColor{true: ansi.IndexedColor(ansi.Black), false: ansi.IndexedColor(ansi.White)}[command == "11"]))
		}
	}
}

// rgb returns a color as X writes it.
func rgb(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("rgb:%04x/%04x/%04x", r, g, b)
}

// refuse answers the queries that have a refusal: those for settings (DECRQSS) and for
// terminfo entries. An agent could wait for an answer forever.
func (s *Screen) refuse(t token) {
	if t.Final != 'P' {
		return
	}
	switch content := string(t.Data); {
	case strings.HasPrefix(content, "$q"):
		s.answer("\x1bP0$r\x1b\\")
	case strings.HasPrefix(content, "+q"):
		s.answer("\x1bP0+r\x1b\\")
	}
}
