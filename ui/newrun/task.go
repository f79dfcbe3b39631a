package newrun

import (
	"fmt"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// taskStep asks for the task, with the files that complete a name after @ and the
// library of prompts.
type taskStep struct {
	*bindings
	editor        textarea.Model
	raw           string // the task that the editor was set to
	shown         string // how the editor holds it; see prompt
	cut           bool   // the editor did not take all lines of a text
	completion    completion
	library       library
	optional      bool // the agent can run without a task
	shell         bool // the task is a command
	width, height int
}

func newTaskStep(b *bindings) taskStep {
	editor := keymap.Area()
	editor.Placeholder = askTask
	editor.KeyMap.LineNext, editor.KeyMap.LinePrevious = key.NewBinding(key.WithKeys("down", "ctrl+n")), key.NewBinding(key.WithKeys("up", "ctrl+p"))
	return taskStep{bindings: b, editor: editor}
}

// The questions of the step.
const (
	askTask    = "What should the agent do? @ names a file."
	askCommand = "Which command should run? For example: make test"
)

// setShell asks for a command instead of a task.
func (s *taskStep) setShell(shell bool) {
	s.shell, s.editor.Placeholder = shell, askTask
	if shell {
		s.editor.Placeholder = askCommand
	}
}

// name is the name of the step.
func (s *taskStep) name() string {
	if s.shell {
		return "Command"
	}
	return stepNames[stepTask]
}

// prompt is the task. One that the user has not edited is as it was set: the editor holds tabs and
// characters that cannot be shown in another form, and not more than some number of lines.
func (s *taskStep) prompt() string {
	text := strings.TrimSpace(s.editor.Value())
	if text != "" && s.unedited() {
		return s.raw
	}
	return text
}

// unedited reports whether the task is the one that setPrompt set, or was never set and is empty.
func (s *taskStep) unedited() bool { return s.editor.Value() == s.shown }

// setPrompt replaces the task. No file is offered at its end, since the user is not typing.
func (s *taskStep) setPrompt(text string) {
	shown := termtext.Text(text)
	s.editor.SetValue(shown)
	s.raw, s.shown, s.cut = text, s.editor.Value(), strings.Count(shown, "\n") >= s.editor.LineCount()
	s.editor.MoveToEnd()
	if query, ok := s.query(); ok {
		s.completion.dismissed = "@" + query
	}
}

// setFiles sets the files that can be named.
func (s *taskStep) setFiles(files fileNames) {
	s.completion.files = files
	s.complete()
}

// query is the text between the last @ and the cursor; false when no file is being named.
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

// complete finds the files for the name at the cursor.
func (s *taskStep) complete() {
	query, ok := s.query()
	s.completion.search(query, ok)
	s.resize()
}

// insert replaces the name at the cursor with a file's.
func (s *taskStep) insert(name string) {
	query, _ := s.query()
	for range []rune(query) {
		s.editor, _ = s.editor.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	s.editor.InsertString(name + " ")
	s.completion.matches = nil
}

func (s *taskStep) focus() tea.Cmd { return s.editor.Focus() }

func (s *taskStep) blur() { s.editor.Blur() }

func (s *taskStep) setTheme(t theme.Theme) {
	plain := textarea.StyleState{
		Base: lipgloss.NewStyle(), Text: lipgloss.NewStyle(), CursorLine: lipgloss.NewStyle(), EndOfBuffer: lipgloss.NewStyle(),
		Placeholder: t.Faint, Prompt: lipgloss.NewStyle(),
	}
	styles := s.editor.Styles()
	styles.Focused, styles.Blurred = plain, plain
	s.editor.SetStyles(styles)
}

func (s *taskStep) setSize(width, height int) {
	s.width, s.height = width, height
	s.resize()
}

func (s *taskStep) resize() {
	s.editor.SetWidth(max(1, s.width))
	s.editor.SetHeight(max(1, s.height-s.below()))
	s.completion.cursor.Fit(len(s.completion.matches), max(1, s.below()))
	s.library.cursor.Fit(len(s.library.prompts), max(1, s.height-2))
}

// below is the number of rows below the editor, for files or for the prompts that were
// selected.
func (s *taskStep) below() int {
	switch {
	case s.completion.open():
		return min(len(s.completion.matches), max(1, s.height/2))
	case (len(s.library.selected) > 0 || s.cut) && s.height > 3:
		return 1
	}
	return 0
}

func (s *taskStep) update(msg tea.Msg) (outcome, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return s.press(msg)
	case tea.MouseClickMsg:
		s.click(msg.Y)
		return stay, nil
	case tea.MouseWheelMsg:
		switch {
		case s.library.open:
			s.library.cursor.Wheel(msg)
		case s.completion.open():
			s.completion.cursor.Wheel(msg)
		}
		return stay, nil
	}
	return stay, s.edit(msg)
}

func (s *taskStep) press(msg tea.KeyPressMsg) (outcome, tea.Cmd) {
	switch {
	case s.library.open:
		if text := s.library.press(msg, s.openLibrary); text != "" {
			before, shown := s.editor.LineCount(), termtext.Text(text)
			s.editor.InsertString(shown)
			s.noteCut(before, shown)
		}
		return stay, nil
	case s.completion.open() && s.pressCompletion(msg):
		return stay, nil
	case key.Matches(msg, s.openLibrary):
		s.library.show()
		return listPrompts, nil
	case msg.String() == "tab":
		return forward, nil
	case msg.String() == "shift+tab":
		return backward, nil
	}
	return stay, s.edit(msg)
}

// pressCompletion handles a key while files are offered, and reports whether it was one
// of theirs.
func (s *taskStep) pressCompletion(msg tea.KeyPressMsg) bool {
	name, taken := s.completion.press(msg)
	switch {
	case name != "":
		s.insert(name)
	case taken && !s.completion.open():
		query, _ := s.query()
		s.completion.dismissed = "@" + query
	}
	return taken
}

func (s *taskStep) click(y int) {
	switch {
	case s.library.open:
		s.library.click(y - 1)
	case s.completion.open():
		if name, ok := s.completion.click(y - (s.height - s.below())); ok {
			s.insert(name)
		}
	}
}

// edit passes a message to the editor.
func (s *taskStep) edit(msg tea.Msg) tea.Cmd {
	if s.library.open {
		return nil
	}
	var cmd tea.Cmd
	before := s.editor.LineCount()
	s.editor, cmd = s.editor.Update(msg)
	switch msg := msg.(type) {
	case tea.PasteMsg:
		s.noteCut(before, msg.Content)
		s.complete()
	case tea.KeyPressMsg:
		s.cut = s.cut && s.editor.LineCount() >= before // once the user removes lines, the rest is their decision
		s.complete()
	}
	return cmd
}

// noteCut notes whether the editor, which had a number of lines before, took all lines of a text.
func (s *taskStep) noteCut(before int, text string) {
	lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	s.cut = s.cut || s.editor.LineCount() < before+lines
}

func (s *taskStep) view(t theme.Theme, _ bool) []string {
	if s.library.open {
		return s.library.view(t, s.width)
	}
	out := frame.Fill(strings.Split(s.editor.View(), "\n"), s.height-s.below())
	out = append(out, s.completion.view(t, s.width)...)
	switch {
	case s.completion.open() || s.below() == 0:
	case s.cut:
		out = append(out, t.Warn.Render(s.cutText()))
	default:
		out = append(out, t.Faint.Render("before it: "+strings.Join(s.library.selected, ", ")))
	}
	return out
}

// cutText says which lines are lost, in one row.
func (s *taskStep) cutText() string {
	if s.unedited() {
		return fmt.Sprintf("! only the first %d lines are shown; an edit loses the others", s.editor.LineCount())
	}
	return fmt.Sprintf("! a task has at most %d lines here; the others are lost", s.editor.LineCount())
}

func (s *taskStep) keys() []key.Binding {
	switch {
	case s.library.open:
		return []key.Binding{s.use, s.insertPrompt, keymap.Bind("close", "esc")}
	case s.completion.open():
		return []key.Binding{s.take, s.pick, keymap.Bind("no file", "esc")}
	}
	return []key.Binding{s.next, s.toStart, s.nameFile, s.openLibrary, s.back, s.talk, s.toSteps, s.copyCommand}
}

func (s *taskStep) takesEsc() bool { return s.library.open || s.completion.open() }

func (s *taskStep) status() (text string, complete bool) {
	first, _, more := strings.Cut(s.prompt(), "\n")
	if more {
		first += "…"
	}
	return termtext.Escape(first), s.optional || s.prompt() != ""
}
