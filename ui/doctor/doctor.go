// Package doctor is the screen about this machine: the state of every requirement as soon
// as it is known, a key that fixes it, and the proof of isolation in a real sandbox. It
// fixes nothing itself, but runs `aibox doctor --fix` on the whole terminal or bakes an
// image.
package doctor

import (
	"context"
	"strings"
	"time"

	"aibox/app/doctor"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/checkup"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// Machine are the use cases that the screen calls.
type Machine interface {
	checkup.Machine
	// Prove starts a sandbox and probes what it can reach. It calls step for each stage.
	Prove(ctx context.Context, step func(session.Step)) (*doctor.Proof, error)
	// Bake queues an image to bake; the screen of images shows its progress.
	Bake(image string)
}

// Model is the screen.
type Model struct {
	ctx     context.Context //nolint:containedctx // it ends with the screen
	machine Machine
	theme   theme.Theme
	keys    keys

	width, height int
	checkup       *checkup.Checkup
	rows          []checkup.Row
	cursor        cursor.Cursor
	at            string    // the name of the selected row, which stays selected
	moved         bool      // the user has moved the cursor
	turned        time.Time // when another row was selected, other than by a move of the cursor
	now           func() time.Time
	before        []doctor.Finding // the findings when the user came back from a fix; nil once compared
	proof         proofPane
	proving       bool // the proof is shown in place of the list
	note          frame.Note
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, machine Machine) *Model {
	m := &Model{ctx: ctx, machine: machine, now: time.Now, keys: newKeys(), checkup: checkup.New(machine)}
	m.proof.note = &m.note
	m.SetTheme(theme.New(true))
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme, m.proof.theme = t, t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.arrange()
}

// Typing returns false: no key is text on this screen.
func (m *Model) Typing() bool { return false }

// Init checks everything.
func (m *Model) Init() tea.Cmd { return m.check() }

func (m *Model) check() tea.Cmd { return m.checkup.Begin(m.ctx) }

// Update routes a message.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if cmd, own := m.checkup.Take(msg); own {
		m.arrange()
		m.reportFixed()
		return cmd
	}
	switch msg := msg.(type) {
	case stage:
		return m.proof.takeStage(msg)
	case proofEnded:
		m.proof.end(msg)
	case page.Returned: // something may be fixed now
		m.note.Say(msg.Text, msg.Err)
		m.before = m.checkup.Findings()
		return m.check()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		if m.proving {
			m.proof.cursor.Wheel(msg)
			return nil
		}
		m.cursor.Wheel(msg)
		m.keepSelection()
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			m.click(msg)
		}
	}
	return nil
}

// click selects the row under the mouse.
func (m *Model) click(msg tea.MouseClickMsg) {
	row := msg.Y - frame.HeadRows
	switch {
	case m.proving:
		m.proof.cursor.Click(row - len(m.proof.head()))
	case (!m.wide() || msg.X < m.listWidth()) && m.cursor.Click(row):
		m.keepSelection()
	}
}

// reportFixed reports what the user has fixed, once all checks have ended.
func (m *Model) reportFixed() {
	if m.before == nil || m.checkup.Busy() {
		return
	}
	if names := doctor.Fixed(m.before, m.checkup.Findings()); len(names) > 0 {
		m.note.Say("fixed: "+termtext.Escape(strings.Join(names, ", ")), nil)
	}
	m.before = nil
}

// arrange updates the rows.
func (m *Model) arrange() {
	before := m.current()
	m.rows = m.checkup.Summary()
	m.proof.resize(m.width, m.bodyHeight())
	m.cursor.Fit(len(m.rows), m.listHeight())
	m.selectRow()
	if row := m.current(); before != nil && (row == nil || row.Name != before.Name) {
		m.turned = m.now()
	}
}

// selectRow selects the row that the user chose; until the user chooses one, the worst.
func (m *Model) selectRow() {
	worst, place := 0, 0
	for i, row := range m.rows {
		if m.moved && row.Name == m.at {
			m.cursor.Go(i)
			return
		}
		if bad := severity(row); bad > worst {
			worst, place = bad, i
		}
	}
	if !m.moved {
		m.cursor.Go(place)
	}
}

// severity ranks rows by what the user wants to see first: failed requirements, then the
// model, which every run needs, then findings that can be fixed.
func severity(row checkup.Row) int {
	switch {
	case row.Running || row.State == doctor.OK:
		return 0
	case row.State == doctor.Missing:
		return 4
	case row.Part == doctor.Model:
		return 3
	case row.Fix != "":
		return 2
	default:
		return 1
	}
}

// keepSelection remembers the row that the user selected.
func (m *Model) keepSelection() {
	if row := m.current(); row != nil {
		m.at, m.moved, m.turned = row.Name, true, time.Time{}
	}
}

// current returns the selected row, or nil.
func (m *Model) current() *checkup.Row {
	if m.cursor.At() >= len(m.rows) {
		return nil
	}
	return &m.rows[m.cursor.At()]
}
