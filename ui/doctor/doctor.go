// Package doctor is the screen about this machine: every requirement with its state
// and its reason as soon as it is known, what fixes it on a key, and the proof in a
// real box. It fixes nothing itself: `aibox doctor --fix`, on the whole terminal, and
// bakes do.
package doctor

import (
	"context"
	"strings"

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

// Machine are the use cases that the screen asks for.
type Machine interface {
	checkup.Machine
	// Prove starts a box and reads what it could reach. step is told of the stages.
	Prove(ctx context.Context, step func(session.Step)) (*doctor.Proof, error)
	// Bake has an image baked; the screen of images shows how it goes.
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
	at            string           // the name of the selected row; it stays so when rows come
	moved         bool             // the user has chosen where they are
	before        []doctor.Finding // what was known when the user came back from fixing; nil once it is compared
	proofRun      *proofRun        // the proof, nil before there is one
	proofRuns     page.Latest
	proving       bool          // the proof is shown in place of the list
	probe         cursor.Cursor // in the proof
	note          frame.Note
}

// New makes the screen. Its commands end with ctx.
func New(ctx context.Context, machine Machine) *Model {
	return &Model{ctx: ctx, machine: machine, theme: theme.New(true), keys: newKeys(), checkup: checkup.New(machine)}
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.arrange()
}

// Typing handles always false: no key is text here.
func (m *Model) Typing() bool { return false }

// Init checks everything.
func (m *Model) Init() tea.Cmd { return m.check() }

func (m *Model) check() tea.Cmd { return m.checkup.Begin(m.ctx) }

// Update routes.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if cmd, own := m.checkup.Take(msg); own {
		m.arrange()
		m.reportFixed()
		return cmd
	}
	switch msg := msg.(type) {
	case stage:
		return m.takeStage(msg)
	case proofEnded:
		m.proofEnded(msg)
	case page.Returned: // something may be fixed now
		m.note.Say(msg.Text, msg.Err)
		m.before = m.checkup.Findings()
		return m.check()
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseWheelMsg:
		if m.proving {
			m.probe.Wheel(msg)
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

// click goes to the row that was clicked, if one was.
func (m *Model) click(msg tea.MouseClickMsg) {
	row := msg.Y - frame.HeadRows
	switch {
	case m.proving:
		m.probe.Click(row - len(m.proofHead()))
	case (!m.wide() || msg.X < m.listWidth()) && m.cursor.Click(row):
		m.keepSelection()
	}
}

// reportFixed says what is better than it was before the user came back, once all is
// checked.
func (m *Model) reportFixed() {
	if m.before == nil || m.checkup.Busy() {
		return
	}
	if names := doctor.Fixed(m.before, m.checkup.Findings()); len(names) > 0 {
		m.note.Say("fixed: "+termtext.Escape(strings.Join(names, ", ")), nil)
	}
	m.before = nil
}

// arrange takes the rows again. The row that the user chose stays selected; until then
// the worst one is.
func (m *Model) arrange() {
	m.rows = m.checkup.Rows()
	m.fitProof()
	m.cursor.Fit(len(m.rows), m.listHeight())
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

// severity says which row the user wants to see first: what is missing, then the model,
// which every run needs, then what can be fixed.
func severity(row checkup.Row) int {
	switch {
	case row.Looking || row.State == doctor.OK:
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

// keepSelection keeps the row that the user went to.
func (m *Model) keepSelection() {
	if row := m.current(); row != nil {
		m.at, m.moved = row.Name, true
	}
}

// current returns the selected row, nil while there is none.
func (m *Model) current() *checkup.Row {
	if m.cursor.At() >= len(m.rows) {
		return nil
	}
	return &m.rows[m.cursor.At()]
}
