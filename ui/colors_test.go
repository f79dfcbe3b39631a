package ui

import (
	"bytes"
	"image/color"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// rendered is the screen as a terminal with this profile receives it.
func rendered(a *app, profile colorprofile.Profile) string {
	drive(a, tea.ColorProfileMsg{Profile: profile})
	var out bytes.Buffer
	w := colorprofile.Writer{Forward: &out, Profile: profile}
	_, _ = w.WriteString(a.View().Content)
	return out.String()
}

var (
	anyColor  = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:m])`)
	manyColor = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?[34]8[;:]`)
	trueColor = regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?[34]8[;:]2[;:]`)
)

func TestATerminalGetsNoColorsThatItLacks(t *testing.T) {
	for _, dark := range []color.Color{color.Black, color.White} {
		var text string
		for profile, never := range map[colorprofile.Profile]*regexp.Regexp{
			colorprofile.NoTTY: regexp.MustCompile("\x1b"), colorprofile.ASCII: anyColor, colorprofile.ANSI: manyColor, colorprofile.ANSI256: trueColor, colorprofile.TrueColor: nil,
		} {
			a := newTestApp(t, 120, 40)
			drive(a, tea.BackgroundColorMsg{Color: dark})
			view := rendered(a, profile)
			if never != nil && never.MatchString(view) {
				t.Errorf("%v gets %q", profile, never.FindString(view))
			}
			if profile >= colorprofile.ANSI && !anyColor.MatchString(view) {
				t.Errorf("%v gets no color at all", profile)
			}
			if plain := ansi.Strip(view); text == "" {
				text = plain
			} else if plain != text {
				t.Errorf("%v has another text:\n%s", profile, plain)
			}
		}
	}
}

func TestTheSelectedRowShowsWithoutColors(t *testing.T) {
	a := newTestApp(t, 120, 40)
	if view := rendered(a, colorprofile.ASCII); !regexp.MustCompile(`\x1b\[(?:[0-9;]*;)?7m[^\n]*0aaaa-codex`).MatchString(view) {
		t.Errorf("%q", view)
	}
}

func TestTheVariablesOfATerminalDetermineItsColors(t *testing.T) {
	for environ, want := range map[string]colorprofile.Profile{
		"TERM=xterm-256color":                     colorprofile.ANSI256,
		"TERM=xterm-256color COLORTERM=truecolor": colorprofile.TrueColor,
		"TERM=xterm-color":                        colorprofile.ANSI,
		"TERM=linux":                              colorprofile.ANSI,
		"TERM=dumb":                               colorprofile.NoTTY,
		"TERM=xterm-256color COLORTERM=truecolor NO_COLOR=1":   colorprofile.ASCII,
		"TERM=xterm-256color COLORTERM=truecolor NO_COLOR=yes": colorprofile.ASCII,
		"TERM=xterm-256color NO_COLOR=please CLICOLOR_FORCE=1": colorprofile.ASCII,
		"TERM=xterm-256color NO_COLOR=":                        colorprofile.ANSI256,
		"TERM=dumb NO_COLOR=1":                                 colorprofile.NoTTY,
		"TERM=tmux-256color TMUX=/nowhere COLORTERM=truecolor": colorprofile.ANSI256, // the terminal that tmux runs in is unknown
		"TERM=screen-256color TMUX=/nowhere NO_COLOR=0":        colorprofile.ASCII,
	} {
		if got := colorsOf(strings.Fields(environ)); got != want {
			t.Errorf("%s shows %v, not %v", environ, got, want)
		}
	}
}

func TestTheVariablesOfATerminalMayTellItsBackground(t *testing.T) {
	for value, light := range map[string]bool{
		"15;0": false, "0;15": true, "0;default;15": true, "12;8": false, "0;7": true, "default;default": false, "": false, "x;99": false,
	} {
		if lightOf([]string{"TERM=xterm", "COLORFGBG=" + value}) != light {
			t.Errorf("COLORFGBG=%s is taken for the other", value)
		}
	}
	if lightOf(nil) {
		t.Error("without a word a terminal is taken for a light one")
	}
}
