package ctrlseq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tokens lists the tokens of the pieces: kind, data, final byte. Text is joined, since
// pieces may cut it.
func tokens(pieces ...string) []string {
	var t Tokenizer
	var all []string
	var last Kind
	for _, piece := range pieces {
		for p := []byte(piece); len(p) > 0; {
			token, n := t.Next(p)
			p = p[n:]
			text := fmt.Sprintf("%s %q", names[token.Kind], token.Data)
			if token.Final != 0 {
				text += fmt.Sprintf(" %q", token.Final)
			}
			switch {
			case token.Kind == None:
				continue
			case token.Kind == last && (last == Text || last == NonASCII):
				all[len(all)-1] += " + " + fmt.Sprintf("%q", token.Data)
			default:
				all = append(all, text)
			}
			last = token.Kind
		}
	}
	return all
}

var names = [...]string{"none", "text", "beyond", "control", "escape", "csi", "osc", "string", "invalid"}

func TestOutputIsSplitIntoTextAndSequences(t *testing.T) {
	for in, want := range map[string][]string{
		"plain":                          {`text "plain"`},
		"a\nb\x7f":                       {`text "a"`, `control "" '\n'`, `text "b"`, `control "" '\x7f'`},
		"\u00e9\xff":                     {`beyond "é\xff"`},
		"\x1b[1;31mred":                  {`csi "1;31" 'm'`, `text "red"`},
		"\x1b[?25 q":                     {`csi "?25 " 'q'`},
		"\x1b(Bx":                        {`escape "(" 'B'`, `text "x"`},
		"\x1b]0;\u00dcber\x07x":          {`osc "0;Über"`, `text "x"`},
		"\x1b]0;a\x1b\\x":                {`osc "0;a"`, `text "x"`},
		"\x1bP+q\x07y\x1b\\x":            {`string "+q\ay" 'P'`, `text "x"`},
		"\x1b[3\n1mx":                    {`control "" '\n'`, `csi "31" 'm'`, `text "x"`},
		"\x1b[3\x1b[4mx":                 {`csi "4" 'm'`, `text "x"`},
		"\x1b]0;a\x1b[31mx":              {`csi "31" 'm'`, `text "x"`},
		"\x1b[3\x18x":                    {`invalid ""`, `text "x"`},
		"\x1b[3\u00e9":                   {`invalid ""`, `beyond "é"`},
		"\x9b31m":                        {`beyond "\x9b"`, `text "31m"`},
		"\x1b[" + long(300) + "mx":       {`invalid ""`, `text "x"`},
		"\x1b]" + long(5000) + "\x07x":   {`invalid ""`, `text "x"`},
		"\x1b]" + long(maxEndless) + "x": {`invalid ""`},
		"\x1b]0;a":                       nil,
	} {
		if got := tokens(in); !slices.Equal(got, want) {
			t.Errorf("%.40q gives %q, want %q", in, got, want)
		}
	}
}

func long(n int) string { return strings.Repeat("1", n) }

func TestSequenceAfterResetIsText(t *testing.T) {
	var tok Tokenizer
	tok.Next([]byte("\x1b]0;a"))
	tok.Reset()
	if token, n := tok.Next([]byte("b")); token.Kind != Text || n != 1 {
		t.Errorf("it gives %+v, %d", token, n)
	}
}

// FuzzNext passes the same bytes in three pieces and in one.
func FuzzNext(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b]52;c;x\x07\x9b6n\xc2\x9b"), 3)
	f.Add([]byte("\x1b\x1b[m\x1b[?1m\x1bP\x1b[0K\xe2\x80\xae\x1b(0\x1b_x\x1b\\"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		var tok Tokenizer
		for _, p := range [][]byte{data[:cut], data[cut:]} {
			for len(p) > 0 {
				token, n := tok.Next(p)
				limit := map[Kind]int{Text: MaxText, NonASCII: MaxText, Escape: MaxSequence, CSI: MaxSequence, OSC: MaxString, String: MaxString}[token.Kind]
				if n < 0 || n > len(p) || n == 0 && token.Kind != Invalid || token.Kind == None && n < len(p) || len(token.Data) > limit {
					t.Fatalf("%+v took %d of %d bytes", token, n, len(p))
				}
				p = p[n:]
			}
		}
		strip := func(s []string) string { return strings.ReplaceAll(strings.Join(s, "\n"), `" + "`, "") }
		if whole, parts := strip(tokens(string(data))), strip(tokens(string(data[:cut]), string(data[cut:]))); quoteless(whole) != quoteless(parts) {
			t.Fatalf("cut at %d gives\n%s\nwhole\n%s", cut, parts, whole)
		}
	})
}

// quoteless drops non-ASCII text, which is quoted differently when it is cut.
func quoteless(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		if strings.HasPrefix(line, "beyond") {
			line = "beyond\n"
		}
		out.WriteString(line)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
