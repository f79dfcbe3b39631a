package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

// asker is a user with a session that asks a question.
type asker struct {
	one
	said *[]bool
}

func (asker) Requests() ([]session.Request, error) {
	return []session.Request{{Session: "0aaaa-codex", ID: 1, Question: "Is there more time?", Yes: "give it 1h more", No: "let it end"}}, nil
}

func (a asker) Answer(_ context.Context, _ session.ID, _ int, answer session.Answer) error {
	*a.said = append(*a.said, answer == session.AnswerYes)
	return nil
}

// all returns the messages of a command.
func all(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	batch, ok := msg.(tea.BatchMsg)
	if !ok {
		return []tea.Msg{msg}
	}
	var out []tea.Msg
	for _, cmd := range batch {
		out = append(out, all(cmd)...)
	}
	return out
}

// questioned is an app with an open question, and the answers to it.
func questioned(t *testing.T, typing bool) (*app, *[]bool) {
	t.Helper()
	said := new([]bool)
	a := newApp(t.Context(), Request{Sessions: asker{said: said}, Changes: one{}})
	now := time.Now()
	a.questions.Now = func() time.Time { // each reading of the clock is long after the one before
		now = now.Add(dialog.Grace)
		return now
	}
	drive(a, tea.WindowSizeMsg{Width: 120, Height: 40})
	drive(a, page.Returned{}) // returning lists the sessions again
	if typing {
		drive(a, keymap.Press("/"))
	}
	for _, msg := range all(a.questions.Init()) {
		drive(a, msg)
	}
	return a, said
}

func TestAQuestionAppearsOverEveryScreenAndReceivesTheKeys(t *testing.T) {
	a, said := questioned(t, false)
	if view := shown(a); !strings.Contains(view, "0aaaa-codex asks") || !strings.Contains(view, "n no · esc later") {
		t.Fatal(view)
	}
	drive(a, keymap.Press("?"))
	drive(a, keymap.Press("2"))
	if view := shown(a); len(*said) != 0 || strings.Contains(view, "this help") || !strings.Contains(view, "asks") {
		t.Error(view)
	}
	foot := strings.Split(shown(a), "\n")[39]
	drive(a, tea.MouseClickMsg{Button: tea.MouseLeft, X: len([]rune(foot[:strings.Index(foot, "y yes")])), Y: 39})
	if len(*said) != 1 || !(*said)[0] || strings.Contains(shown(a), "asks") {
		t.Errorf("said %v:\n%s", *said, shown(a))
	}
}

func TestAQuestionIsOnlyAMarkWhileKeysAreText(t *testing.T) {
	a, said := questioned(t, true)
	if view := shown(a); strings.Contains(view, "asks") || !strings.Contains(view, "! 1 question") {
		t.Fatal(view)
	}
	drive(a, keymap.Press("y"))
	drive(a, keymap.Press("!"))
	if view := shown(a); strings.Contains(view, "asks") || !strings.Contains(view, "y!") {
		t.Error(view)
	}
	drive(a, keymap.Press("enter"))
	if view := shown(a); len(*said) != 0 || !strings.Contains(view, "asks") {
		t.Error(view)
	}
}

func TestAQuestionThatIsPutOffIsFoundAgainByKeyAndByClick(t *testing.T) {
	a, _ := questioned(t, false)
	drive(a, keymap.Press("esc"))
	view := shown(a)
	if strings.Contains(view, "asks") || !strings.Contains(view, "! 1 question") {
		t.Fatal(view)
	}
	foot := strings.Split(view, "\n")[39]
	drive(a, tea.MouseClickMsg{Button: tea.MouseLeft, X: len([]rune(foot[:strings.Index(foot, "! 1 question")])) + 2, Y: 39})
	if !strings.Contains(shown(a), "asks") {
		t.Error("a click on the mark does not show it")
	}
	drive(a, keymap.Press("esc"))
	drive(a, keymap.Press("!"))
	if !strings.Contains(shown(a), "asks") {
		t.Error("the key does not show it")
	}
}

func TestTheKeyOfQuestionsSaysThatThereIsNone(t *testing.T) {
	a := newTestApp(t, 80, 24)
	drive(a, keymap.Press("!"))
	lines := strings.Split(shown(a), "\n")
	if len(lines) != 24 || !strings.Contains(lines[22], "! no session asks a question now") {
		t.Fatalf("%d rows:\n%s", len(lines), shown(a))
	}
	drive(a, keymap.Press("down"))
	if strings.Contains(shown(a), "no session asks") {
		t.Error("the next key does not clear it")
	}
	drive(a, keymap.Press("/"))
	drive(a, keymap.Press("!"))
	if strings.Contains(shown(a), "no session asks") {
		t.Error("it says so although the user types")
	}
}
