package ui

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ticks counts the ticks within d.
func ticks(ticker *time.Ticker, d time.Duration) (n int) {
	end := time.After(d)
	for {
		select {
		case <-ticker.C:
			n++
		case <-end:
			return n
		}
	}
}

func TestAScreenWithoutFramesIsCheckedTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{ticker: time.NewTicker(time.Second / framesPerSecond)}
		defer p.ticker.Stop()
		p.frame()
		if n := ticks(p.ticker, idleAfter+time.Millisecond); n < 5 {
			t.Errorf("%d ticks right after a frame", n)
		}
		if n := ticks(p.ticker, time.Second); n > 12 {
			t.Errorf("%d ticks in a second without a frame", n)
		}
	})
}

func TestAFrameAfterARestIsDrawnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{ticker: time.NewTicker(time.Second / framesPerSecond)}
		defer p.ticker.Stop()
		for range 3 {
			ticks(p.ticker, 5*idleInterval)
			p.frame()
			if n := ticks(p.ticker, 2*frameInterval); n == 0 {
				t.Error("no tick follows a frame")
			}
		}
	})
}

func TestFramesInARowKeepTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{ticker: time.NewTicker(time.Second / framesPerSecond)}
		defer p.ticker.Stop()
		n := 0
		for range 1000 {
			p.frame()
			n += ticks(p.ticker, time.Millisecond)
		}
		if want := int(time.Second/frameInterval) * 9 / 10; n < want {
			t.Errorf("%d ticks in a second, want at least %d", n, want)
		}
	})
}

// quits is a model that ends its program at once.
type quits struct{}

func (quits) Init() tea.Cmd                         { return tea.Quit }
func (q quits) Update(tea.Msg) (tea.Model, tea.Cmd) { return q, nil }
func (quits) View() tea.View                        { return tea.NewView("text") }

// An update of the library that hides its ticker fails here: the screens work, but an idle
// one costs more than a hundredth of a core.
func TestTheTickerOfTheLibraryIsFound(t *testing.T) {
	var program *tea.Program
	p := &pace{}
	program = tea.NewProgram(paced{quits{}, p, &program}, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutSignalHandler())
	if _, err := program.Run(); err != nil {
		t.Fatal(err)
	}
	if p.ticker == nil {
		t.Error("the program has no ticker")
	}
}
