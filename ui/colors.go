package ui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// colorsOf returns the colors of a terminal with these variables. The library accepts
// only true values of NO_COLOR; no-color.org says that any value counts.
func colorsOf(environ []string) colorprofile.Profile {
	profile := colorprofile.Env(environ)
	if slices.ContainsFunc(environ, func(pair string) bool {
		value, found := strings.CutPrefix(pair, "NO_COLOR=")
		return found && value != ""
	}) {
		return min(profile, colorprofile.ASCII)
	}
	return profile
}

// lightOf guesses from the variables whether a terminal has a light background. It is
// used until the terminal answers, and for terminals that never do. COLORFGBG is "15;0"
// or "0;default;15": its last part is the background, and of the 16 colors 7 and those
// from 9 on are light.
func lightOf(environ []string) bool {
	for _, pair := range environ {
		if value, found := strings.CutPrefix(pair, "COLORFGBG="); found {
			back, err := strconv.Atoi(value[strings.LastIndexByte(value, ';')+1:])
			return err == nil && (back == 7 || back >= 9 && back <= 15)
		}
	}
	return false
}
