package ui

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	framesPerSecond = 120 // the library's limit; it holds until the first frame
	frameInterval   = 4 * time.Millisecond
	idleInterval    = 100 * time.Millisecond
	idleAfter       = 100 * time.Millisecond
)

// pace slows down the library's frame ticker while there is nothing to draw. The library has only
// one rate: at a high rate an idle screen costs more than 1% of a core, and at a low rate the
// screen responds late to keys. A frame that comes while the ticker is slow makes it fast again.
// Methods are safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	ticker *time.Ticker // nil leaves the library's rate
	timer  *time.Timer
	last   time.Time // of the last frame
	fast   bool
}

// attach takes over the ticker of a program that has started to draw.
func (p *pace) attach(program *tea.Program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ticker = rendererTicker(program)
}

// frame reports that there may be a new frame.
func (p *pace) frame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	if p.ticker == nil || p.fast {
		return
	}
	p.fast = true
	p.ticker.Reset(frameInterval)
	if p.timer == nil {
		p.timer = time.AfterFunc(idleAfter, p.rest)
		return
	}
	p.timer.Reset(idleAfter)
}

// rest slows down the ticker if there was no frame for a while. It does not stop the ticker, so a
// frame that takes long to reach the renderer is late but not lost.
func (p *pace) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := idleAfter - time.Since(p.last); left > 0 {
		p.timer.Reset(left)
		return
	}
	p.fast = false
	p.ticker.Reset(idleInterval)
}

// rendererTicker returns the ticker of a program that has started to draw, or nil in a
// version of the library that has none. The library has no method for its rate.
func rendererTicker(program *tea.Program) *time.Ticker {
	field := reflect.ValueOf(program).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return (*time.Ticker)(field.UnsafePointer())
}

// paced wraps the root model of a program and reports its frames to a pace.
type paced struct {
	tea.Model
	pace    *pace
	program **tea.Program // set before the program runs
}

// Init attaches the pace to the program, which has its ticker by then.
func (m paced) Init() tea.Cmd {
	m.pace.attach(*m.program)
	return m.Model.Init()
}

// Update routes to the model. A frame follows, so that the ticker is fast when it is ready.
func (m paced) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.pace.frame()
	next, cmd := m.Model.Update(msg)
	m.Model = next
	return m, cmd
}

// View returns the model's view.
func (m paced) View() tea.View {
	defer m.pace.frame()
	return m.Model.View()
}
