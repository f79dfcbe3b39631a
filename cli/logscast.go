package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"time"

	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/output"
)

// castPrinter prints a recording of what `aibox run` showed. A player writes its text to a
// terminal as it is, so the agent's bytes pass the terminal filter here, or are redrawn.
type castPrinter struct {
	out    io.Writer
	cast   output.Cast
	texts  *transcript // of an agent that prints events; nil otherwise
	drawn  *castScreen // of an interactive session; nil otherwise
	filter *termtext.Filter
	passed bytes.Buffer // what the filter has passed on
	last   time.Time
}

// The size of a recording of output that is not a terminal's, or whose size is unknown.
const (
	castWidth  = 80
	castHeight = 24
)

func newCastPrinter(out io.Writer, found session.Session) (*castPrinter, error) {
	p := &castPrinter{out: out, cast: output.Cast{Lines: !found.Interactive}}
	p.filter = termtext.NewFilter(&p.passed, termtext.Stream)
	size := found.State.Terminal
	size.Cols, size.Rows = cmp.Or(size.Cols, castWidth), cmp.Or(size.Rows, castHeight)
	if found.Interactive {
		p.drawn = newCastScreen(screen.Size(size))
	} else if found.State.Output.Format.Known() {
		p.texts = newTranscript(&found)
	}
	header := output.NewCastHeader(size.Cols, size.Rows, found.State.Started, "aibox "+string(found.ID))
	return p, encodeJSON(out, header, "")
}

func (p *castPrinter) show(chunk output.Chunk) error {
	p.last = chunk.Time
	if p.texts != nil {
		for _, text := range p.texts.add(chunk) {
			if err := p.add([]byte(text.Text), chunk.Time); err != nil {
				return err
			}
		}
		if chunk.Stream != output.Notice {
			return nil
		}
	}
	if chunk.Stream == output.Notice {
		chunk.Data = append([]byte("! "), chunk.Data...)
	}
	return p.add(chunk.Data, chunk.Time)
}

func (p *castPrinter) close() error {
	var err error
	if p.texts != nil {
		for _, text := range p.texts.close() {
			err = errors.Join(err, p.add([]byte(text.Text), p.last))
		}
	}
	if p.drawn != nil {
		return errors.Join(err, p.print(p.drawn.end(), p.last))
	}
	err = errors.Join(err, p.filter.Close())
	return errors.Join(err, p.print(p.passed.Bytes(), p.last))
}

// add prints text that may be the agent's.
func (p *castPrinter) add(data []byte, at time.Time) error {
	if p.drawn != nil {
		painted, paintedAt := p.drawn.add(data, at)
		return p.print(painted, paintedAt)
	}
	if _, err := p.filter.Write(data); err != nil {
		return err
	}
	defer p.passed.Reset()
	return p.print(p.passed.Bytes(), at)
}

// print prints text that is safe.
func (p *castPrinter) print(text []byte, at time.Time) error {
	e, ok := p.cast.Add(output.Chunk{Stream: output.Stdout, Time: at, Data: text})
	if !ok {
		return nil
	}
	return encodeJSON(p.out, e, "")
}

// castFrame is the shortest time between two pictures of a castScreen.
const castFrame = 16 * time.Millisecond

// castScreen redraws the screen of an interactive agent for a recording.
type castScreen struct {
	screen  *screen.Screen
	painter *screen.Painter
	at      time.Time // when the agent last drew
	painted time.Time
}

func newCastScreen(size screen.Size) *castScreen {
	return &castScreen{screen: screen.New(size), painter: screen.NewStillPainter(size, screen.TrueColors)}
}

// add takes what the agent has written. It returns the picture of what it had drawn before, if
// that was shown for a while, and the time of that picture.
func (c *castScreen) add(data []byte, at time.Time) (picture []byte, drawn time.Time) {
	if !c.at.IsZero() && at.Sub(c.painted) >= castFrame && !c.screen.Held() {
		picture, _ = c.painter.Paint(c.screen)
		c.painted = at
	}
	drawn, c.at = c.at, at
	_, _ = c.screen.Write(data)
	c.screen.Answers() // nothing reads them
	return picture, drawn
}

// end returns the last picture, and resets the terminal.
func (c *castScreen) end() []byte {
	picture, _ := c.painter.Paint(c.screen)
	return append(bytes.Clone(picture), "\x1b[m\x1b[0 q\x1b[?25h\r\n"...)
}
