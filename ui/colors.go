package ui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// colorsOf is what a terminal with these variables can show. The library would take
// NO_COLOR only where its value is a yes; no-color.org says that any value counts.
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

// lightOf is whether a terminal with these variables has a light background, as far as
// they tell: until the terminal says so itself, and where it never does. COLORFGBG is
// "15;0" or "0;default;15": the number of the background is its last part, and of the 16
// colors those of 7 and from 9 on are light.
func lightOf(environ []string) bool {
	for _, pair := range environ {
		if value, found := strings.CutPrefix(pair, "COLORFGBG="); found {
			back, err := strconv.Atoi(value[strings.LastIndexByte(value, ';')+1:])
			return err == nil && (back == 7 || back >= 9 && back <= 15)
		}
	}
	return false
}
