package logview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"aibox/session/output"
	"aibox/ui/uitest"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// scene is a record with the output of a test.
type scene struct {
	record []output.Chunk
	fails  error
	ends   error // how following ends
}

func (s *scene) Size() (int64, error) { return s.size(), nil }

func (s *scene) size() int64 {
	if len(s.record) == 0 {
		return 0
	}
	last := s.record[len(s.record)-1]
	return last.Offset + int64(len(last.Data))
}

func (s *scene) Output(from int64, visit func(output.Chunk) error) error {
	for _, c := range s.record {
		end := c.Offset + int64(len(c.Data))
		if end <= from {
			continue
		}
		if c.Offset < from {
			c.Data, c.Offset = c.Data[from-c.Offset:], from
		}
		if err := visit(c); err != nil {
			return err
		}
		from = end
	}
	return s.fails
}

func (s *scene) Follow(_ context.Context, from int64, visit func(output.Chunk) error) error {
	if err := s.Output(from, visit); err != nil {
		return err
	}
	return s.ends
}

// say adds output to the record.
func (s *scene) say(stream output.Stream, text string) {
	s.record = append(s.record, output.Chunk{Offset: s.size(), Stream: stream, Data: []byte(text)})
}

// steps is the record of an agent that did a few things.
func steps() *scene {
	s := &scene{}
	s.say(output.Stdout, "I will look at the \x1b[32mtests\x1b[m first.\n\x1b]52;c;ZXZpbA==\x07")
	s.say(output.Stderr, "a warning\n")
	s.say(output.Notice, "the model server answered 500: try again\n")
	for i := range 60 {
		s.say(output.Stdout, fmt.Sprintf("step %d of many: running the checks, which takes its time and says a good deal about what it does\n", i))
	}
	return s
}

// screen is a record on a screen of its own.
type screen struct {
	*Model
	note          frame.Note
	width, height int
}

func (s *screen) Init() tea.Cmd { return s.Start() }

func (s *screen) Update(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		return s.Press(press)
	}
	return s.Model.Update(msg)
}

func (s *screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.Model.SetSize(width, height-1)
}

func (s *screen) View() string {
	foot := s.note.View(s.theme, s.width)
	if s.Typing() {
		foot = s.Line()
	}
	return strings.Join(append(frame.Fill(s.Model.View(), s.height-1), foot), "\n")
}

func (s *screen) Keys() []keymap.Group { return []keymap.Group{{Title: "Record", Keys: s.Short()}} }

func (s *screen) Short() []key.Binding {
	if s.Typing() {
		return s.TypingKeys()
	}
	return s.Model.Keys().All()
}

// user is a user of the screen.
type user struct {
	*uitest.User
	m *Model
}

// newUser opens a record for the user, without starting to read it.
func newUser(t testing.TB, s Source) *user {
	all := &screen{}
	all.Model = New(t.Context(), s, &all.note)
	return &user{uitest.New(t, all, 72, 40), all.Model}
}

// open shows it.
func open(t testing.TB, s Source) *user {
	p := newUser(t, s)
	p.Run(p.Page.Init())
	return p
}

// search looks for words.
func (p *user) search(words string) {
	p.Press("/")
	p.Type(words)
	p.Press("enter")
}
