package dashboard

import (
	"context"
	"slices"
	"time"

	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

// crashPause is the time between two looks for sessions whose supervisor has died.
const crashPause = 5 * time.Second

// crashes finds sessions whose supervisor has died, and ends them as `aibox ls` does. It has to look for
// them: a supervisor that dies changes no file, so that Sessions.Changed does not report it. Without a
// session that has not ended, it does nothing.
type crashes struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions service
	after    func(time.Duration, tea.Msg) tea.Cmd

	tried   map[session.ID]bool // sessions that Repair was called for; one that it cannot end stays as it is
	pending bool                // a look runs or is scheduled
}

// crashesDue reports that the time of the next look has come.
type crashesDue struct{}

// crashesFound carries the sessions whose supervisor had died, and the error of ending them.
type crashesFound struct {
	dead  []session.ID // that seemed to be dead: one that ended in between was not ended here
	ended []session.ID // those of them that Repair ended
	err   error
}

// plan looks if a session has not ended; nil if that is not needed now.
func (c *crashes) plan(all []summary.Summary) tea.Cmd {
	if c.pending {
		return nil
	}
	var ids []session.ID
	for i := range all {
		if all[i].Phase != session.Ended && !c.tried[all[i].ID] {
			ids = append(ids, all[i].ID)
		}
	}
	if c.pending = len(ids) > 0; !c.pending {
		return nil
	}
	ctx, sessions := c.ctx, c.sessions
	return func() tea.Msg {
		var found crashesFound
		for _, id := range ids {
			if s, err := sessions.Find(string(id)); err == nil && s.State.Phase != session.Ended && !s.Alive {
				found.dead = append(found.dead, id)
			}
		}
		if len(found.dead) > 0 {
			var repaired []manager.Repaired
			repaired, found.err = sessions.Repair(ctx)
			for _, one := range repaired {
				if slices.Contains(found.dead, one.ID) {
					found.ended = append(found.ended, one.ID)
				}
			}
		}
		return found
	}
}

// end schedules the next look.
func (c *crashes) end(msg crashesFound) tea.Cmd {
	for _, id := range msg.dead {
		c.tried[id] = true
	}
	return c.after(crashPause, crashesDue{})
}
