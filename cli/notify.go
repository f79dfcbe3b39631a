package cli

import (
	"os"
	"slices"

	"aibox/internal/notification"
	"aibox/session/manager"
)

// notifier returns what makes the user's terminal notify them of an event: a function that
// returns a control sequence, or "" if the user's settings leave the event out. The
// session's supervisor notifies the desktop.
func (a *cli) notifier() func(event manager.NotifyEvent, title, text string) (sequence string) {
	own, err := a.app.UserSettings()
	if err != nil || !own.Settings.Notify {
		return func(manager.NotifyEvent, string, string) string { return "" }
	}
	return func(event manager.NotifyEvent, title, text string) string {
		if !slices.Contains(own.Settings.NotifyOn, string(event)) {
			return ""
		}
		return notification.Sequence(os.Getenv, title, text)
	}
}
