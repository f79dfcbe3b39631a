package main

import (
	"fmt"
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// palette is the colors of a terminal.
type palette struct {
	name       string
	text, back string     // #rrggbb
	basic      [16]string // of the codes 30-37 and 90-97
}

// The palettes of all pictures, similar to the defaults of current terminals.
var palettes = []palette{
	{
		name: "dark", text: "#d4d7dd", back: "#16181d",
		basic: [16]string{
			"#2b2f37", "#e0626b", "#7dbb6b", "#d0a458", "#5f9be6", "#b583d6", "#52b3c0", "#c3c7cf",
			"#6c7482", "#f28b91", "#9fd68e", "#ebc77e", "#8bb9f5", "#cda5ea", "#7fd0db", "#f4f5f7",
		},
	},
	{
		name: "light", text: "#24292f", back: "#ffffff",
		basic: [16]string{
			"#24292f", "#c5262f", "#1c7a35", "#8a5d00", "#0b5cb8", "#7d3cb5", "#10717d", "#6e7781",
			"#7a838d", "#a31720", "#116329", "#6b4800", "#084a99", "#5f2a91", "#0b5660", "#3d444d",
		},
	},
}

// of returns a color in SVG's notation, or fallback for none.
func (p palette) of(c color.Color, fallback string) string {
	switch c := c.(type) {
	case nil:
		return fallback
	case ansi.BasicColor:
		return p.basic[c%16]
	case ansi.IndexedColor:
		if c < 16 {
			return p.basic[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
