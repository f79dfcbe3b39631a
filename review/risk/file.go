package risk

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxContent is the maximum size of content that the rules read, in bytes. A larger file is
// a risk by itself.
const MaxContent = 4 << 20

// The modes that rules distinguish, in git's octal.
const (
	executable = "100755"
	symlink    = "120000"
)

// Side is a file before or after the change. The zero value is a missing file.
type Side struct {
	Mode    string // git's octal; empty when the file is not there
	Content []byte // for a symlink its target; incomplete if Cut
	Cut     bool   // there is more than Content, which may be empty
}

// File is one changed file as the rules see it. It is not safe for concurrent use.
type File struct {
	Path     string  // raw bytes, slash-separated
	Old, New Side    // for a renamed file, Old is the file under its old name
	OldPath  string  // of a renamed file
	Size     int64   // of the new content
	Binary   bool    // git shows no lines of it
	Effort   *Effort // shared by the files of a review; nil: this file has its own
	Covers   bool    // it replaces a file of the user that was hidden from the agent

	Aliases    []string // other names by which symlinks lead to Path
	OldAliases []string // of a renamed file: those that lead to OldPath

	once  sync.Once
	text  []byte
	added []span

	readOnce sync.Once
	seen     [kinds]sighting
	hidden   []string // secrets in it; an empty one means that the search was incomplete
	searched bool     // hidden is known, and they are reported elsewhere
}

// span is a stretch of added lines of the new text.
type span struct {
	text []byte
	line int // number of the first one, from 1
}

// line is one added line without its end.
type line struct {
	number int
	text   string
}

// gone reports whether the change removes Path.
func (f *File) gone() bool { return f.New.Mode == "" }

// link reports whether the new file is a symlink.
func (f *File) link() bool { return f.New.Mode == symlink }

// asNew is the file as if all of it were new.
func (f *File) asNew() *File {
	return &File{Path: f.Path, New: f.New, Size: f.Size, Binary: f.Binary, Effort: f.Effort}
}

// Text is the new content in UTF-8, where it is text in UTF-16, too.
func (f *File) Text() []byte {
	f.once.Do(f.compare)
	return f.text
}

// oldText is the old content in UTF-8; nil if there is none that can be compared.
func (f *File) oldText() []byte {
	if f.Old.Mode == "" || f.Old.Cut || f.Old.Mode == symlink {
		return nil
	}
	return plainText(f.Old.Content)
}

// stretches returns the lines of the new text that are not in the old one, in order. A
// line that only moved is not new. In a file that is too long to compare, every line
// counts.
func (f *File) stretches() []span {
	f.once.Do(f.compare)
	return f.added
}

// lines are the stretches line by line.
func (f *File) lines(visit func(line) bool) {
	for _, s := range f.stretches() {
		number := s.line
		for part := range bytes.Lines(s.text) {
			if !visit(line{number, strings.TrimRight(string(part), "\r\n")}) {
				return
			}
			number++
		}
	}
}

// first is the number of the first added line; 0 when the file is all new.
func (f *File) first() int {
	if s := f.stretches(); f.Old.Mode != "" && len(s) > 0 {
		return s[0].line
	}
	return 0
}

// compare finds the added lines. It stores the lines of the old text as hashes with a
// random seed.
func (f *File) compare() {
	f.text = plainText(f.New.Content)
	if f.gone() || len(f.text) == 0 {
		return
	}
	old := f.oldText()
	if len(old) == 0 {
		f.added = []span{{f.text, 1}}
		return
	}
	seed := maphash.MakeSeed()
	known := make(map[uint64]struct{}, bytes.Count(old, []byte("\n"))+1)
	for part := range bytes.Lines(old) {
		known[maphash.Bytes(seed, bytes.TrimRight(part, "\r\n"))] = struct{}{}
	}
	at, number, open := 0, 0, false
	for part := range bytes.Lines(f.text) {
		number++
		_, there := known[maphash.Bytes(seed, bytes.TrimRight(part, "\r\n"))]
		switch {
		case there:
			open = false
		case open:
			last := &f.added[len(f.added)-1]
			last.text = f.text[at-len(last.text) : at+len(part)]
		default:
			open = true
			f.added = append(f.added, span{f.text[at : at+len(part)], number})
		}
		at += len(part)
	}
}

// plainText converts UTF-16 with a byte order mark to UTF-8 and leaves everything else
// unchanged.
func plainText(content []byte) []byte {
	if len(content) < 2 || content[0]^content[1] != 0xff^0xfe || content[0] < 0xfe {
		return content
	}
	low := 0
	if content[0] == 0xfe {
		low = 1
	}
	units := make([]uint16, 0, len(content)/2)
	for i := 2; i+1 < len(content); i += 2 {
		units = append(units, uint16(content[i+low])|uint16(content[i+1-low])<<8)
	}
	var out []byte
	for _, r := range utf16.Decode(units) {
		out = utf8.AppendRune(out, r)
	}
	return out
}
