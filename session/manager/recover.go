package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/workspace"
)

// recoveries restores saved work.
type recoveries struct {
	*changeSets
	store session.Store
	deps  *Deps
}

// Recoverable lists the saved states, newest first, each with its Handle. text is the id of
// a session or a unique prefix of one, including removed sessions; "" means all. Sessions
// that continued the same workspace share its states. The error may accompany a list.
func (s *recoveries) Recoverable(ctx context.Context, text string) ([]recovery.Point, error) {
	all, damaged := recovery.Points(ctx, s.deps.Dirs.Repos(), "")
	setHandles(all)
	if text == "" {
		return all, damaged
	}
	id, err := s.resolveSaved(text, all)
	if err != nil {
		return nil, err
	}
	names := []string{string(id)}
	if record, err := s.store.Load(id); err == nil && record.State.Workspace != nil {
		names = append(names, record.State.Workspace.Session)
	}
	for _, saved := range all {
		if saved.By == string(id) {
			names = append(names, saved.Session)
		}
	}
	return slices.DeleteFunc(all, func(saved recovery.Point) bool { return !slices.Contains(names, saved.Session) }), damaged
}

// setHandles sets each state's Handle: its number, or its commit when an earlier version
// of aibox used the session's id twice, so that two states have the same number.
func setHandles(all []recovery.Point) {
	workspaces := map[string]map[string]bool{} // the workspaces that `aibox recover` shows with a session
	for _, saved := range all {
		if workspaces[saved.By] == nil {
			workspaces[saved.By] = map[string]bool{saved.By: true}
		}
		workspaces[saved.By][saved.Session] = true
	}
	type place struct {
		workspace string
		number    int
	}
	count := map[place]int{}
	for _, saved := range all {
		count[place{saved.Session, saved.Number}]++
	}
	for i := range all {
		saved, same := &all[i], 0
		for workspace := range workspaces[saved.By] {
			same += count[place{workspace, saved.Number}]
		}
		saved.Handle = strconv.Itoa(saved.Number)
		if same > 1 {
			saved.Handle = saved.Commit[:min(len(saved.Commit), handleDigits)]
		}
	}
}

// handleDigits is the number of a commit's digits in a Handle, and leastDigits the minimum
// number of digits that identifies a state.
const (
	handleDigits = 12
	leastDigits  = 4
)

// Pick finds the state that ref names among saved, the result of Recoverable for text.
// ref is a Handle, a number, a full ref, or a commit or its prefix; empty means the
// newest state.
func Pick(saved []recovery.Point, text, ref string) (recovery.Point, error) {
	found := matching(saved, ref)
	if ref == "" && len(found) > 1 && !slices.ContainsFunc(found, func(s recovery.Point) bool { return s.GitDir != found[0].GitDir }) {
		return found[0], nil
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		several := fault.New(fault.Usage, "%d states could be meant", len(found))
		if ref != "" {
			several = fault.New(fault.Usage, "%d states could be meant by --ref %s", len(found), ref)
		}
		for _, s := range found[:min(len(found), 5)] {
			several = several.Hint("`aibox recover %s --ref %s` is of %s, %s", s.By, s.Handle, s.Repo, s.When.Local().Format(time.DateTime))
		}
		return recovery.Point{}, several
	case text == "":
		return recovery.Point{}, fault.New(fault.Usage, "nothing is saved under %q", ref).Hint("`aibox recover` lists the saved states")
	case ref == "":
		return recovery.Point{}, fault.New(fault.Usage, "nothing is saved of %s", text).Hint("`aibox recover` lists the saved states")
	default:
		return recovery.Point{}, fault.New(fault.Usage, "nothing of %s is saved under %q", text, ref).
			Hint("`aibox recover %s` lists the saved states", text)
	}
}

// matching returns the states that ref names, by the most literal interpretation.
func matching(saved []recovery.Point, ref string) []recovery.Point {
	number, _ := strconv.Atoi(ref)
	for _, names := range []func(recovery.Point) bool{
		func(s recovery.Point) bool { return ref == "" || s.Ref == ref },
		func(s recovery.Point) bool { return s.Number == number },
		func(s recovery.Point) bool { return len(ref) >= leastDigits && strings.HasPrefix(s.Commit, ref) },
	} {
		var found []recovery.Point
		for _, s := range saved {
			again := slices.ContainsFunc(found, func(f recovery.Point) bool { return f.Commit == s.Commit && f.GitDir == s.GitDir })
			if names(s) && !again { // a state that was saved twice counts once
				found = append(found, s)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// resolveSaved finds the session that text names: the full id of a session with a record
// or saved states, or else a prefix; sessions with records come first.
func (s *recoveries) resolveSaved(text string, all []recovery.Point) (session.ID, error) {
	if slices.ContainsFunc(all, func(saved recovery.Point) bool { return saved.Session == text || saved.By == text }) {
		return session.ID(text), nil
	}
	id, err := s.store.Resolve(text)
	if err == nil {
		return id, nil
	}
	if _, formErr := session.ParseID(text); formErr != nil {
		return "", formErr
	}
	var found []session.ID
	for _, saved := range all {
		for _, name := range []string{saved.Session, saved.By} {
			if strings.HasPrefix(name, text) && !slices.Contains(found, session.ID(name)) {
				found = append(found, session.ID(name))
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", err
	default:
		return "", session.AmbiguousSession(text, found)
	}
}

// Restore restores saved to a branch of the user's repository. If it cannot log that, the error
// accompanies the result.
func (s *recoveries) Restore(ctx context.Context, saved recovery.Point, branch string) (*accept.Result, error) {
	restored, err := accept.Restore(ctx, saved, branch)
	if err != nil {
		return nil, err
	}
	id := session.ID(saved.By)
	if _, err := os.Lstat(s.store.Dir(id)); err != nil {
		return restored, nil //nolint:nilerr // its record is gone, and with it the log
	}
	err = s.withRecord(ctx, id, func(*session.Session) error { return s.append(id, audit.ChangesRecovered, deliveredEvent(restored)) })
	if err != nil {
		err = fmt.Errorf("the branch was made, but the log of %s does not say so: %w", id, err)
	}
	return restored, err
}

// RestoreNewest calls RestoreWorkspace with the newest saved state of a session's work.
func (s *recoveries) RestoreNewest(ctx context.Context, id session.ID) error {
	saved, err := s.Recoverable(ctx, string(id))
	if len(saved) > 0 {
		_, err = s.RestoreWorkspace(ctx, id, s.ofOwnWorkspace(id, saved)[0])
		return err
	}
	if err != nil {
		return err
	}
	return fault.New(fault.Usage, "nothing is saved of %s", id).Hint("`aibox recover` lists the saved states")
}

// ofOwnWorkspace returns the states of the session's own workspace, or all of them when
// there are none.
func (s *recoveries) ofOwnWorkspace(id session.ID, saved []recovery.Point) []recovery.Point {
	record, err := s.store.Load(id)
	if err != nil || record.State.Workspace == nil {
		return saved
	}
	ws := record.State.Workspace
	var own []recovery.Point
	for _, state := range saved {
		if state.GitDir == ws.GitDir && state.Session == ws.Session {
			own = append(own, state)
		}
	}
	if len(own) == 0 {
		return saved
	}
	return own
}

// RestoreWorkspace recreates the workspace of an ended session from a saved state, so that
// the session can be resumed and reviewed again: it counts as unreviewed. It refuses a
// session that still has its workspace, and a state of other work.
func (s *recoveries) RestoreWorkspace(ctx context.Context, id session.ID, saved recovery.Point) (*workspace.Workspace, error) {
	var restored *workspace.Workspace
	err := s.withEnded(ctx, id, func(record *session.Session) error {
		if err := record.NotContinued(); err != nil {
			return err
		}
		ws := record.State.Workspace
		if ws.Session != saved.Session || ws.GitDir != saved.GitDir {
			return fault.New(fault.Usage, "%s is not a state of %s's work", saved.Ref, id).Hint("`aibox recover %s` lists its states", id)
		}
		gone, err := ws.Gone()
		if err != nil {
			return err
		}
		if !gone {
			return fault.New(fault.Usage, "%s still has a workspace, which aibox does not overwrite", id).
				Hint("`aibox recover %s --ref %s` brings the state back as a branch", id, cmp.Or(saved.Handle, strconv.Itoa(saved.Number)))
		}
		before := record.State
		restored, err = workspace.Rebuild(ctx, workspace.RebuildRequest{
			Of: ws, Tree: saved.Commit, Dirs: s.deps.Dirs,
			Made: func(made *workspace.Workspace) error {
				record.State.Workspace, record.State.Review = made, session.Unreviewed
				return s.store.WriteState(id, record.State)
			},
		})
		if err != nil {
			return errors.Join(err, s.store.WriteState(id, before))
		}
		return s.append(id, audit.ChangesRecovered, map[string]any{"ref": saved.Ref, "commit": saved.Commit, "workspace": restored.Path})
	})
	return restored, err
}
