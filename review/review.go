// Package review finds what an agent changed and brings it back: the change
// set from the file system against the baseline, its patch, accept to a branch,
// discard, recover. It trusts nothing the agent wrote: it never opens the
// workspace's .git, never follows a symlink, never runs a program there, and
// reads files only through descriptors it has checked.
package review

import (
	"context"
	"errors"
	"io"
	"time"

	"aibox/workspace"
)

// ErrNothing is what Accept returns for a change set without changes.
var ErrNothing = errors.New("there is nothing to accept")

// Options bound the work of Compute. The zero value means the defaults.
type Options struct {
	MaxFileSize int64 // a larger file is noted and not taken; default 100 MiB
	MaxFiles    int   // more changed files than this are noted and not taken; default 200,000
	MaxBytes    int64 // more changed bytes than this are noted and not taken; default 2 GiB
	Workers     int   // default: the number of CPUs
}

// Kind is what happened to a file.
type Kind string

// The kinds.
const (
	Added       Kind = "added"
	Modified    Kind = "modified" // content, and perhaps mode
	Deleted     Kind = "deleted"
	Renamed     Kind = "renamed"      // perhaps with changes
	ModeChanged Kind = "mode-changed" // content is the same
	TypeChanged Kind = "type-changed" // file to symlink or back
)

// Change is one changed file.
type Change struct {
	Path    Path     `json:"path"`
	OldPath Path     `json:"old_path,omitempty"` // when renamed
	Kind    Kind     `json:"kind"`
	OldMode string   `json:"old_mode,omitempty"` // git's octal: 100644, 100755, 120000
	NewMode string   `json:"new_mode,omitempty"`
	OldBlob string   `json:"old_blob,omitempty"`
	NewBlob string   `json:"new_blob,omitempty"`
	Size    int64    `json:"size"` // bytes of the new content
	Binary  bool     `json:"binary,omitempty"`
	Added   int      `json:"added"`   // lines; 0 when binary
	Deleted int      `json:"deleted"` // lines; 0 when binary
	Notes   []string `json:"notes,omitempty"`
}

// Refusal is something in the workspace that is not taken, whatever the user
// accepts, because it is not a file git could hold safely.
type Refusal struct {
	Path   Path   `json:"path"`
	Reason string `json:"reason"` // a clause for people: "is a named pipe"
}

// Ignored is a path that the user's own ignore rules leave out; a folder stands
// for all in it.
type Ignored struct {
	Path  Path `json:"path"`
	Files int  `json:"files"`          // regular files in it
	More  bool `json:"more,omitempty"` // counting stopped: there are more
}

// ChangeSet is the difference between the baseline and the workspace. It is
// plain data and may be stored as JSON; the objects it names live in GitDir.
type ChangeSet struct {
	Session  string    `json:"session"`
	GitDir   string    `json:"git_dir"`
	BaseTree string    `json:"base_tree"`
	Tree     string    `json:"tree"`   // with every change; equals BaseTree when there is none
	Commit   string    `json:"commit"` // commit of Tree on the base commit, kept by a ref
	Changes  []Change  `json:"changes"`
	Refused  []Refusal `json:"refused,omitempty"`
	Ignored  []Ignored `json:"ignored,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // about the whole: limits met
	Computed time.Time `json:"computed"`
}

// Empty reports whether there is nothing to accept.
func (cs *ChangeSet) Empty() bool { return len(cs.Changes) == 0 }

// Totals sums the lines added and deleted.
func (cs *ChangeSet) Totals() (added, deleted int) {
	for _, c := range cs.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	return added, deleted
}

// Compute finds the changes in ws and writes their objects into ws.GitDir. The
// box must be dead.
func Compute(ctx context.Context, ws *workspace.Workspace, opts Options) (*ChangeSet, error) {
	return nil, errors.New("review: not written yet")
}

// Patch writes the unified diff in git's format, as git apply takes it. The
// bytes are raw, as the agent wrote them: only for files and pipes. For a
// terminal use ShowPatch.
func (cs *ChangeSet) Patch(ctx context.Context, w io.Writer) error { return nil }

// ShowPatch writes the diff for a person's terminal: filtered, with colors when
// color is set, binary content left out.
func (cs *ChangeSet) ShowPatch(ctx context.Context, w io.Writer, color bool) error { return nil }

// Stat writes a table of the changed files with + and -, escaped, at most width
// columns wide (80 when width is 0), and a line with the sum.
func (cs *ChangeSet) Stat(w io.Writer, width int) error { return nil }

// NameStatus writes one line a file, escaped: a letter as git prints it (A, M,
// D, R, T), a tab, the name (for a rename: old, tab, new).
func (cs *ChangeSet) NameStatus(w io.Writer) error { return nil }

// AcceptOptions say how the work is delivered.
type AcceptOptions struct {
	Branch  string // without refs/heads/; empty means aibox/<session>, with a suffix when taken. A named branch that exists is a Conflict
	Message string // the commit message; empty means a plain one
}

// Accepted tells where the work is.
type Accepted struct {
	Branch      string `json:"branch"` // without refs/heads/
	Commit      string `json:"commit"`
	Uncommitted string `json:"uncommitted,omitempty"` // the commit below it that holds the user's uncommitted work
	Files       int    `json:"files"`
	Repo        string `json:"repo"`
}

// Accept makes a commit of the whole change set on a new branch in the user's
// repository. The working tree, the index and HEAD stay untouched. It returns
// ErrNothing when there is no change.
func Accept(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet, opts AcceptOptions) (*Accepted, error) {
	return nil, errors.New("review: not written yet")
}

// Discard saves the workspace as it is under a ref in ws.GitDir and then removes
// the folder. The returned Saved can be restored for 30 days.
func Discard(ctx context.Context, ws *workspace.Workspace, opts Options) (*Saved, error) {
	return nil, errors.New("review: not written yet")
}

// Saved is a state that can be brought back.
type Saved struct {
	Session string    `json:"session"`
	Ref     string    `json:"ref"` // refs/aibox/<session>/<n> in GitDir
	GitDir  string    `json:"git_dir"`
	Commit  string    `json:"commit"`
	Base    string    `json:"base"` // the commit it stands on
	What    string    `json:"what"` // "discarded", "accepted", "reviewed"
	Repo    string    `json:"repo"` // the user's repository
	When    time.Time `json:"when"`
}

// Recoverable lists what is saved in the repositories below repos
// (paths.Dirs.Repos), newest first; session "" means every session.
func Recoverable(ctx context.Context, repos, session string) ([]Saved, error) {
	return nil, errors.New("review: not written yet")
}

// Restore makes a branch of saved in the user's repository, named as in Accept
// with recovered instead of the session when branch is empty.
func Restore(ctx context.Context, saved Saved, branch string) (*Accepted, error) {
	return nil, errors.New("review: not written yet")
}
