package schema

// output is the new body. Long parts of the old body are referred to, not copied.
type output struct {
	full [][]byte
	last []byte
	size int64
	// referred is the part of size that is in the memory of the old body.
	referred int64
}

const (
	copyLimit = 4 << 10  // bytes of a part that is still copied
	pieceSize = 64 << 10 // bytes after which a new piece begins
)

// write copies text, which the caller may reuse.
func (o *output) write(text []byte) {
	if len(o.last)+len(text) > pieceSize && len(o.last) > 0 {
		o.close()
	}
	o.last = append(o.last, text...)
	o.size += int64(len(text))
}

// refer copies a part of the old body unchanged.
func (o *output) refer(part []byte) {
	if len(part) <= copyLimit {
		o.write(part)
		return
	}
	o.close()
	o.full = append(o.full, part)
	o.size += int64(len(part))
	o.referred += int64(len(part))
}

func (o *output) close() {
	if len(o.last) > 0 {
		o.full = append(o.full, o.last)
		o.last = nil
	}
}

func (o *output) pieces() [][]byte {
	o.close()
	return o.full
}

// mark is a place in the output to go back to.
type mark struct {
	full, last     int
	size, referred int64
}

func (o *output) mark() mark { return mark{len(o.full), len(o.last), o.size, o.referred} }

// back drops everything written since m.
func (o *output) back(m mark) {
	if len(o.full) > m.full {
		o.last = nil
		if m.last > 0 {
			o.last = o.full[m.full] // the last piece at that point
		}
		o.full = o.full[:m.full]
	}
	o.last, o.size, o.referred = o.last[:m.last], m.size, m.referred
}
