package cli

import (
	"strings"

	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// commandsOfEnded replaces the commands in events of ended sessions: `aibox allow` changes only
// sessions that run.
type commandsOfEnded struct {
	ended func(session.ID) bool
	known map[session.ID]bool // what ended returned
}

// newCommandsOfEnded returns the commandsOfEnded of the stored sessions. Removed sessions have ended.
func newCommandsOfEnded(service *manager.Manager) *commandsOfEnded {
	return &commandsOfEnded{known: map[session.ID]bool{}, ended: func(id session.ID) bool {
		found, err := service.Find(string(id))
		return err != nil || found.State.Phase == session.Ended
	}}
}

// adapt replaces the command of an access, and of the event in which it is recorded, by one that works
// now.
func (c *commandsOfEnded) adapt(access *auditlog.Access, e *auditlog.Event) {
	if access.Command == "" || !c.hasEnded(e.Session) {
		return
	}
	access.Command = laterCommand(e.Session, access.Command, access.Why)
	e.Event = auditlog.WithCommand(e.Event, access.Command)
}

func (c *commandsOfEnded) hasEnded(id session.ID) bool {
	ended, known := c.known[id]
	if !known {
		ended = c.ended(id)
		c.known[id] = ended
	}
	return ended
}

// laterCommand returns the command that allows in a later session what command allowed in the
// session with the id while it ran, "" if a later session does not refuse it.
func laterCommand(id session.ID, command, reason string) string {
	arguments, isAllow := strings.CutPrefix(command, "aibox allow ")
	_, entry, found := strings.Cut(arguments, " ")
	if !isAllow || !found || reason == netguard.DeniedByRule.String() {
		return ""
	}
	if id.Agent() == session.SandboxAgent {
		return "aibox sandbox create --allow " + entry + " …"
	}
	return "aibox run --allow " + entry + " …"
}
