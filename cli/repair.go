package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/session/manager"
)

// repair cleans up after crashes before a command does its work. What it cannot repair
// it only reports, so that the sessions can still be looked at.
func (c *console) repair(ctx context.Context, service *manager.Manager) {
	c.repairWorktrees(service)
	repaired, err := service.Repair(ctx)
	for _, r := range repaired {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.warn("!"), repairedLine(r))
	}
	if err != nil {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.warn("!"), safe(err.Error()))
	}
}

// repairedLine reports what became of a session whose supervisor had died, or whose record was
// damaged.
func repairedLine(r manager.Repaired) string {
	restored := safe(strings.Join(r.Restored, "; "))
	if r.Ended {
		return fmt.Sprintf("restored the record of %s: %s", r.ID, restored)
	}
	line := fmt.Sprintf("cleaned up after %s, whose supervisor had died", r.ID)
	if restored != "" {
		line += ", and restored its record (" + restored + ")"
	}
	switch {
	case r.Kept:
		return line + "; its agent's work is kept"
	case r.Queued:
		return line + "; its agent had not started: " + safe(r.Again)
	case r.Returned != "":
		return fmt.Sprintf("%s; its agent had not started, and %s can be resumed again", line, r.Returned)
	default:
		return line + "; its agent had not started, so there was no work to keep"
	}
}
