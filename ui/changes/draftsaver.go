package changes

import (
	"fmt"
	"sync"
	"time"

	"aibox/review"
	"aibox/review/decision"
	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// saveDelay is how long changed decisions wait for further changes before they are saved.
const saveDelay = 200 * time.Millisecond

// draftSaver stores the decisions after they change, so that they survive the screen. The
// zero value stores nothing.
type draftSaver struct {
	id    session.ID
	save  func(id session.ID, saved *decision.Saved) error
	after func(d time.Duration, then func(time.Time) tea.Msg) tea.Cmd

	set   *review.ChangeSet
	draft *decision.Draft
	kept  int  // the draft's version that is stored, or being stored
	busy  bool // a delay or a write is under way
	file  *draftFile
}

// draftFile is the stored draft. Commands write it.
type draftFile struct {
	mu      sync.Mutex
	version int  // that was written last
	closed  bool // the draft was delivered
}

// saveDue means that the delay is over.
type saveDue struct{}

// draftSaved is the end of a write.
type draftSaved struct{ err error }

// use sets the draft. Its current state counts as stored.
func (s *draftSaver) use(set *review.ChangeSet, draft *decision.Draft) {
	s.set, s.draft, s.kept, s.file = set, draft, draft.Version(), new(draftFile)
}

// watch returns a command when there is something to save.
func (s *draftSaver) watch() tea.Cmd {
	if s.draft == nil || s.busy || s.draft.Version() == s.kept {
		return nil
	}
	s.busy = true
	return s.after(saveDelay, func(time.Time) tea.Msg { return saveDue{} })
}

// end allows the next write.
func (s *draftSaver) end() { s.busy = false }

// write returns the command that stores the current decisions.
func (s *draftSaver) write() tea.Cmd {
	store := s.now()
	return func() tea.Msg { return draftSaved{store()} }
}

// now returns a function that stores the current decisions. An older write does not replace a newer
// one.
func (s *draftSaver) now() func() error {
	if s.draft == nil || s.draft.Version() == s.kept && !s.busy {
		return func() error { return nil }
	}
	id, save, file, version, saved := s.id, s.save, s.file, s.draft.Version(), s.draft.Save(s.set)
	s.kept = version
	return func() error {
		file.mu.Lock()
		defer file.mu.Unlock()
		if file.closed || version < file.version {
			return nil
		}
		file.version = version
		if err := save(id, saved); err != nil {
			return fmt.Errorf("your decisions are not saved: %w", err)
		}
		return nil
	}
}

// remove returns a function that removes the stored decisions for good.
func (s *draftSaver) remove() func() error {
	id, save, file := s.id, s.save, s.file
	return func() error {
		file.mu.Lock()
		defer file.mu.Unlock()
		file.closed = true
		return save(id, nil)
	}
}
