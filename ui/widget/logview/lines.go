package logview

import (
	"bytes"
	"strings"

	"aibox/internal/termtext"
	"aibox/session/output"

	"github.com/charmbracelet/x/ansi"
)

// line is a line of the record as it may be shown.
type line struct {
	at     int64  // offset in the record where it begins
	text   string // one row of any length; its styles end with it
	notice bool   // of aibox's own, not of the agent
}

// maxLine is how many bytes of the record are one line at most.
const maxLine = 16 << 10

// lineReader makes lines of the record, chunk by chunk. Each stream has lines of its own:
// they come in the order in which they end.
type lineReader struct {
	streams map[output.Stream]*flow
	open    []output.Stream // with a line that has begun, in that order
}

// flow is the line of a stream that has not ended yet.
type flow struct {
	filter *termtext.Filter
	out    bytes.Buffer // what the filter let through
	at     int64
	raw    int    // bytes of the record in it
	style  string // that was set when the line began
}

// feed takes a chunk and returns the lines that end in it.
func (l *lineReader) feed(chunk output.Chunk) []line {
	var ended []line
	f := l.flow(chunk.Stream)
	for at, data := chunk.Offset, chunk.Data; len(data) > 0; {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			n = len(data)
		}
		n = min(n, maxLine-f.raw)
		if f.raw == 0 {
			f.at = at
			l.open = append(l.open, chunk.Stream)
		}
		_, _ = f.filter.Write(data[:n])
		f.raw += n
		data, at = data[n:], at+int64(n)
		if bytes.HasSuffix(f.out.Bytes(), []byte{'\n'}) || f.raw >= maxLine {
			ended = append(ended, f.end(chunk.Stream))
			l.close(chunk.Stream)
		}
	}
	return ended
}

// rest is the lines that have begun, as far as they came.
func (l *lineReader) rest() []line {
	var begun []line
	for _, stream := range l.open {
		begun = append(begun, l.flow(stream).line(stream))
	}
	return begun
}

func (l *lineReader) flow(stream output.Stream) *flow {
	f := l.streams[stream]
	if f == nil {
		f = new(flow)
		f.filter = termtext.NewFilter(&f.out, termtext.Stream)
		if l.streams == nil {
			l.streams = map[output.Stream]*flow{}
		}
		l.streams[stream] = f
	}
	return f
}

func (l *lineReader) close(stream output.Stream) {
	for i, s := range l.open {
		if s == stream {
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

// line is the line so far.
func (f *flow) line(stream output.Stream) line {
	text, _ := render(f.out.String(), f.style)
	return line{at: f.at, text: text, notice: stream == output.Notice}
}

// end is the line, and begins the next one.
func (f *flow) end(stream output.Stream) line {
	reader := f.line(stream)
	_, f.style = render(f.out.String(), f.style)
	f.out.Reset()
	f.raw = 0
	return reader
}

// cell is a character with its style.
type cell struct{ style, text string }

// maxStyle bounds the sequences that make a style, in bytes.
const maxStyle = 96

// render makes one row of what the filter let through, as a terminal would show it in
// the end: returns and backspaces go back and what follows writes over, tabs are
// spaces. style is set at its beginning, and left at its end.
func render(text, style string) (row, left string) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if style == "" && !strings.ContainsAny(text, "\r\b\t\x1b") {
		return text, ""
	}
	var cells []cell
	pos := 0
	put := func(c cell) {
		if pos < len(cells) {
			cells[pos] = c
		} else {
			cells = append(cells, c)
		}
		pos++
	}
	for len(text) > 0 {
		cluster, rest := next(text)
		text = rest
		switch {
		case cluster == "\r":
			pos = 0
		case cluster == "\b":
			pos = max(0, pos-1)
		case cluster == "\t":
			for ok := true; ok; ok = pos%8 != 0 {
				put(cell{style, " "})
			}
		case strings.HasPrefix(cluster, "\x1b") && strings.HasSuffix(cluster, "K"):
			cells, pos = erase(cells, pos, cluster)
		case strings.HasPrefix(cluster, "\x1b"):
			style = restyle(style, cluster)
		default:
			put(cell{style, cluster})
		}
	}
	return paint(cells), style
}

// next returns the first character or control sequence of filtered text, and the rest.
func next(text string) (cluster, rest string) {
	switch {
	case text[0] == '\x1b':
		_, _, n, _ := ansi.DecodeSequence(text, ansi.NormalState, nil)
		return text[:n], text[n:]
	case text[0] < 0x80 && (len(text) == 1 || text[1] < 0x80):
		return text[:1], text[1:]
	default: // DecodeSequence would part a mark from its ASCII letter
		cluster, _ = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		return cluster, text[len(cluster):]
	}
}

// erase does an EL: from the cursor on, up to it, or the whole line.
func erase(cells []cell, pos int, sequence string) ([]cell, int) {
	switch sequence[2 : len(sequence)-1] {
	case "1", "2":
		for i := range cells {
			if i <= pos || sequence[2] == '2' {
				cells[i] = cell{"", " "}
			}
		}
		return cells, pos
	default:
		return cells[:min(pos, len(cells))], pos
	}
}

// restyle is a style after one more SGR.
func restyle(style, sequence string) string {
	switch sequence {
	case "\x1b[m", "\x1b[0m":
		return ""
	}
	if strings.HasPrefix(sequence, "\x1b[0;") {
		style = ""
	}
	if len(style)+len(sequence) > maxStyle {
		style = ""
	}
	if len(sequence) > maxStyle {
		return ""
	}
	return style + sequence
}

// paint is cells as a row that ends without a style.
func paint(cells []cell) string {
	for len(cells) > 0 && cells[len(cells)-1] == (cell{"", " "}) {
		cells = cells[:len(cells)-1]
	}
	var row strings.Builder
	style := ""
	for _, c := range cells {
		if c.style != style {
			if style != "" {
				row.WriteString(ansi.ResetStyle)
			}
			row.WriteString(c.style)
			style = c.style
		}
		row.WriteString(c.text)
	}
	if style != "" {
		row.WriteString(ansi.ResetStyle)
	}
	return row.String()
}

// holds reports whether a line has the words, which are folded.
func (l line) holds(words string) bool {
	text := l.text
	if strings.Contains(text, "\x1b") {
		text = ansi.Strip(text)
	}
	return strings.Contains(fold(text), words)
}

// fold makes letters that differ in size alone the same.
func fold(text string) string { return strings.ToLower(text) }
