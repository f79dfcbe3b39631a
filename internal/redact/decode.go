package redact

// unit is one byte of a view, and the range of the stream that encodes it.
type unit struct {
	c          byte
	start, end int
}

// decoder decodes one layer of JSON escapes (such as \uXXXX and \/) and percent escapes.
// Other bytes pass unchanged.
type decoder struct {
	pending [6]unit // as long as the longest escape
	count   int
}

// push adds a byte. The caller then pops until there is nothing left.
func (d *decoder) push(u unit) {
	d.pending[d.count] = u
	d.count++
}

// pop returns the next decoded byte, if it is complete.
func (d *decoder) pop() (unit, bool) {
	if d.count == 0 {
		return unit{}, false
	}
	c, size := d.escape()
	if size == 0 {
		return unit{}, false
	}
	u := unit{c, d.pending[0].start, d.pending[size-1].end}
	copy(d.pending[:], d.pending[size:d.count])
	d.count -= size
	return u, true
}

// other represents every character that no secret has.
const other = 0

// escape decodes the first byte of pending. It returns the byte and the length of its
// encoding, or 0 if the encoding is incomplete.
func (d *decoder) escape() (c byte, size int) {
	first := d.pending[0].c
	switch {
	case first == '%':
		return d.hex(1, 3)
	case first != '\\':
		return first, 1
	case d.count == 1:
		return 0, 0
	}
	switch next := d.pending[1].c; next {
	case '"', '\\', '/':
		return next, 2
	case 'b', 'f', 'n', 'r', 't':
		return other, 2
	case 'u':
		return d.hex(2, 6)
	default:
		return first, 1
	}
}

// hex reads the hexadecimal digits of an escape of size bytes that begin at from.
func (d *decoder) hex(from, size int) (byte, int) {
	value := 0
	for i := from; i < size; i++ {
		if i == d.count {
			return 0, 0
		}
		digit, ok := hexDigit(d.pending[i].c)
		if !ok {
			return d.pending[0].c, 1
		}
		value = value<<4 | digit
	}
	if value >= 0x80 {
		return other, size
	}
	return byte(value), size
}

func hexDigit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	default:
		return 0, false
	}
}
