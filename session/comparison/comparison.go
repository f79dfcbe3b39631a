// Package comparison compares the results of several sessions, such as those of a batch:
// how each ended, what it cost, and which files each changed. It reads stored change sets
// and no workspace. It changes nothing.
package comparison

import (
	"cmp"
	"slices"
	"time"

	"aibox/internal/sorting"
	"aibox/review"
	"aibox/session"
	"aibox/session/summary"
)

// Source returns what sessions stored about their work. It is *manager.Manager.
type Source interface {
	FinalChanges(id session.ID) (*review.ChangeSet, error)
	Verifications(id session.ID) ([]session.Verification, error)
}

// Comparison holds the results of several sessions, for a view side by side.
type Comparison struct {
	Batch   session.BatchID `json:"batch,omitempty"` // set if all are in one batch
	Members []Member        `json:"sessions"`        // in the order of their ids
	Files   []File          `json:"files"`           // the files that any of them changed, by path
}

// Member is the result of one session.
type Member struct {
	ID     session.ID     `json:"id"`
	Agent  string         `json:"agent"`
	Model  string         `json:"model,omitempty"` // the requested model, or the one that was used most; raw
	Status summary.Status `json:"state"`
	Open   bool           `json:"open,omitempty"` // its work waits for a decision by the user

	ExitCode *int           `json:"exit_code,omitempty"` // the agent's own; nil while it runs
	Failure  string         `json:"failure,omitempty"`   // why the session failed
	Known    bool           `json:"known"`               // the changes are known
	Files    int            `json:"files"`
	Added    int            `json:"added"`   // lines
	Deleted  int            `json:"deleted"` // lines
	Verified Verdict        `json:"verified,omitempty"`
	Tokens   session.Tokens `json:"tokens"`
	Seconds  float64        `json:"seconds"`           // from the agent's start to its end
	SameAs   session.ID     `json:"same_as,omitempty"` // an earlier member with the same result

	Tree string `json:"-"` // the tree of its result, in GitDir; empty if unknown
	Dir  string `json:"-"` // the repository of that tree
}

// Took returns how long the agent worked.
func (m *Member) Took() time.Duration { return time.Duration(m.Seconds * float64(time.Second)) }

// Verdict is the result of the last verification.
type Verdict string

// The verdicts.
const (
	NotVerified Verdict = ""
	Passed      Verdict = "passed"
	Failed      Verdict = "failed"
)

// File is a file that at least one session changed.
type File struct {
	Path review.Path `json:"path"`
	By   []Change    `json:"by"` // in the order of the members
}

// Shared reports whether more than one session changed the file.
func (f *File) Shared() bool { return len(f.By) > 1 }

// Of returns the change by a session, or nil.
func (f *File) Of(id session.ID) *Change {
	for i := range f.By {
		if f.By[i].ID == id {
			return &f.By[i]
		}
	}
	return nil
}

// Change is the change of one file by one session.
type Change struct {
	ID      session.ID  `json:"id"`
	Kind    review.Kind `json:"kind"`
	Binary  bool        `json:"binary,omitempty"`  // not text, so that it has no lines
	Size    int64       `json:"size"`              // bytes of the new content; 0 if it was deleted
	Added   int         `json:"added"`             // lines
	Deleted int         `json:"deleted"`           // lines
	SameAs  session.ID  `json:"same_as,omitempty"` // an earlier member that left the same content
	Mode    string      `json:"mode,omitempty"`    // git's new mode, in octal, if only the mode changed

	result string // identifies the content and the mode
}

// New compares sessions.
func New(sessions []session.Session, source Source) *Comparison {
	c := &Comparison{Members: []Member{}, Files: []File{}}
	sessions = slices.SortedFunc(slices.Values(sessions), func(a, b session.Session) int { return cmp.Compare(a.ID, b.ID) })
	byPath := map[review.Path]*File{}
	for i := range sessions {
		one := &sessions[i]
		member := memberOf(one)
		if all, err := source.Verifications(one.ID); err == nil && len(all) > 0 {
			member.Verified = verdictOf(all[len(all)-1].Passed())
		}
		set, err := source.FinalChanges(one.ID)
		if err == nil && one.State.Phase == session.Ended && one.UnknownChanges() == nil {
			member.addChanges(set)
			addFiles(byPath, one.ID, set)
		}
		c.Members = append(c.Members, member)
	}
	c.Batch = batchOf(sessions)
	for _, file := range byPath {
		c.Files = append(c.Files, *file)
	}
	sorting.Func(c.Files, func(a, b *File) int { return cmp.Compare(a.Path, b.Path) })
	c.markSame()
	return c
}

// batchOf returns the batch that all sessions belong to; empty if there is none.
func batchOf(sessions []session.Session) session.BatchID {
	if len(sessions) == 0 {
		return ""
	}
	batch := sessions[0].Batch
	for i := range sessions {
		if sessions[i].Batch != batch {
			return ""
		}
	}
	return batch
}

func memberOf(one *session.Session) Member {
	summary := summary.Of(one)
	member := Member{ID: one.ID, Agent: one.Agent, Model: one.Model, Status: summary.Status(), Open: summary.Open()}
	result := one.State.Result
	if result == nil {
		return member
	}
	if member.Model == "" && len(result.Models) > 0 {
		member.Model = result.Models[0].Model
	}
	exit := result.ExitCode
	member.ExitCode, member.Tokens, member.Seconds = &exit, result.Tokens, result.Seconds
	if result.Fault != nil {
		member.Failure = result.Fault.Message
	}
	if v := result.Verification; v != nil {
		member.Verified = verdictOf(v.Passed())
	}
	return member
}

func verdictOf(passed bool) Verdict {
	if passed {
		return Passed
	}
	return Failed
}

func (m *Member) addChanges(set *review.ChangeSet) {
	m.Known, m.Files, m.Tree, m.Dir = true, set.Count(), set.Tree, set.GitDir
	m.Added, m.Deleted = set.Totals()
}

// addFiles adds the changes of a session to the files.
func addFiles(byPath map[review.Path]*File, id session.ID, set *review.ChangeSet) {
	for i := range set.Changes {
		change := &set.Changes[i]
		file := byPath[change.Path]
		if file == nil {
			file = &File{Path: change.Path}
			byPath[change.Path] = file
		}
		result := change.NewMode + " " + change.NewBlob
		if change.Folder != nil {
			result = change.Folder.Digest
		}
		by := Change{
			ID: id, Kind: change.Kind, Binary: change.Binary, Size: change.Size,
			Added: change.Added, Deleted: change.Deleted, result: result,
		}
		if by.Kind == review.ModeChanged {
			by.Mode = change.NewMode
		}
		file.By = append(file.By, by)
	}
}

// markSame marks results and files that are the same as those of an earlier session.
func (c *Comparison) markSame() {
	for i := range c.Members {
		for _, earlier := range c.Members[:i] {
			if m := &c.Members[i]; m.Known && earlier.Known && m.Tree == earlier.Tree && m.Dir == earlier.Dir {
				m.SameAs = earlier.ID
				break
			}
		}
	}
	for f := range c.Files {
		by := c.Files[f].By
		for i := range by {
			for _, earlier := range by[:i] {
				if by[i].result == earlier.result {
					by[i].SameAs = earlier.ID
					break
				}
			}
		}
	}
}
