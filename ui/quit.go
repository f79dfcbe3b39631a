package ui

import (
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// quit ends the program. Sessions continue without it, but image builds do not: if any
// are running, it asks first.
func (a *app) quit() tea.Cmd {
	names := a.baking()
	if len(names) == 0 {
		return tea.Quit
	}
	a.over.leave = dialog.Ask(dialog.Confirm{
		Title: "Quit with " + amount.Of(len(names), "bake") + " under way?",
		Text:  strings.Join(names, ", ") + ": canceled when you quit. Finished steps stay in the build cache; sessions continue.",
		Yes:   "quit",
		Do:    tea.Quit,
	}, time.Now())
	return nil
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
