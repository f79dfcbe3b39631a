// Package uitest drives a screen as a user does, without a terminal: it sends keys, runs
// commands at once and reads views. Only tests import it.
package uitest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"aibox/internal/golden"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Sizes are the three sizes of golden views.
var Sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// User is the user of one screen.
type User struct {
	T     testing.TB
	Page  page.Page
	Asked []page.Request // requests to the owner of the screen
	// Withhold reports whether to withhold a message from the page, such as a tick that would repeat
	// endlessly. May be nil.
	Withhold func(msg tea.Msg) bool
	Withheld []tea.Msg // the messages that Withhold kept from the page

	width, height int
	views         strings.Builder
}

// New makes a user of a screen of this size. It does not call Init: pass Init to Run if
// its commands end.
func New(t testing.TB, p page.Page, width, height int) *User {
	user := &User{T: t, Page: p}
	user.Resize(width, height)
	return user
}

// Resize changes the size of the terminal.
func (p *User) Resize(width, height int) {
	p.width, p.height = width, height
	p.Page.SetSize(width, height-1) // the owner's line of keys is the last one
}

// Send sends the page a message and runs the command that it returns, to the end.
func (p *User) Send(msg tea.Msg) {
	if msg, current := page.Current(msg); current {
		p.Run(p.Page.Update(msg))
	}
}

// Run runs a command and sends the page its message. It waits, so the command must end.
func (p *User) Run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.Run(cmd)
		}
	case page.Exec:
		p.Send(msg.Done(msg.Do()))
	case page.Request:
		p.Asked = append(p.Asked, msg)
	default:
		if inner, _ := page.Current(msg); p.Withhold != nil && p.Withhold(inner) {
			p.Withheld = append(p.Withheld, msg)
			return
		}
		p.Send(msg)
	}
}

// Answer runs a command and returns its message as the owner passes it to the page: nil
// if a newer request has replaced the command's own.
func Answer(cmd tea.Cmd) tea.Msg {
	if msg, current := page.Current(cmd()); current {
		return msg
	}
	return nil
}

// Press presses keys by their names: "a", "enter", "ctrl+s".
func (p *User) Press(names ...string) {
	for _, name := range names {
		p.Send(keymap.Press(name))
	}
}

// Type types text, rune by rune.
func (p *User) Type(text string) {
	for _, r := range text {
		p.Send(keymap.Press(string(r)))
	}
}

// Click clicks the left button on a cell.
func (p *User) Click(x, y int) {
	p.Send(tea.MouseClickMsg{Button: tea.MouseLeft, X: x, Y: y})
}

// ClickOn clicks on the first place that shows a text.
func (p *User) ClickOn(text string) {
	p.T.Helper()
	for y, line := range strings.Split(p.View(), "\n") {
		if at := strings.Index(line, text); at >= 0 {
			p.Click(ansi.StringWidth(line[:at]), y)
			return
		}
	}
	p.T.Errorf("%q is not shown, so it cannot be clicked:\n%s", text, p.View())
}

// View returns the screen as text, without styles, and the page's keys as its last line.
func (p *User) View() string {
	return ansi.Strip(p.Page.View() + "\n" + keymap.Short(theme.New(true), p.width, p.Page.Short()))
}

// Sees checks that the screen shows a text.
func (p *User) Sees(want string) {
	p.T.Helper()
	if !strings.Contains(p.View(), want) {
		p.T.Errorf("%q is not shown:\n%s", want, p.View())
	}
}

// DoesNotSee checks that the screen does not show a text.
func (p *User) DoesNotSee(unwanted string) {
	p.T.Helper()
	if strings.Contains(p.View(), unwanted) {
		p.T.Errorf("%q is shown:\n%s", unwanted, p.View())
	}
}

// Fits checks that the view has exactly the cells of the screen.
func (p *User) Fits(what string) {
	p.T.Helper()
	lines := strings.Split(p.View(), "\n")
	for i, line := range lines {
		if ansi.StringWidth(line) > p.width {
			p.T.Errorf("%dx%d, %s: row %d is %d columns wide", p.width, p.height, what, i, ansi.StringWidth(line))
		}
	}
	if len(lines) != p.height {
		p.T.Errorf("%dx%d, %s: %d rows", p.width, p.height, what, len(lines))
	}
}

// Scrolls checks that a list of n rows shows at the usual sizes which rows are hidden, at its
// start and after the key that goes to its end, and that it shows nothing of the kind on a
// terminal that has room for all.
func (p *User) Scrolls(n int, end string) {
	p.T.Helper()
	of := fmt.Sprintf(" of %d", n)
	p.Resize(200, n+80)
	if position.FindString(p.View()) != "" {
		p.T.Errorf("rows are hidden where all fit:\n%s", p.View())
	}
	for _, size := range Sizes[:2] {
		p.Resize(size[0], size[1])
		p.Sees("1-")
		p.Sees(of)
		p.Press(end)
		p.Sees(fmt.Sprintf("-%d%s", n, of))
		p.Press("home")
	}
}

// position is how lists say which rows are shown.
var position = regexp.MustCompile(`\d+-\d+ of \d+`)

// Show keeps the view under a name for Golden and checks that it fits.
func (p *User) Show(what string) {
	p.T.Helper()
	p.Fits(what)
	fmt.Fprintf(&p.views, "== %s\n", what)
	for line := range strings.SplitSeq(p.View(), "\n") {
		fmt.Fprintln(&p.views, strings.TrimRight(line, " "))
	}
}

// Golden compares the views of Show with testdata/NAMEWIDTHxHEIGHT.golden.
func (p *User) Golden(name string) {
	p.T.Helper()
	golden.Check(p.T, fmt.Sprintf("%s%dx%d.golden", name, p.width, p.height), p.views.String())
}

// ActRandomly does n random actions: it presses keys with these names, resizes, and uses the mouse. The
// view must always fit.
func (p *User) ActRandomly(random *rand.Rand, n int, names []string) {
	p.T.Helper()
	for range n {
		switch random.IntN(12) {
		case 0:
			p.Resize(40+random.IntN(180), 11+random.IntN(60))
		case 1:
			p.Click(random.IntN(p.width), random.IntN(p.height))
		case 2:
			p.Send(tea.MouseWheelMsg{Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[random.IntN(2)], X: random.IntN(p.width), Y: random.IntN(p.height)})
		default:
			p.Press(names[random.IntN(len(names))])
		}
		p.Fits("mashed")
		if p.T.Failed() {
			return
		}
	}
}
