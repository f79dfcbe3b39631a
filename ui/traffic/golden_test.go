package traffic

import (
	"strings"
	"testing"
	"time"

	"aibox/session/auditlog"
	"aibox/ui/uitest"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// noon is when the accesses begin.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// list is a screen with one access in each row.
type list struct {
	log           Log
	width, height int
}

func (l *list) Init() tea.Cmd             { return nil }
func (l *list) Update(tea.Msg) tea.Cmd    { return nil }
func (l *list) SetSize(width, height int) { l.width, l.height = width, height }
func (l *list) SetTheme(theme.Theme)      {}
func (l *list) Typing() bool              { return false }
func (l *list) Keys() []keymap.Group      { return nil }
func (l *list) Short() []key.Binding      { return nil }

func (l *list) View() string {
	var rows []string
	for _, a := range l.log.All() {
		w := Say(a)
		rows = append(rows, frame.Pad(w.Time+" "+w.Mark+" "+w.String(), l.width))
	}
	return strings.Join(frame.Fill(rows, l.height), "\n")
}

func TestTheAccessesInScreensOfEachSize(t *testing.T) {
	call := func(c auditlog.ModelCall) auditlog.Access {
		return auditlog.Access{Allowed: true, What: auditlog.AskedModel, Target: "POST /v1/responses", Times: 1, Call: c}
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		l := &list{}
		for i, a := range []auditlog.Access{
			call(auditlog.ModelCall{Model: "gpt-5.2", Status: 200, Millis: 1234, Input: 12_000, Output: 40}),
			call(auditlog.ModelCall{Model: "gpt-5.2", Status: 429, Millis: 30, Reason: "rate limit reached for requests; try again in 20 seconds, or ask for a higher limit at the provider"}),
			call(auditlog.ModelCall{Model: "gpt-5.2", Status: 499, Millis: 62_000, Outcome: auditlog.GivenUp}),
			call(auditlog.ModelCall{Status: 200, Millis: 900, Outcome: auditlog.Blank}),
			{What: auditlog.AskedModel, Target: "GET /v1/files", Why: "no such path", Times: 1, Call: auditlog.ModelCall{Status: 404, Outcome: auditlog.Refused}},
			{What: auditlog.AskedName, Target: "telemetry.example.com", Why: "no list names it", Times: 3},
			{What: auditlog.AskedName, Target: strings.Repeat("deep.", 30) + "example.com", Why: "no list names it", Times: 1},
			{Allowed: true, What: auditlog.AskedEgress, Target: "packages.example.org:443", Times: 2},
			{What: auditlog.AskedEgress, Target: "10.0.0.7:22", Why: "an address of a private network", Times: 1},
			{What: "tcp", Target: "a\x1b]52;c;ZXZpbA==\x07b:80", Why: "two\nlines \x1b[31mred", Times: 1},
			{What: auditlog.AskedName, Target: "telemetry.example.com", Why: "no list names it", Times: 4},
		} {
			a.Session, a.Time = "0a-x", noon.Add(time.Duration(i)*time.Second)
			l.log.Add(a)
		}
		p := uitest.New(t, l, size[0], size[1])
		p.Show("all")
		p.Golden("")
	}
}
