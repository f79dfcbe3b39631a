package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"aibox/test/terminal"

	"github.com/charmbracelet/x/vt"
)

// animate draws an asciicast as an animated SVG, in the manner of a film strip: a CSS
// animation moves one frame after the other into view. Equal rows are drawn once.
func animate(cast io.Reader, p palette) (string, error) {
	header, events, err := readCast(cast)
	if err != nil {
		return "", err
	}
	size := terminal.Size{Rows: header.Height, Cols: header.Width}
	e := vt.NewEmulator(size.Cols, size.Rows)
	defer e.Close()
	s := strip{sheet: sheet{palette: p, classes: map[string]string{}}, rows: map[string]int{}, size: size}
	for i, event := range events {
		if event.kind != "o" || i == len(events)-1 {
			continue
		}
		if _, err := e.WriteString(event.data); err != nil {
			return "", err
		}
		s.add(e, event.at)
	}
	if len(s.starts) == 0 {
		return "", fmt.Errorf("the asciicast has no frames")
	}
	return s.document(header.Title, events[len(events)-1].at), nil
}

// strip collects the frames of an animation.
type strip struct {
	sheet

	size   terminal.Size
	rows   map[string]int // from a drawn row to its number
	drawn  []string       // by that number
	frames strings.Builder
	starts []time.Duration
}

// add adds the screen as the next frame.
func (s *strip) add(e *vt.Emulator, at time.Duration) {
	fmt.Fprintf(&s.frames, `<g transform="translate(%s)">`, number(float64(len(s.starts))*s.width()))
	for y := range s.size.Rows {
		s.back.Reset()
		s.text.Reset()
		s.lines = newDrawing()
		s.row(e, y, 0, s.size.Cols)
		var row strings.Builder
		row.WriteString(s.back.String())
		s.lines.write(&row)
		row.WriteString(s.text.String())
		if row.Len() == 0 {
			continue
		}
		n, known := s.rows[row.String()]
		if !known {
			n = len(s.drawn)
			s.rows[row.String()] = n
			s.drawn = append(s.drawn, row.String())
		}
		fmt.Fprintf(&s.frames, `<use href="#r%d" y="%s"/>`, n, number(float64(y)*cellHeight))
	}
	s.frames.WriteString("</g>\n")
	s.starts = append(s.starts, at)
}

func (s *strip) width() float64  { return float64(s.size.Cols)*cellWidth + 2*margin }
func (s *strip) height() float64 { return float64(s.size.Rows)*cellHeight + 2*margin }

// document returns the whole file. Readers who prefer reduced motion see the last frame.
func (s *strip) document(title string, length time.Duration) string {
	var out strings.Builder
	s.head(&out, s.width(), s.height())
	var moves strings.Builder
	for i, at := range s.starts {
		fmt.Fprintf(&moves, "%s%%{transform:translateX(-%spx)}", percent(at, length), number(float64(i)*s.width()))
	}
	last := fmt.Sprintf("translateX(-%spx)", number(float64(len(s.starts)-1)*s.width()))
	fmt.Fprintf(&out, "\n@keyframes film{%s100%%{transform:%s}}\n", moves.String(), last)
	fmt.Fprintf(&out, ".film{animation:film %ss step-end infinite}\n", number(length.Seconds()))
	fmt.Fprintf(&out, "@media (prefers-reduced-motion:reduce){.film{animation:none;transform:%s}}\n</style>\n", last)
	fmt.Fprintf(&out, "<title>%s</title>\n", title)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n<defs>\n", s.palette.back)
	for n, row := range s.drawn {
		fmt.Fprintf(&out, "<g id=\"r%d\">\n%s</g>\n", n, row)
	}
	fmt.Fprintf(&out, "</defs>\n<g class=\"film\">\n%s</g>\n</svg>\n", s.frames.String())
	return out.String()
}

func percent(at, length time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", 100*at.Seconds()/length.Seconds()), "0"), ".")
}
