package cli

import (
	"context"
	"os"

	"aibox/internal/notification"
)

// notifier returns what notifies the user about a question, on the desktop and by the
// sequence for the terminal that it returns; nil if the user's settings turn that off.
func (a *cli) notifier() func(ctx context.Context, title, text string) (sequence string) {
	own, err := a.app.UserSettings()
	if err != nil || !own.Settings.Notify {
		return nil
	}
	return func(ctx context.Context, title, text string) string {
		_ = notification.OnDesktop(ctx, title, text) // the question is on the terminal, too
		return notification.Sequence(os.Getenv, title, text)
	}
}
