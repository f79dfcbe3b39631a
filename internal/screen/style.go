package screen

import (
	"image/color"
	"strconv"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Colors is how many colors the user's terminal has.
type Colors int

// The color depths. The zero value is none: bold and the like remain.
const (
	NoColors   Colors = 0
	Colors16   Colors = 16
	Colors256  Colors = 256
	TrueColors Colors = 1 << 24
)

// appendStyle adds the sequence that sets exactly this style.
func appendStyle(out []byte, style uv.Style, colors Colors) []byte {
	out = append(out, "\x1b[0"...)
	for _, attribute := range []struct {
		bit  uint8
		code int
	}{
		{uv.AttrBold, 1},
		{uv.AttrFaint, 2},
		{uv.AttrItalic, 3},
		{uv.AttrBlink, 5},
		{uv.AttrRapidBlink, 6},
		{uv.AttrReverse, 7},
		{uv.AttrConceal, 8},
		{uv.AttrStrikethrough, 9},
	} {
		if style.Attrs&attribute.bit != 0 {
			out = appendCodes(out, attribute.code)
		}
	}
	if style.Underline != ansi.UnderlineNone {
		out = appendCodes(out, 4) // not all terminals support the other kinds
	}
	out = appendColor(out, style.Fg, 30, colors)
	out = appendColor(out, style.Bg, 40, colors)
	return append(out, 'm')
}

func appendCodes(out []byte, codes ...int) []byte {
	for _, code := range codes {
		out = strconv.AppendInt(append(out, ';'), int64(code), 10)
	}
	return out
}

// appendColor adds a color as codes from base on: 30 for text, 40 for the background.
func appendColor(out []byte, c color.Color, base int, colors Colors) []byte {
	if c == nil || colors < Colors16 {
		return out
	}
	if _, basic := c.(ansi.BasicColor); !basic {
		if _, indexed := c.(ansi.IndexedColor); !indexed && colors < TrueColors {
			c = ansi.Convert256(c)
		}
		if colors < Colors256 {
			c = ansi.Convert16(c)
		}
	}
	switch c := c.(type) {
	case ansi.BasicColor:
		if c < 8 {
			return appendCodes(out, base+int(c))
		}
		return appendCodes(out, base+60+int(c)-8)
	case ansi.IndexedColor:
		return appendCodes(out, base+8, 5, int(c))
	default:
		r, g, b, _ := c.RGBA()
		return appendCodes(out, base+8, 2, int(r>>8), int(g>>8), int(b>>8))
	}
}
