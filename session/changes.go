package session

import (
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/review"
)

// NotComputedYet is the reason for the unknown changes of a session that has just ended.
const NotComputedYet = "not computed yet"

// LacksChanges reports whether the session's changes are unknown.
func (r *Result) LacksChanges() bool { return r != nil && r.Changes.Unknown != "" }

// ChangesUnknown returns Changes that are unknown because of err.
func ChangesUnknown(err error) Changes { return Changes{Unknown: err.Error(), Disk: diskerr.Is(err)} }

// UnknownChanges returns the fault that the session's changes are unknown; nil when they
// are known.
func (s *Session) UnknownChanges() error {
	if !s.State.Result.LacksChanges() {
		return nil
	}
	unknown := fault.New(fault.Environment, "what %s changed is not known: %s", s.ID, s.State.Result.Changes.Unknown)
	if s.State.Result.Changes.Disk {
		unknown = unknown.Hint("make room on that disk first: df -h %s", s.State.Workspace.GitDir)
	}
	return unknown.Hint("`aibox diff %s` computes it again; the work is kept in %s", s.ID, s.State.Workspace.Path)
}

// ComputedEvent returns the log's summary of a change set.
func ComputedEvent(c Changes) map[string]any {
	return map[string]any{"tree": c.Tree, "files": c.Files, "added": c.Added, "deleted": c.Deleted, "refused": c.Refused}
}

// Summarize summarizes a change set.
func Summarize(set *review.ChangeSet) Changes {
	changes := Changes{Tree: set.Tree, Files: set.Count(), Refused: len(set.Refused), Notes: set.Notes}
	changes.Added, changes.Deleted = set.Totals()
	return changes
}
