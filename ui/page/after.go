package page

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// After sends a message after a time.
func After(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}
