package manager

import (
	"aibox/audit"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/session"
)

// The size of a decision's event is limited: it has counts instead of names, which the
// agent chose.

// logBegin logs an irreversible step before it happens. A step that cannot be logged must
// not happen.
func (s *changeSets) logBegin(record *session.Session, kind audit.Type, data map[string]any) error {
	data["session"] = record.ID
	return s.append(record.ID, kind, data)
}

// savedEvent returns the event data of a saved state.
func savedEvent(saved *recovery.Point) map[string]any {
	return map[string]any{
		"ref": saved.Ref, "commit": saved.Commit, "base": saved.Base, "until": saved.Until,
		"files": saved.Files, "added": saved.Added, "deleted": saved.Deleted, "not_kept": len(saved.NotKept),
	}
}

// deliveredEvent returns the event data of an accept.
func deliveredEvent(a *accept.Result) map[string]any {
	data := map[string]any{"target": a.Target, "repo": a.Repo, "files": a.Files, "tree": a.Tree, "left": len(a.Left)}
	if a.Target == accept.ToBranch {
		data["branch"], data["commit"], data["uncommitted"] = a.Branch, a.Commit, a.Uncommitted
	}
	if a.Target == accept.ToBundle {
		data["commit"] = a.Commit
	}
	return data
}
