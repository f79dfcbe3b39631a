package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// The bounds of decoding. Agents print whole files in one line.
const (
	maxLine   = 4 << 20 // bytes
	maxDepth  = 100     // of arrays and objects
	maxEvents = 1000    // in a line, and edits in an event
	maxID     = 200     // bytes of a call's id, which is kept until its result comes
)

// Piece is a piece of an agent's output.
type Piece struct {
	Offset int64 // of Data's first byte in the record
	Time   time.Time
	Stderr bool // it is from standard error
	Data   []byte
}

// Decoder splits output into lines and decodes them. It is not safe for concurrent use.
type Decoder struct {
	reader         reader // nil for plain text
	stdout, stderr line
}

// line is an incomplete line of a stream.
type line struct {
	data   []byte
	offset int64
	cut    int // bytes beyond maxLine
	begun  bool
}

// NewDecoder makes a decoder. Every line of a format that is not Known is an event of kind
// Text.
func NewDecoder(format Format) *Decoder {
	d := &Decoder{}
	if make := readers[format]; make != nil {
		d.reader = make()
	}
	return d
}

// Decode decodes the lines that end in a piece.
func (d *Decoder) Decode(p Piece) []Event {
	l := &d.stdout
	if p.Stderr {
		l = &d.stderr
	}
	var events []Event
	for data, offset := p.Data, p.Offset; len(data) > 0; {
		n := bytes.IndexByte(data, '\n') + 1
		part := data[:n]
		if n == 0 {
			part = data
		}
		l.add(part, offset)
		data, offset = data[len(part):], offset+int64(len(part))
		if n > 0 {
			events = append(events, d.end(l, p.Time, p.Stderr)...)
		}
	}
	return events
}

// Close decodes the incomplete lines at the end of the output.
func (d *Decoder) Close(at time.Time) []Event {
	var events []Event
	for _, stderr := range []bool{false, true} {
		l := &d.stdout
		if stderr {
			l = &d.stderr
		}
		if l.begun {
			events = append(events, d.end(l, at, stderr)...)
		}
	}
	return events
}

// add appends a part of the line, up to the limit.
func (l *line) add(part []byte, offset int64) {
	if !l.begun {
		l.begun, l.offset = true, offset
	}
	room := min(len(part), maxLine-len(l.data))
	l.data = append(l.data, part[:room]...)
	l.cut += len(part) - room
}

// end decodes a line and begins the next one.
func (d *Decoder) end(l *line, at time.Time, stderr bool) []Event {
	events := d.decode(bytes.TrimRight(l.data, "\r\n"), stderr, l.cut)
	for i := range events {
		events[i].Time, events[i].Offset = at, l.offset
	}
	if cap(l.data) > 64<<10 {
		l.data = nil // do not keep the memory of a long line
	}
	*l = line{data: l.data[:0]}
	return events
}

// decode decodes a line.
func (d *Decoder) decode(data []byte, stderr bool, cut int) []Event {
	text := Event{Kind: Text, Text: strings.ToValidUTF8(string(data), "\uFFFD"), Stderr: stderr, Cut: cut}
	if d.reader == nil || stderr || cut > 0 || len(data) == 0 || data[0] != '{' || tooDeep(data) || !json.Valid(data) {
		return []Event{text}
	}
	events, known := d.reader.read(data)
	if !known {
		var head struct{ Type string }
		decodeJSON(data, &head)
		return []Event{{Kind: Other, Name: head.Type, Raw: bytes.Clone(data)}}
	}
	if len(events) > maxEvents {
		cut := Event{Kind: Other, Name: "more events than are shown", Raw: bytes.Clone(data)}
		events = append(events[:maxEvents:maxEvents], cut)
	}
	for i := range events {
		events[i].ID = shortID(events[i].ID)
		events[i].Edits = events[i].Edits[:min(len(events[i].Edits), maxEvents)]
	}
	return events
}

// shortID returns the id of a call, or a digest of one that is longer than any agent's.
func shortID(id string) string {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// tooDeep reports whether a JSON text nests deeper than maxDepth.
func tooDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
