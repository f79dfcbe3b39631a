package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// leaver is a page on which the user can lose something by quitting.
type leaver interface {
	// Leaving returns the question that the user must answer before quitting, without its Do. It
	// returns nil if nothing would be lost.
	Leaving() *dialog.Confirm
}

// quit ends the program. It asks first if that would lose something: work on an open screen,
// or image builds or actions on snapshots in progress. Sessions continue without the program.
func (a *app) quit() tea.Cmd {
	question := a.losses()
	if question == nil || a.tooSmall() { // there is no room for the question
		return tea.Quit
	}
	question.Yes, question.Do = cmp.Or(question.Yes, "quit"), tea.Quit
	a.over.leave = dialog.Ask(*question, time.Now())
	return nil
}

// losses returns the question about what quitting would lose, or nil.
func (a *app) losses() *dialog.Confirm {
	var question *dialog.Confirm
	for _, l := range slices.Backward(a.open) {
		if p, ok := l.Page.(leaver); ok && question == nil {
			question = p.Leaving()
		}
	}
	if names := a.baking(); len(names) > 0 {
		text := strings.Join(names, ", ") + ": canceled when you quit. Finished steps stay in the build cache; sessions continue."
		question = withLoss(question, amount.Of(len(names), "bake"), text)
	}
	if actions := a.snapshots.Actions(); len(actions) > 0 {
		question = withLoss(question, amount.Of(len(actions), "action"), strings.Join(actions, ", ")+": may not be completed when you quit.")
	}
	return question
}

// withLoss adds to a question, or makes one, about something that is under way.
func withLoss(question *dialog.Confirm, what, text string) *dialog.Confirm {
	if question == nil {
		return &dialog.Confirm{Title: "Quit with " + what + " under way?", Text: text}
	}
	question.Text += "\n\n" + what + " under way: " + text
	return question
}

// baking returns the images that are queued or being baked.
func (a *app) baking() []string {
	if a.request.Images == nil {
		return nil
	}
	var names []string
	for _, job := range a.request.Images.Jobs() {
		if !job.State.Over() {
			names = append(names, job.Name)
		}
	}
	return names
}

// answerLeave handles a key or a click while the question is open.
func (a *app) answerLeave(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	if click, clicked := msg.(tea.MouseClickMsg); clicked {
		press, ok = a.over.leave.Click(a.theme, a.width, a.height-footRows, click)
	}
	if !ok {
		return nil
	}
	if yes := dialog.Answer(&a.over.leave, press, time.Now()); yes != nil {
		return yes.Do
	}
	return nil
}
