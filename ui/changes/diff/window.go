package diff

// A row takes several lines of the window when its text is wrapped. Only rows near the
// window are measured, so that a long diff costs no more than a short one.

// ToggleWrap wraps long lines, or cuts them.
func (v *Pane) ToggleWrap() {
	v.unwrapped, v.column = !v.unwrapped, 0
	v.Scroll()
}

// maxHeight returns the most lines that one row takes.
func (v *Pane) maxHeight() int { return max(3, v.Height-4) }

// height returns how many lines of the window a row takes.
func (p painter) height(r Row) int {
	switch {
	case p.unwrapped:
		return 1
	case r.Kind == LineRow:
		return len(p.starts(r, r.left, p.room(p.columns)))
	case r.Kind != pairRow:
		return 1
	}
	n, half := 1, p.half()
	if r.left >= 0 {
		n = len(p.starts(r, r.left, p.room(half)))
	}
	if r.right >= 0 {
		n = max(n, len(p.starts(r, r.right, p.room(p.columns-1-half))))
	}
	return n
}

// unwrappedLine is where a line starts that is not wrapped.
var unwrappedLine = []int{0}

// starts returns the columns at which the parts of a wrapped line start.
func (p painter) starts(r Row, line int32, width int) []int {
	l := p.bare(r, line)
	if width <= 0 || l.tail == "" && fits(l.Text, width) {
		return unwrappedLine
	}
	return p.facts.starts(wrapKey{lineKey{r.Gap, r.Hunk, line, -1}, width, p.maxHeight()}, l)
}

// fits reports whether an ASCII text fits into a width. This is the usual case and the fastest
// check. It returns false for a text with other characters.
func fits(text []byte, width int) bool {
	wide := len(text)
	if wide > width {
		return false
	}
	for _, c := range text {
		switch {
		case c == '\t':
			wide += tabWidth - 1
		case c < ' ' || c >= 0x7f:
			return false
		}
	}
	return wide <= width
}

// firstAbove returns the first of the rows that end with row and together take at most n lines.
func (p painter) firstAbove(row, n int) int {
	first := row
	for at := row; at >= 0; at-- {
		if n -= p.height(p.f.Layout.row(at)); n < 0 {
			break
		}
		first = at
	}
	return first
}

// page returns the last row within n lines after row, or the first one before it if n is negative.
// It always returns another row. No row is passed that was never in the window.
func (p painter) page(row, n int) int {
	by := 1
	if n < 0 {
		by, n = -1, -n
	}
	for first := row; row+by >= 0 && row+by < p.f.Layout.Rows; row += by {
		if n -= p.height(p.f.Layout.row(row + by)); n < 0 && row != first {
			break
		}
	}
	return row
}

// RowAt returns the row in a line of the window, or -1.
func (v *Pane) RowAt(line int) int {
	f := v.File()
	if f == nil || line < 0 {
		return -1
	}
	p := v.painter()
	for i := v.Top; i < f.Layout.Rows; i++ {
		if line -= p.height(f.Layout.row(i)); line < 0 {
			return i
		}
	}
	return -1
}

// Scroll keeps the cursor in the window.
func (v *Pane) Scroll() {
	f := v.File()
	if f == nil {
		return
	}
	l := &f.Layout
	v.Row = max(0, min(v.Row, l.Rows-1))
	if l.Rows == 0 {
		v.Top = 0
		return
	}
	p := v.painter()
	v.Top = max(min(v.Top, v.Row), p.firstAbove(v.Row, v.Height), 0)
	if l.row(v.Row).Kind == HeadRow { // show the hunk's first lines
		v.Top = max(v.Top, min(v.Row, p.firstAbove(l.endOf(v.Row, v.Height)-1, v.Height)))
	}
	v.Top = max(0, min(v.Top, p.firstAbove(l.Rows-1, v.Height)))
}
