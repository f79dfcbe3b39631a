package screen

// modes are the modes that an agent has set, as far as they matter outside the emulator.
type modes struct {
	autowrap, insert, alt            bool
	hidden                           bool // the cursor
	shape                            int  // of the cursor, DECSCUSR
	cursorKeys, keypad, paste, focus bool
	mouse                            int // 0, 1000, 1002 or 1003
	sgrMouse, held                   bool
}

func powerOn() modes { return modes{autowrap: true} }

// setMode is SM and RM, and with dec DECSET and DECRST.
func (s *Screen) setMode(dec bool, mode int, on bool) {
	if !dec {
		if mode == 4 {
			s.modes.insert = on
		}
		if mode == 20 {
			s.tellBoth("\x1b[20%c", letter(on))
		}
		return
	}
	m := &s.modes
	switch mode {
	case 1:
		m.cursorKeys = on
	case 6:
		s.tellBoth("\x1b[?6%c", letter(on))
	case 7:
		m.autowrap = on
		s.tellBoth("\x1b[?7%c", letter(on))
	case 25:
		m.hidden = !on
	case 47, 1047, 1049:
		s.switchScreen(on, mode == 1049)
	case 1048:
		s.tell("\x1b%c", map[bool]byte{true: '7', false: '8'}[on])
	case 1000, 1002, 1003:
		if on {
			m.mouse = mode
		} else {
			m.mouse = 0
		}
	case 1004:
		m.focus = on
	case 1006:
		m.sgrMouse = on
	case 2004:
		m.paste = on
	case 2026:
		m.held = on
	}
}

func letter(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}

// switchScreen switches to the alternate screen, which it clears, or back.
func (s *Screen) switchScreen(alt, save bool) {
	if alt == s.onAlt {
		return
	}
	at := s.current().CursorPosition()
	if alt && save {
		s.tell("\x1b7")
	}
	s.onAlt, s.modes.alt = alt, alt
	switch {
	case alt:
		s.tell("\x1b[r\x1b[0J\x1b[%d;%dH", at.Y+1, at.X+1)
	case save:
		s.tell("\x1b8")
	}
}
