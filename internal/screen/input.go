package screen

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"aibox/internal/ctrlseq"

	"github.com/charmbracelet/x/ansi"
)

// maxCluster is the maximum size of one character with its marks, in bytes.
const maxCluster = 32

// maxPending is the maximum number of non-ASCII bytes that wait for the rest of a character.
const maxPending = 256

// token is a control sequence, printable ASCII, or one character beyond ASCII.
type token struct {
	ctrlseq.Token
	width int // of a character beyond ASCII, in columns
}

// input splits an agent's bytes into tokens, in whatever pieces they arrive. It does not
// recognize 8-bit controls, since they are not characters in UTF-8.
type input struct {
	sequences ctrlseq.Tokenizer
	pending   []byte // characters beyond ASCII; the last one may be incomplete
}

// each visits the tokens of p for as long as more returns true, and returns how many
// bytes it took: at least one, unless p is empty.
func (in *input) each(p []byte, visit func(token), more func() bool) int {
	all := len(p)
	for first := true; len(p) > 0; first = false {
		if !first && !more() {
			return all - len(p)
		}
		t, n := in.sequences.Next(p)
		p = p[n:]
		switch t.Kind {
		case ctrlseq.None:
		case ctrlseq.NonASCII:
			in.collect(t.Data, visit)
		case ctrlseq.Invalid:
			in.flush(visit)
		default:
			in.flush(visit)
			visit(token{Token: t})
		}
	}
	// A character is shown as soon as it is complete. The screen joins marks from the next
	// piece to it.
	if part := lastRune(in.pending); utf8.FullRune(part) || len(part) == 0 {
		in.flush(visit)
	}
	return all
}

// collect keeps characters, since the following ones may join them: marks, the second half
// of a flag, or parts of an emoji.
func (in *input) collect(data []byte, visit func(token)) {
	for _, c := range data {
		in.pending = append(in.pending, c)
		if len(in.pending) < maxPending {
			continue
		}
		// All but the beginning of a character: an agent can send one beginning after another.
		part := bytes.Clone(lastRune(in.pending))
		if utf8.FullRune(part) {
			part = nil
		}
		in.pending = in.pending[:len(in.pending)-len(part)]
		in.flush(visit)
		in.pending = append(in.pending, part...)
	}
}

// flush visits the collected characters.
func (in *input) flush(visit func(token)) {
	rest := printable(in.pending)
	in.pending = in.pending[:0]
	for len(rest) > 0 {
		cluster, width := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[len(cluster):]
		visit(token{ctrlseq.Token{Kind: ctrlseq.Text, Data: shorten(cluster)}, min(width, 2)})
	}
}

// lastRune returns the end of p that may be an incomplete character.
func lastRune(p []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if utf8.RuneStart(p[len(p)-n]) {
			return p[len(p)-n:]
		}
	}
	return p[len(p):]
}

// printable replaces invalid UTF-8, characters that change the direction of text, and
// disguised controls.
func printable(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if p = p[size:]; !showable(r) {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// shorten cuts the marks of a character that do not fit maxCluster.
func shorten(cluster []byte) []byte {
	if len(cluster) <= maxCluster {
		return cluster
	}
	end := maxCluster
	for !utf8.RuneStart(cluster[end]) {
		end--
	}
	return cluster[:end]
}

// showable reports whether a terminal shows r and changes nothing else. The two joiners
// and the variation selectors belong to characters.
func showable(r rune) bool {
	switch {
	case r == 0x200c || r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		return true
	}
	return unicode.IsGraphic(r) && r != 0x2028 && r != 0x2029
}
