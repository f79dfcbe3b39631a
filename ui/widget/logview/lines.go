package logview

import (
	"bytes"
	"strings"

	"aibox/internal/termtext"
	"aibox/session/output"

	"github.com/charmbracelet/x/ansi"
)

// line is a line of the log, ready to be shown.
type line struct {
	at     int64  // its offset in the log
	text   string // one row of any length; its styles end with it
	notice bool   // from aibox, not from the agent
}

// maxLine is the maximum size of a line, in bytes of the log.
const maxLine = 16 << 10

// lineReader splits the log into lines, chunk by chunk. Each stream has its own lines.
// They are returned in the order in which they end.
type lineReader struct {
	streams map[output.Stream]*flow
	open    []output.Stream // with an incomplete line, in the order in which these began
}

// flow is the incomplete line of a stream.
type flow struct {
	filter *termtext.Filter
	out    bytes.Buffer // the filtered text
	at     int64
	raw    int    // bytes of the log in it
	style  string // at the beginning of the line
}

// feed adds a chunk and returns the lines that end in it.
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

// rest returns the incomplete lines.
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

// line returns the line so far.
func (f *flow) line(stream output.Stream) line {
	text, _ := render(f.out.String(), f.style)
	return line{at: f.at, text: text, notice: stream == output.Notice}
}

// end returns the line and begins the next one.
func (f *flow) end(stream output.Stream) line {
	ended := f.line(stream)
	_, f.style = render(f.out.String(), f.style)
	f.out.Reset()
	f.raw = 0
	return ended
}

// cell is a character with its style.
type cell struct{ style, text string }

// maxStyle bounds the sequences that make a style, in bytes.
const maxStyle = 96

// render turns filtered text into one row, as a terminal would finally show it: carriage
// returns and backspaces move back and the text after them overwrites, tabs become
// spaces. style is the style at the beginning, left the one at the end.
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
	default: // DecodeSequence would split a combining mark from its ASCII letter
		cluster, _ = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		return cluster, text[len(cluster):]
	}
}

// erase handles EL: it erases from the cursor on, up to it, or the whole line.
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

// restyle returns a style after another SGR sequence.
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

// paint returns cells as a row that resets its style at the end.
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

// holds reports whether a line contains the folded words.
func (l line) holds(words string) bool {
	text := l.text
	if strings.Contains(text, "\x1b") {
		text = ansi.Strip(text)
	}
	return strings.Contains(fold(text), words)
}

// fold returns text in lower case, to compare it case-insensitively.
func fold(text string) string { return strings.ToLower(text) }
