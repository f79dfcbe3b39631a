package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// withRemark draws the app's own remark about the last key on the last row of a screen.
func (a *app) withRemark(screen string) string {
	if a.remark == "" {
		return screen
	}
	return screen[:strings.LastIndexByte(screen, '\n')+1] + a.theme.Warn.Render(ansi.Truncate("! "+a.remark, a.width, "…"))
}
