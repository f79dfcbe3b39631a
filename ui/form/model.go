package form

import (
	"aibox/agents/spec"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// page is what the screen shows.
type page int

const (
	questionPage page = iota // one question, the overview and the beginning of the preview; after the last one the review
	previewPage              // the whole preview
	helpPage                 // every key
)

// model is the form as a Bubble Tea program. After the questions comes the review of what
// will happen.
type model struct {
	*questions
	preview []string // its lines, escaped, not yet wrapped
	page    page
	scroll  int // first line shown of a page that is longer than the screen
	screen  size
	done    bool
}

// size is the terminal's, in cells; 0 until it is known.
type size struct{ width, height int }

// newModel makes a form whose draft is a copy of the options.
func newModel(r Request) *model {
	m := &model{questions: newQuestions(r)}
	m.onChange = m.refreshPreview
	m.refreshPreview()
	m.move(1)
	return m
}

// finish writes the options if the form was completed.
func (m *model) finish() (bool, error) {
	if !m.done {
		return false, nil
	}
	return true, spec.Copy(m.request.Options, m.draft)
}

// Init asks for the terminal's background and for suggestions.
func (m *model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.begin())
}

// Update routes.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen = size{msg.Width, msg.Height}
		m.setSize(msg.Width, m.bodyHeight(m.excerptHeight()))
		return m, nil
	case tea.BackgroundColorMsg:
		return m, m.setStyles(newStyles(msg.IsDark()))
	case suggested:
		m.setSuggestions(msg)
		return m, nil
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.page != questionPage {
			return m, nil
		}
	}
	return m, m.forward(msg)
}

// press handles a key. It moves between questions at once, not by a message of the
// question's: keys that were typed ahead reach the question that they were meant for.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.Quit):
		return tea.Quit
	case m.page != questionPage:
		m.pressPage(msg)
	case m.filtering():
		return m.pressFilter(msg)
	case key.Matches(msg, m.keys.Cancel):
		return tea.Quit
	case key.Matches(msg, m.keys.Help):
		m.page, m.scroll = helpPage, 0
	case key.Matches(msg, m.keys.Read):
		m.page, m.scroll = previewPage, 0
	case key.Matches(msg, m.keys.Back):
		return m.goTo(-1)
	case key.Matches(msg, m.keys.Review):
		return m.goTo(len(m.fields) - m.at)
	case m.current == nil:
		return m.pressReview(msg)
	case m.goesNext(msg):
		return m.goTo(1)
	default:
		return m.forward(msg)
	}
	return nil
}

// goTo moves n questions, to the top of the page.
func (m *model) goTo(n int) tea.Cmd {
	m.scroll = 0
	return m.step(n)
}

// pressReview handles a key on the review. Only enter completes the form: one tab too
// many must not start anything.
func (m *model) pressReview(msg tea.KeyPressMsg) tea.Cmd {
	if !key.Matches(msg, m.keys.Line) {
		m.scrollBy(msg)
		return nil
	}
	m.scroll = 0
	if m.problem = m.firstProblem(); m.problem != nil {
		return nil
	}
	m.done = true
	return tea.Quit
}
