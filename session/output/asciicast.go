package output

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Cast converts a record to asciicast v2, which `asciinema play` plays.
// https://docs.asciinema.org/manual/asciicast/v2/
//
// Its strings are Unicode, so bytes that are not UTF-8 are replaced with U+FFFD.
type Cast struct {
	// Lines reports that the output is not from a terminal: a line break must also return to
	// the first column, as it does in a terminal's driver.
	Lines bool

	begin time.Time
	carry map[Stream][]byte // the beginning of a character that continues in the next chunk
}

// CastHeader is the first line of a cast.
type CastHeader struct {
	Version   int    `json:"version"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Timestamp int64  `json:"timestamp,omitempty"` // Unix seconds
	Title     string `json:"title,omitempty"`
}

// NewCastHeader returns the header of a recording.
func NewCastHeader(width, height int, begin time.Time, title string) CastHeader {
	h := CastHeader{Version: 2, Width: width, Height: height, Title: title}
	if !begin.IsZero() {
		h.Timestamp = begin.Unix()
	}
	return h
}

// CastEvent is one of the other lines: printed text, and its time in seconds after the
// first text.
type CastEvent struct {
	Seconds float64
	Text    string
}

// MarshalJSON encodes the event as an array.
func (e CastEvent) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{e.Seconds, "o", e.Text})
}

// Add returns the event of a chunk; false for one without a whole character.
func (c *Cast) Add(chunk Chunk) (CastEvent, bool) {
	data := append(c.carry[chunk.Stream], chunk.Data...)
	whole := len(data) - PartialRune(data)
	if c.carry == nil {
		c.carry = map[Stream][]byte{}
	}
	c.carry[chunk.Stream] = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return CastEvent{}, false
	}
	if c.begin.IsZero() {
		c.begin = chunk.Time
	}
	text := strings.ToValidUTF8(string(data[:whole]), "\uFFFD")
	if c.Lines {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return CastEvent{Seconds: max(0, chunk.Time.Sub(c.begin).Seconds()), Text: text}, true
}

// PartialRune returns the length of an incomplete character at the end of data.
func PartialRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
