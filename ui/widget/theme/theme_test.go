package theme

import (
	"bytes"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// luminance and contrast are those of WCAG 2.2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		s := float64(v) / 0xffff
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func contrast(a, b color.Color) float64 {
	first, second := luminance(a), luminance(b)
	return (max(first, second) + 0.05) / (min(first, second) + 0.05)
}

// backgrounds are common background colors: black, white, and those of popular palettes.
var backgrounds = map[bool][]string{
	true:  {"#000000", "#16181d", "#1e1e1e", "#002b36", "#282828"},
	false: {"#ffffff", "#fafafa", "#fdf6e3", "#eff1f5"},
}

// styles are the text styles that are drawn on the terminal's own background.
func (t Theme) styles() map[string]lipgloss.Style {
	return map[string]lipgloss.Style{
		"faint": t.Faint, "good": t.Good, "bad": t.Bad, "warn": t.Warn, "live": t.Live, "key": t.Key,
	}
}

func TestTextCanBeReadOnAnyBackground(t *testing.T) {
	for dark, behind := range backgrounds {
		theme := New(dark)
		for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256} {
			for _, background := range behind {
				for name, style := range theme.styles() {
					got := contrast(profile.Convert(style.GetForeground()), lipgloss.Color(background))
					if got < 4.5 {
						t.Errorf("dark %v, %v: %s on %s has a contrast of %.2f, below 4.5", dark, profile, name, background, got)
					}
				}
				if got := contrast(profile.Convert(theme.Rule.GetForeground()), lipgloss.Color(background)); got < 2 {
					t.Errorf("dark %v, %v: lines on %s have a contrast of %.2f, below 2", dark, profile, background, got)
				}
			}
			front, back := profile.Convert(theme.Selected.GetForeground()), profile.Convert(theme.Selected.GetBackground())
			if got := contrast(front, back); got < 7 {
				t.Errorf("dark %v, %v: the selected row has a contrast of %.2f, below 7", dark, profile, got)
			}
		}
	}
}

func TestTextCanBeReadOnChangedLines(t *testing.T) {
	for _, dark := range []bool{true, false} {
		theme := New(dark)
		for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256} {
			check := func(name string, style lipgloss.Style) {
				front, back := profile.Convert(style.GetForeground()), profile.Convert(style.GetBackground())
				if got := contrast(front, back); got < 4.5 {
					t.Errorf("dark %v, %v: %s has a contrast of %.2f, below 4.5", dark, profile, name, got)
				}
			}
			seen := map[color.Color]string{}
			for name, line := range map[string]lipgloss.Style{
				"added line": theme.AddedLine, "deleted line": theme.DeletedLine, "added word": theme.AddedWord, "deleted word": theme.DeletedWord,
			} {
				check(name, line)
				back := profile.Convert(line.GetBackground())
				r, g, b, _ := back.RGBA()
				if other := seen[back]; other != "" || r == g && g == b {
					t.Errorf("dark %v, %v: %s is gray, or like %s", dark, profile, name, other)
				}
				seen[back] = name
			}
			for _, line := range []lipgloss.Style{theme.AddedLine, theme.DeletedLine} {
				for name, style := range theme.styles() {
					check(name+" on a changed line", theme.On(line, style))
				}
				check("plain text on a changed line", theme.On(line, theme.Plain))
			}
		}
	}
	for _, theme := range []Theme{Basic(true), Basic(false)} { // marks and reverse video carry the meaning
		for _, style := range []lipgloss.Style{theme.AddedLine, theme.DeletedLine, theme.On(theme.AddedLine, theme.Key)} {
			if _, none := style.GetBackground().(lipgloss.NoColor); !none {
				t.Errorf("%v is behind a line of 16 colors", style.GetBackground())
			}
		}
		if got := rendered(theme.AddedWord, colorprofile.ASCII); !strings.Contains(got, "[7m") {
			t.Errorf("without colors a changed word is %q", got)
		}
	}
}

func TestColorsDistinguishMeaningsIfThereAreColors(t *testing.T) {
	for _, theme := range []Theme{New(true), New(false), Basic(true), Basic(false)} {
		for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI} {
			if profile == colorprofile.ANSI && theme.Good.GetForeground() != Basic(true).Good.GetForeground() && theme.Good.GetForeground() != Basic(false).Good.GetForeground() {
				continue // that one is for terminals with more colors
			}
			seen := map[string]string{}
			for name, style := range theme.styles() {
				look := rendered(style, profile)
				if other := seen[look]; other != "" {
					t.Errorf("%v: %s and %s look the same", profile, name, other)
				}
				seen[look] = name
			}
		}
	}
}

// rendered is a word in a style as a terminal with this profile receives it.
func rendered(style lipgloss.Style, profile colorprofile.Profile) string {
	var out bytes.Buffer
	w := colorprofile.Writer{Forward: &out, Profile: profile}
	_, _ = w.WriteString(style.Render("word"))
	return out.String()
}

func TestATerminalGetsOnlyColorsThatItHas(t *testing.T) {
	for _, c := range []struct {
		profile colorprofile.Profile
		theme   Theme
		never   []string
	}{
		{colorprofile.ANSI256, New(true), []string{"38;2;", "48;2;"}},
		{colorprofile.ANSI256, New(false), []string{"38;2;", "48;2;"}},
		{colorprofile.ANSI, Basic(true), []string{"38;", "48;"}},
		{colorprofile.ANSI, Basic(false), []string{"38;", "48;"}},
	} {
		for name, style := range c.theme.styles() {
			got := rendered(style, c.profile)
			for _, never := range c.never {
				if strings.Contains(got, never) {
					t.Errorf("%v: %s is %q", c.profile, name, got)
				}
			}
		}
	}
	for _, theme := range []Theme{Basic(true), Basic(false)} {
		for name, style := range theme.styles() {
			got := rendered(style, colorprofile.ASCII)
			if ansi.Strip(got) != "word" || strings.Contains(got, "[3") || strings.Contains(got, ";3") || strings.Contains(got, "9") {
				t.Errorf("without colors %s is %q", name, got)
			}
		}
		if got := rendered(theme.Selected, colorprofile.ASCII); !strings.Contains(got, "[7m") {
			t.Errorf("without colors the selected row is %q", got)
		}
	}
}

func TestALightThemeIsNoDarkOne(t *testing.T) {
	for name, pair := range map[string][2]Theme{"rich": {New(true), New(false)}, "basic": {Basic(true), Basic(false)}} {
		dark, light := pair[0].styles(), pair[1].styles()
		for meaning := range dark {
			if meaning != "faint" && dark[meaning].GetForeground() == light[meaning].GetForeground() {
				t.Errorf("%s: %s is the same on both backgrounds", name, meaning)
			}
		}
	}
}

func TestNoScreenHasAColorOfItsOwn(t *testing.T) {
	looked := 0
	err := filepath.WalkDir("../..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "../../widget/theme") {
			return err
		}
		source, err := os.ReadFile(file)
		looked++
		for _, color := range []string{"lipgloss.Color", "LightDark(", "ansi.BasicColor", "ansi.IndexedColor", "color.RGBA{"} {
			if bytes.Contains(source, []byte(color)) {
				t.Errorf("%s names a color: %s", file, color)
			}
		}
		return err
	})
	if err != nil || looked < 30 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
}
