package sessionview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// usagePause is the time between two measurements of the sandbox.
const usagePause = 5 * time.Second

// usageMeter measures what the sandbox of a running session uses while the screen is open.
type usageMeter struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	sessions Sessions
	id       session.ID
	after    func(time.Duration, tea.Msg) tea.Cmd

	last    session.Usage
	pending bool // a measurement runs or is scheduled
}

type (
	// usageDue reports that the time of the next measurement has come.
	usageDue struct{}
	// usageMeasured carries a measurement; zero if the sandbox could not be measured.
	usageMeasured struct{ usage session.Usage }
)

// start starts to measure, unless that is under way.
func (u *usageMeter) start() tea.Cmd {
	if u.pending {
		return nil
	}
	u.pending = true
	return u.measure()
}

func (u *usageMeter) measure() tea.Cmd {
	ctx, sessions, id := u.ctx, u.sessions, u.id
	return func() tea.Msg { return usageMeasured{sessions.Measure(ctx, id)[id]} }
}

// take stores a measurement and schedules the next one. It stops when the sandbox can no
// longer be measured.
func (u *usageMeter) take(msg usageMeasured) tea.Cmd {
	u.last = msg.usage
	if u.pending = !msg.usage.Measured.IsZero(); !u.pending {
		return nil
	}
	return u.after(usagePause, usageDue{})
}

// texts returns the last measurement, the longest text first; nothing if there is none.
func (u *usageMeter) texts() []string {
	if u.last.Measured.IsZero() {
		return nil
	}
	memory, cpu := amount.Bytes(u.last.Memory), fmt.Sprintf("%.0f%% CPU", u.last.CPU)
	texts := []string{memory + " · " + cpu, memory + " " + cpu}
	if limit := u.last.MemoryLimit; limit > 0 {
		texts = slices.Insert(texts, 0, memory+" of "+amount.Bytes(limit)+" · "+cpu)
	}
	return texts
}
