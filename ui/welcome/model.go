package welcome

import (
	"slices"
	"strings"

	"aibox/app/firstrun"
	"aibox/internal/termtext"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/textinput"
	"github.com/charmbracelet/x/ansi"
)

// modelStep asks for a model.
type modelStep struct {
	agent  string // whose models these are
	models firstrun.Models
	loaded bool
	rows   []modelRow
	cursor cursor.Cursor
	chosen *firstrun.Model // nil: the default of a run

	server *firstrun.Server // whose key or model is asked for; nil for none
	key    textinput.Model  // used while the key is asked for
	typing bool             // the key is asked for
	names  nameList
}

// modelRow is a line of the list.
type modelRow struct {
	label, detail string
	server        *firstrun.Server // nil: the built-in script
	name          string           // of a model; empty if it is asked for next
}

func newModelStep() modelStep {
	key := keymap.Field("key › ")
	key.EchoMode = textinput.EchoPassword
	return modelStep{key: key, names: newNameList()}
}

// refresh rebuilds the list. The servers that the agent cannot use are below the others, so that
// the first row is one that works.
func (s *modelStep) refresh() {
	s.rows = nil
	var unusable []modelRow
	for i := range s.models.Servers {
		server := &s.models.Servers[i]
		detail := server.Title + ", on this machine"
		switch {
		case server.Problem != nil:
			unusable = append(unusable, modelRow{server.Title, server.Problem.Error(), server, ""})
			continue
		case server.Local:
		case server.Typed:
			detail = "hosted; your code goes there; with the key that you typed"
		case server.HasKey:
			detail = "hosted; your code goes there; key of " + server.KeyName
		default:
			detail = "hosted; your code goes there; asks for a key"
		}
		for _, name := range server.Models {
			s.rows = append(s.rows, modelRow{name, detail, server, name})
		}
		if len(server.Models) == 0 && server.Local {
			s.rows = append(s.rows, modelRow{server.Title, "has no model yet", server, ""})
		} else if !server.Local {
			s.rows = append(s.rows, modelRow{server.Title, detail, server, ""})
		}
	}
	s.rows = append(s.rows, unusable...)
	s.rows = append(s.rows, modelRow{label: "without a model", detail: "try aibox with a built-in script: a fixed example"})
	s.cursor.Fit(len(s.rows), len(s.rows))
}

// selected returns the row under the cursor, or nil.
func (s *modelStep) selected() *modelRow {
	if s.cursor.At() >= len(s.rows) {
		return nil
	}
	return &s.rows[s.cursor.At()]
}

// done reports whether a run has a model.
func (s *modelStep) done() bool { return s.chosen != nil || s.loaded && s.models.Current.Title != "" }

// choice returns the chosen model, or the default of a run.
func (s *modelStep) choice() firstrun.Model {
	if s.chosen != nil {
		return *s.chosen
	}
	return s.models.Current
}

// scripted reports whether the built-in script was chosen.
func (s *modelStep) scripted() bool { return s.choice().Inference == firstrun.Scripted }

// text returns the state of the step in a few words.
func (s *modelStep) text() string {
	switch c := s.choice(); {
	case !s.done() && !s.loaded:
		return "looking for model servers…"
	case !s.done():
		return "choose one"
	case s.scripted():
		return "none: a built-in script plays a fixed example"
	case c.Name == "":
		return termtext.Escape(c.Title)
	default:
		return termtext.Escape(c.Name + " of " + c.Title)
	}
}

// open asks for the key or the model of a server.
func (s *modelStep) open(server *firstrun.Server) {
	s.server, s.typing = server, server.NeedsKey()
	s.key.SetValue("")
	s.names.clear()
	if s.typing {
		s.key.Focus()
	} else {
		s.names.open()
	}
}

// close goes back to the list of servers.
func (s *modelStep) close() {
	s.server, s.typing = nil, false
	s.key.SetValue("")
	s.key.Blur()
	s.names.field.Blur()
}

// setNames takes the models of the server that is asked about.
func (s *modelStep) setNames(msg namesLoaded) {
	s.names.all, s.names.loading, s.names.err = msg.names, false, msg.err
	slices.Sort(s.names.all)
	s.names.filter()
}

// view returns the list of servers, or the current question.
func (s *modelStep) view(p bakes.Painter, width, height int) []string {
	switch {
	case s.server != nil && s.typing:
		return s.keyView(p, width)
	case s.server != nil:
		return s.names.view(p.Theme, s.server.Title, width, height)
	case !s.loaded:
		return []string{p.Theme.Faint.Render("looking for model servers on this machine…")}
	}
	s.cursor.Fit(len(s.rows), max(1, height-1))
	lines := []string{p.Theme.Faint.Render(frame.Ends(width, "The model that "+s.agent+" talks to. Keys stay outside of the sandbox.", s.cursor.Position()))}
	label := 0
	for _, r := range s.rows {
		label = max(label, min(ansi.StringWidth(termtext.Escape(r.label)), width/2))
	}
	from, to := s.cursor.Window()
	for i := from; i < to; i++ {
		r := s.rows[i]
		lines = append(lines, listLine(p.Theme, frame.Pad(termtext.Escape(r.label), label)+"  "+termtext.Escape(r.detail), i == s.cursor.At(), width))
	}
	return lines
}

// keyView asks for a key.
func (s *modelStep) keyView(p bakes.Painter, width int) []string {
	s.key.SetWidth(max(5, width-10))
	text := "Paste or type your " + s.server.Title + " API key. aibox keeps it in memory until you quit, and the sandbox never gets it. " +
		"To keep it for later, set " + s.server.KeyName + " in your environment."
	lines := frame.Wrap(text, width)
	return append(lines, "", ansi.Truncate(s.key.View(), width, ""))
}

// value returns the typed key without spaces.
func (s *modelStep) value() string { return strings.TrimSpace(s.key.Value()) }
