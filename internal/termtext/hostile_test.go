package termtext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"aibox/internal/termtext"
)

// hostile are ways to make a terminal do more than show text, each around the word
// "shown".
var hostile = map[string]string{
	"clipboard, OSC 52":           "\x1b]52;c;aGk=\x07shown",
	"clipboard ended by ST":       "\x1b]52;c;aGk=\x1b\\shown",
	"clipboard in 8 bits":         "\x9d52;c;aGk=\x9cshown",
	"clipboard in UTF-8":          "\u009d52;c;aGk=\u009cshown",
	"clipboard inside tmux":       "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\shown",
	"link, OSC 8":                 "\x1b]8;;file:///etc/passwd\x1b\\shown\x1b]8;;\x1b\\",
	"title":                       "\x1b]0;title\x07shown",
	"title report":                "\x1b[21tshown",
	"palette, OSC 4":              "\x1b]4;1;?\x07shown",
	"notification, OSC 9 and 777": "\x1b]9;hi\x07\x1b]777;notify;a;b\x07shown",
	"working folder, OSC 7":       "\x1b]7;file:///tmp\x07shown",
	"file transfer, OSC 1337":     "\x1b]1337;File=inline=1:AAAA\x07shown",
	"DCS query":                   "\x1bP+q544e\x1b\\shown",
	"DCS settings":                "\x1bP$qm\x1b\\shown",
	"sixel":                       "\x1bPq#0;2;0;0;0#0~~\x1b\\shown",
	"APC, kitty's pictures":       "\x1b_Gf=100;AAAA\x1b\\shown",
	"PM and SOS":                  "\x1b^x\x1b\\\x1bXy\x1b\\shown",
	"cursor report":               "\x1b[6nshown\x1b[?6n",
	"device attributes":           "\x1b[c\x1b[>c\x1b[=cshown",
	"reset":                       "\x1bcshown\x1b[!p",
	"other screen":                "\x1b[?1049hshown\x1b[?47h",
	"bracketed paste, mouse":      "\x1b[?2004h\x1b[?1000hshown",
	"cursor up and home":          "\x1b[5A\x1b[H\x1b[2Jshown",
	"scroll region, insert mode":  "\x1b[1;2r\x1b[4hshown",
	"character set":               "\x1b(0shown\x0e",
	"C1 in UTF-8":                 "\u009b6n\u0090shown",
	"bell, enquiry, delete":       "\x07\x05\x7fshown",
	"a sequence within another":   "\x1b[\x1b]0;x\x07shown",
	"a sequence that never ends":  "shown\x1b]0;abc",
	"a very long sequence":        "\x1b[" + strings.Repeat("1;", 4000) + "mshown",
	"bidi":                        "\u202e\u2066shown\u2069\u202c",
	"tags":                        "shown\U000e0041\U000e0042",
}

func TestHostileInputShowsItsTextAndHasNoEffect(t *testing.T) {
	for name, in := range hostile {
		t.Run(name, func(t *testing.T) {
			for form, out := range map[string]string{
				"Escape": termtext.Escape(in), "Text": termtext.Text(in),
				"Plain": filter(termtext.Plain, in), "Stream": safeSequence.ReplaceAllString(filter(termtext.Stream, in), ""),
			} {
				if strings.ContainsAny(out, "\x1b\x07\x05\x7f\x0e") || !utf8.ValidString(out) {
					t.Errorf("%s gives %q", form, out)
				}
				if !strings.Contains(out, "shown") {
					t.Errorf("%s hides what is shown: %q", form, out)
				}
				for _, r := range out {
					if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) {
						t.Errorf("%s passes %U", form, r)
					}
				}
			}
		})
	}
}

// Unicode's own tables say what is invisible; Escape must agree with each of them.
func TestEscapePassesNoInvisibleOrControlRune(t *testing.T) {
	tables := map[string]*unicode.RangeTable{
		"control": unicode.Cc, "format": unicode.Cf, "line separator": unicode.Zl, "paragraph separator": unicode.Zp,
		"private": unicode.Co, "surrogate": unicode.Cs, "bidi control": unicode.Bidi_Control,
		"default ignorable": unicode.Other_Default_Ignorable_Code_Point, "variation selector": unicode.Variation_Selector,
		"no character": unicode.Noncharacter_Code_Point,
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		in := "a" + string(r)
		if !strings.ContainsRune(termtext.Escape(in), r) {
			continue
		}
		for name, table := range tables {
			if unicode.Is(table, r) && r != utf8.RuneError {
				t.Errorf("%U (%s) is passed", r, name)
			}
		}
		if unicode.IsSpace(r) && r != ' ' {
			t.Errorf("the blank %U is passed", r)
		}
	}
}
