package ui

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// How long random keys are pressed, and which ones.
var (
	monkeyTime = flag.Duration("monkey", time.Second, "how long random keys are pressed")
	monkeySeed = flag.Uint64("monkey.seed", 1, "which random keys are pressed first")
)

// monkeyKeys are the keys of a keyboard.
var monkeyKeys = append(strings.Split("abcdefghijklmnopqrstuvwxyzABDEFGHILMNOPRSTUVXYZ0123456789/?:;.,[]{}|@!*$~' ", ""),
	"enter", "enter", "enter", "esc", "esc", "tab", "tab", "shift+tab", "space", "backspace", "delete", "up", "down", "down", "left", "right",
	"home", "end", "pgup", "pgdown", "f1", "ctrl+a", "ctrl+b", "ctrl+c", "ctrl+e", "ctrl+f", "ctrl+k", "ctrl+l", "ctrl+n", "ctrl+r", "ctrl+s", "ctrl+t", "ctrl+u", "ctrl+w", "ctrl+y", "é", "漢")

// monkey uses the whole program in a bubble of synctest: commands run side by side, as in
// the real program, and time passes only when the monkey waits.
type monkey struct {
	t       testing.TB
	app     *app
	random  *rand.Rand
	end     context.CancelFunc
	answers chan tea.Msg
	done    []string // what it did
	quits   bool
	views   map[string]bool // the screens it saw, by the first word
}

// newMonkey starts the program on one screen; nil is the dashboard.
func newMonkey(t testing.TB, w *world, only page.Request, random *rand.Rand) *monkey {
	ctx, cancel := context.WithCancel(t.Context())
	r := w.request()
	r.Only = only
	m := &monkey{t: t, app: newApp(ctx, r), random: random, end: cancel, answers: make(chan tea.Msg, 10_000), views: map[string]bool{}}
	m.spawn(m.app.Init())
	m.send("start", tea.WindowSizeMsg{Width: 80, Height: 24})
	return m
}

// spawn runs a command in the background.
func (m *monkey) spawn(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		defer m.catch()
		m.answers <- cmd()
	}()
}

// catch reports a panic with the keys that led to it.
func (m *monkey) catch() {
	if value := recover(); value != nil {
		m.t.Errorf("panic: %v\nafter %s\n%s", value, m.trace(), debug.Stack())
		m.quits = true
	}
}

func (m *monkey) trace() string { return strings.Join(m.done[max(0, len(m.done)-60):], " ") }

// send sends a message, and everything that follows until the program waits.
func (m *monkey) send(what string, msg tea.Msg) {
	defer m.catch()
	m.done = append(m.done, what)
	m.take(msg)
	for {
		synctest.Wait()
		select {
		case msg := <-m.answers:
			m.take(msg)
		default:
			m.check()
			return
		}
	}
}

// take handles one message as Bubble Tea does.
func (m *monkey) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.QuitMsg:
		m.quits = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			m.spawn(cmd)
		}
	default:
		if of := reflect.TypeOf(msg); forRuntime(msg) && of.Kind() == reflect.Slice { // a sequence
			for i := range reflect.ValueOf(msg).Len() {
				m.spawn(reflect.ValueOf(msg).Index(i).Interface().(tea.Cmd))
			}
			return
		}
		_, cmd := m.app.Update(msg)
		m.spawn(cmd)
	}
}

// check checks that the view fits the terminal, and that the palette has every command.
func (m *monkey) check() {
	lines := strings.Split(m.app.View().Content, "\n")
	if len(lines) > m.app.height {
		m.t.Fatalf("%d rows at %dx%d after %s\n%s", len(lines), m.app.width, m.app.height, m.trace(), ansi.Strip(strings.Join(lines, "\n")))
	}
	for i, line := range lines {
		if ansi.StringWidth(line) > m.app.width {
			m.t.Fatalf("row %d is %d columns at %dx%d after %s\n%s", i, ansi.StringWidth(line), m.app.width, m.app.height, m.trace(), ansi.Strip(strings.Join(lines, "\n")))
		}
	}
	m.views[fmt.Sprintf("%T", m.app.page().Page)] = true
	m.checkPalette()
}

// checkPalette checks that the palette offers every command of the screen: those of the foot
// are among its keys, and each has a key that no other command takes first.
func (m *monkey) checkPalette() {
	page, offered, taken := m.app.page(), map[string]bool{}, map[string]string{}
	for _, group := range page.Keys() {
		for _, binding := range group.Keys {
			does := binding.Help().Desc
			if len(binding.Keys()) == 0 {
				offered[does] = true // it is only shown
			}
			if !binding.Enabled() || len(binding.Keys()) == 0 {
				continue
			}
			free := false
			for _, name := range binding.Keys() {
				if taken[name] == "" {
					taken[name] = does
				}
				free = free || taken[name] == does
			}
			if offered[does] = offered[does] || free; !free {
				m.t.Errorf("%T: %q is not in the palette: %v belongs to %q", page.Page, does, binding.Keys(), taken[binding.Keys()[0]])
			}
		}
	}
	for _, binding := range page.Short() {
		if does := binding.Help().Desc; binding.Enabled() && !offered[does] {
			m.t.Errorf("%T: %q is in the foot, and not among the keys of the screen, after %s", page.Page, does, m.trace())
		}
	}
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// wait lets time pass.
func (m *monkey) wait(d time.Duration) {
	time.Sleep(d)
	m.send(d.String(), nil)
}

// step does one random thing.
func (m *monkey) step() {
	switch n := m.random.IntN(100); {
	case n < 4:
		size := tea.WindowSizeMsg{Width: 20 + m.random.IntN(180), Height: 5 + m.random.IntN(60)}
		m.send(fmt.Sprintf("%dx%d", size.Width, size.Height), size)
	case n < 10:
		x, y := m.random.IntN(max(1, m.app.width)), m.random.IntN(max(1, m.app.height))
		m.send(fmt.Sprintf("click(%d,%d)", x, y), tea.MouseClickMsg{Button: tea.MouseLeft, X: x, Y: y})
	case n < 13:
		m.send("wheel", tea.MouseWheelMsg{Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[m.random.IntN(2)], X: m.random.IntN(max(1, m.app.width)), Y: m.random.IntN(max(1, m.app.height))})
	case n < 15:
		m.send("paste", tea.PasteMsg{Content: "pasted \x1b[31mtext\r\nof two lines"})
	case n < 25:
		m.wait(time.Duration(m.random.IntN(2000)) * time.Millisecond)
	default:
		name := monkeyKeys[m.random.IntN(len(monkeyKeys))]
		m.send(name, keymap.Press(name))
	}
}

// leave leaves the program by ctrl+c, pressed twice at most, and an answer.
func (m *monkey) leave() {
	m.wait(2 * time.Second) // a question that has just appeared takes no key
	m.app.interrupted = false
	for range 2 {
		if m.quits {
			return
		}
		m.send("ctrl+c", keymap.Press("ctrl+c"))
		if m.app.over.leave != nil {
			m.wait(dialog.Grace)
			m.send("y", keymap.Press("y"))
		}
	}
	if !m.quits {
		m.t.Fatalf("ctrl+c does not lead out of\n%s\nafter %s", ansi.Strip(m.app.View().Content), m.trace())
	}
}

// close ends the program's commands. Some of them sleep until their next tick.
func (m *monkey) close() {
	m.end()
	time.Sleep(time.Hour)
	synctest.Wait()
}

// monkeyScreens are the screens that a random walk begins on.
var monkeyScreens = []page.Request{
	nil,
	page.Review{ID: "0aaaa-codex"},
	page.NewRun{},
	page.Session{ID: "0eeee-codex"},
	page.Session{ID: "0aaaa-codex"},
	page.Network{},
	page.Compare{Batch: "b-0aaaa"},
	page.Settings{},
	page.Images{},
	page.Doctor{},
	page.NewRun{Again: "0aaaa-codex"},
	page.Snapshots{},
	nil,
}

func TestRandomKeysNeitherBreakTheProgramNorLockTheUserIn(t *testing.T) {
	workedOn(t) // outside of the bubbles
	seen := map[string]bool{}
	walks, steps := 0, 0
	for over := time.Now().Add(*monkeyTime); walks < len(monkeyScreens) || time.Now().Before(over); walks++ {
		seed := *monkeySeed + uint64(walks)
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				w := &world{t: t, empty: seed%4 == 3, broken: seed%7 == 6}
				m := newMonkey(t, w, monkeyScreens[seed%uint64(len(monkeyScreens))], random)
				defer m.close()
				for i := 0; i < 120 && !m.quits; i++ {
					m.step()
					steps++
				}
				m.leave()
				for name := range m.views {
					seen[name] = true
				}
			})
		})
		if !ok {
			break
		}
	}
	t.Logf("%d walks, %d steps, screens %v", walks, steps, slices.Sorted(func(yield func(string) bool) {
		for name := range seen {
			if !yield(name) {
				return
			}
		}
	}))
}
