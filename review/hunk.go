package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"aibox/internal/git"
)

// HunkKind is the effect of accepting a hunk.
type HunkKind string

// The kinds of hunks. As in "git add -p", not every hunk is text.
const (
	HunkText    HunkKind = "text"    // replaces lines of the baseline
	HunkAdded   HunkKind = "added"   // makes the file
	HunkDeleted HunkKind = "deleted" // removes the file
	HunkContent HunkKind = "content" // replaces the content of a binary file, a symlink or a file in Git LFS as a whole
	HunkType    HunkKind = "type"    // makes a symlink of a file or the reverse
	HunkMode    HunkKind = "mode"    // makes the file executable or the reverse
	HunkFolder  HunkKind = "folder"  // applies all changes below a folded folder
	HunkRenamed HunkKind = "renamed" // moves the file, with the content and mode of the baseline
)

// HunkID identifies a hunk: 32 hex digits. It is a hash of the path, the baseline's blob,
// the kind, and the changed lines with their place in the baseline. So it stays the same
// when other hunks are accepted, when the change set is computed again, and when a nearby
// change makes git show other context lines.
type HunkID string

// Hunk is the smallest part of a change that the user can accept.
type Hunk struct {
	ID       HunkID   `json:"id"`
	Path     Path     `json:"path"`
	OldPath  Path     `json:"old_path,omitempty"` // when the file was renamed
	OldBlob  string   `json:"old_blob,omitempty"` // of the baseline; empty for a new file
	Kind     HunkKind `json:"kind"`
	OldStart int      `json:"old_start,omitempty"` // from 1, as in a patch: the line before when OldLines is 0
	OldLines int      `json:"old_lines,omitempty"`
	NewStart int      `json:"new_start,omitempty"`
	NewLines int      `json:"new_lines,omitempty"`
	Section  string   `json:"section,omitempty"` // the text that git shows after @@, raw: escape before printing

	// Lines are the changed lines with their context. Text hunks have them, and for
	// display also added and deleted files, symlinks and files in Git LFS; never binary files or
	// files of more than 500,000 changed lines.
	Lines []Line `json:"lines,omitempty"`
}

// Line is one line of a hunk.
type Line struct {
	Op        byte   // ' ', '+' or '-'
	Text      []byte // without the newline, raw: escape before printing
	NoNewline bool   // the file ends with this line and has no newline there
}

// lineJSON is the form of a line in JSON.
type lineJSON struct {
	Op        string `json:"op"`
	Text      *Path  `json:"text"` // a string, or {"bytes": base64} when it is not UTF-8
	NoNewline bool   `json:"no_newline,omitempty"`
}

// MarshalJSON writes the text as a string when it is UTF-8.
func (l Line) MarshalJSON() ([]byte, error) {
	text := Path(l.Text)
	return json.Marshal(lineJSON{string(rune(l.Op)), &text, l.NoNewline})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Line) UnmarshalJSON(data []byte) error {
	var text Path
	line := lineJSON{Text: &text}
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	*l = Line{Op: ' ', Text: []byte(text), NoNewline: line.NoNewline}
	if op, size := utf8.DecodeRuneInString(line.Op); size > 0 {
		l.Op = byte(op)
	}
	return nil
}

// Split divides a text hunk into one hunk for each run of changed lines; context lines
// between two of them belong to both. Any other hunk has itself as its only part. The id of
// a part is valid wherever that of a hunk is.
func (h Hunk) Split() []Hunk {
	if h.Kind != HunkText {
		return []Hunk{h}
	}
	blocks := h.blocks()
	if len(blocks) < 2 {
		return []Hunk{h}
	}
	parts := make([]Hunk, 0, len(blocks))
	n := h.counter()
	for i := range blocks {
		from, to := 0, len(h.Lines)
		if i > 0 {
			from = blocks[i-1].from + len(blocks[i-1].lines)
		}
		if i+1 < len(blocks) {
			to = blocks[i+1].from
		}
		part := h
		part.Lines = h.Lines[from:to:to]
		part.span(n.to(from))
		part.ID = part.id(Change{})
		parts = append(parts, part)
	}
	return parts
}

// counter counts the lines of each side of a hunk that come before one of its lines.
type counter struct {
	lines         []Line
	at            int
	before, after int // in all
}

func (h *Hunk) counter() *counter {
	n := &counter{lines: h.Lines, before: h.OldStart, after: h.NewStart}
	if h.OldLines > 0 {
		n.before--
	}
	if h.NewLines > 0 {
		n.after--
	}
	return n
}

// to returns how many lines there are before line i. i must not decrease between calls.
func (n *counter) to(i int) (before, after int) {
	for ; n.at < i; n.at++ {
		if n.lines[n.at].Op != '+' {
			n.before++
		}
		if n.lines[n.at].Op != '-' {
			n.after++
		}
	}
	return n.before, n.after
}

// span sets the line numbers of a hunk that follows the given number of lines on each
// side.
func (h *Hunk) span(before, after int) {
	h.OldStart, h.OldLines, h.NewStart, h.NewLines = before, 0, after, 0
	for _, line := range h.Lines {
		if line.Op != '+' {
			h.OldLines++
		}
		if line.Op != '-' {
			h.NewLines++
		}
	}
	if h.OldLines > 0 {
		h.OldStart++
	}
	if h.NewLines > 0 {
		h.NewStart++
	}
}

// id returns the hash of the hunk; c is its change, which a text hunk does not need. Each
// part is hashed after its length.
func (h *Hunk) id(c Change) HunkID {
	sum := sha256.New()
	var length []byte
	add := func(parts ...string) {
		for _, part := range parts {
			length = append(strconv.AppendInt(length[:0], int64(len(part)), 10), ':')
			sum.Write(length)
			sum.Write([]byte(part))
		}
	}
	add(h.Path.Raw(), h.OldBlob, string(h.Kind))
	switch h.Kind {
	case HunkText:
		for _, b := range h.blocks() {
			add("at", strconv.Itoa(b.at))
			for _, line := range b.lines {
				end := "\n"
				if line.NoNewline {
					end = ""
				}
				add(string(rune(line.Op)), string(line.Text), end)
			}
		}
	case HunkRenamed:
		add(h.OldPath.Raw())
	case HunkMode:
		add(c.OldMode, c.NewMode)
	default:
		add(c.OldMode, c.NewMode, c.fingerprint())
	}
	return HunkID(hex.EncodeToString(sum.Sum(nil)[:16]))
}

// hunks returns the hunks of c.
func (c *Change) hunks(s *patchSection) []Hunk {
	switch c.Kind {
	case Added:
		return []Hunk{whole(c, HunkAdded, s.lines())}
	case Deleted:
		return []Hunk{whole(c, HunkDeleted, s.lines())}
	}
	var hunks []Hunk
	if c.Kind == Renamed {
		hunks = append(hunks, whole(c, HunkRenamed, nil))
	}
	if c.OldMode != c.NewMode {
		hunks = append(hunks, whole(c, HunkMode, nil))
	}
	switch {
	case c.OldBlob == c.NewBlob:
	case c.NewMode == string(git.Symlink), s.long, len(s.hunks) == 0, // binary, or too long
		c.LFS != nil: // a part would mix lines of the pointer with those of the content
		hunks = append(hunks, whole(c, HunkContent, s.lines()))
	default:
		for _, h := range s.hunks {
			h.Path, h.OldPath, h.OldBlob, h.Kind = c.Path, c.OldPath, c.OldBlob, HunkText
			h.ID = h.id(*c)
			hunks = append(hunks, h)
		}
	}
	return hunks
}

// whole returns a hunk that cannot be split.
func whole(c *Change, kind HunkKind, lines []Line) Hunk {
	h := Hunk{Path: c.Path, OldPath: c.OldPath, OldBlob: c.OldBlob, Kind: kind, Lines: lines}
	h.span(0, 0)
	h.ID = h.id(*c)
	return h
}
