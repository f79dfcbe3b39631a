package newrun

import (
	"slices"
	"strings"

	"aibox/internal/prompts"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// taskStep is the editor of the task, with the files that can be named in it and the
// library of prompts.
type taskStep struct {
	editor textarea.Model
	files  names

	named  []string // files that go on with what stands behind the last @; nil when none is named
	at     cursor.Cursor
	left   string // the name for which the list was closed
	opened bool   // the library is open
	shelf  cursor.Cursor
}

func newTask() taskStep {
	editor := keymap.Area()
	editor.Placeholder = "What is the agent to do? @ names a file."
	editor.KeyMap.LineNext, editor.KeyMap.LinePrevious = key.NewBinding(key.WithKeys("down", "ctrl+n")), key.NewBinding(key.WithKeys("up", "ctrl+p"))
	return taskStep{editor: editor}
}

// prompt is the task without blanks around it.
func (s *taskStep) prompt() string { return strings.TrimSpace(s.editor.Value()) }

// set writes a text that nobody is typing, so that no file is offered at its end.
func (s *taskStep) set(text string) {
	s.editor.SetValue(termtext.Text(text))
	s.editor.MoveToEnd()
	if query, naming := s.query(); naming {
		s.left = "@" + query
	}
}

// mostNamed bounds the files that are offered.
const mostNamed = 50

// names are files that can be named in a task, and the same in lower case: they are
// searched with each key.
type names struct{ raw, lower []string }

// namesOf leaves out what cannot be shown as it is.
func namesOf(files []string) names {
	n := names{raw: make([]string, 0, len(files)), lower: make([]string, 0, len(files))}
	for _, name := range files {
		if termtext.Escape(name) == name {
			n.raw, n.lower = append(n.raw, name), append(n.lower, strings.ToLower(name))
		}
	}
	return n
}

// find are the names that hold query, those of which the last part begins with it
// first, and then those of which it holds it.
func (n names) find(query string) []string {
	query = strings.ToLower(query)
	var ranks [3][]string
	for i, name := range n.lower {
		if !strings.Contains(name, query) {
			continue
		}
		rank, base := 2, name[strings.LastIndexByte(name, '/')+1:]
		switch {
		case strings.HasPrefix(base, query):
			rank = 0
		case strings.Contains(base, query):
			rank = 1
		}
		if len(ranks[rank]) < mostNamed {
			ranks[rank] = append(ranks[rank], n.raw[i])
		}
		if len(ranks[0]) == mostNamed {
			break
		}
	}
	found := slices.Concat(ranks[0], ranks[1], ranks[2])
	return found[:min(len(found), mostNamed)]
}

// mostTop bounds the files and folders that are suggested for paths.
const mostTop = 1000

// top are the files and folders at the top of the repository.
func (n names) top() []string {
	var found []string
	seen := map[string]bool{}
	for _, name := range n.raw {
		first, _, _ := strings.Cut(name, "/")
		if !seen[first] && len(found) < mostTop {
			seen[first] = true
			found = append(found, first)
		}
	}
	return found
}

// know takes over the files.
func (s *taskStep) know(files names) {
	s.files = files
	s.offer()
}

// query is what stands between the last @ and the cursor; false when no file is being
// named.
func (s *taskStep) query() (string, bool) {
	lines := strings.Split(s.editor.Value(), "\n")
	if s.editor.Line() >= len(lines) {
		return "", false
	}
	line := []rune(lines[s.editor.Line()])
	before := string(line[:min(len(line), s.editor.Column())])
	at := strings.LastIndexByte(before, '@')
	if at < 0 || at > 0 && !strings.ContainsRune(" \t(\"'`", rune(before[at-1])) {
		return "", false
	}
	name := before[at+1:]
	return name, !strings.ContainsAny(name, " \t")
}

// offer finds the files that the name that is being typed can go on to.
func (s *taskStep) offer() {
	s.named = nil
	query, naming := s.query()
	if !naming || s.left == "@"+query {
		return
	}
	s.left = ""
	s.named = s.files.find(query)
	s.at.Go(0)
}

// take puts a file's name where its beginning stands.
func (s *taskStep) take(name string) {
	query, _ := s.query()
	for range []rune(query) {
		s.editor, _ = s.editor.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	s.editor.InsertString(name + " ")
	s.named = nil
}

// pressTask is a key of the step.
func (m *Model) pressTask(msg tea.KeyPressMsg) tea.Cmd {
	s := &m.task
	switch {
	case s.opened:
		return m.pressLibrary(msg)
	case len(s.named) > 0:
		if m.pressNamed(msg) {
			return nil
		}
	}
	switch {
	case key.Matches(msg, m.keys.library):
		s.opened = true
		s.shelf.Go(0)
		return nil
	case msg.String() == "tab":
		return m.enter(options)
	case msg.String() == "shift+tab":
		return m.enter(agent)
	}
	return m.typed(msg)
}

// pressNamed is a key while files are offered, and reports whether it was for them.
func (m *Model) pressNamed(msg tea.KeyPressMsg) bool {
	s := &m.task
	switch msg.String() {
	case "up", "ctrl+p":
		s.at.Go(s.at.At() - 1)
	case "down", "ctrl+n":
		s.at.Go(s.at.At() + 1)
	case "enter", "tab":
		s.take(s.named[s.at.At()])
	case "esc":
		query, _ := s.query()
		s.left, s.named = "@"+query, nil
	default:
		return false
	}
	return true
}

// pressLibrary is a key while the library is open.
func (m *Model) pressLibrary(msg tea.KeyPressMsg) tea.Cmd {
	s, all := &m.task, m.library()
	switch {
	case msg.String() == "esc", key.Matches(msg, m.keys.library), msg.String() == "q":
		s.opened = false
	case s.shelf.At() >= len(all):
	case msg.String() == "enter", msg.String() == "space":
		m.toggle(all[s.shelf.At()])
	case msg.String() == "i":
		s.editor.InsertString(termtext.Text(all[s.shelf.At()].Text))
		s.opened = false
	default:
		s.shelf.Press(msg)
	}
	return nil
}

// toggle puts a prompt before the task, or takes it away.
func (m *Model) toggle(p prompts.Prompt) {
	if i := slices.Index(m.system, p.Name); i >= 0 {
		m.system = slices.Delete(slices.Clone(m.system), i, i+1)
		return
	}
	m.system = append(slices.Clip(m.system), p.Name)
}
