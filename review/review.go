// Package review holds the change set of a session: its changes, hunks and risks, the
// selected part, and the tree of a selection. It reads the repository that aibox owns,
// never a workspace; package scan computes change sets, and package accept delivers them.
//
// git computes the diffs. The reader of its patches is written by hand because the agent
// controls their content: it limits the lines that it keeps of one file, counts the lines
// of each hunk, so that content is not parsed as a header, and takes names from git's raw
// list, whatever bytes they have. Parsers such as go-gitdiff keep all lines of a file.
package review

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/review/risk"
)

// ErrNothing is the error for a change set without changes.
var ErrNothing = errors.New("there is nothing to accept")

// Kind is the kind of a change.
type Kind string

// The kinds.
const (
	Added       Kind = "added"
	Modified    Kind = "modified" // content, and perhaps mode
	Deleted     Kind = "deleted"
	Renamed     Kind = "renamed"      // perhaps with changes
	ModeChanged Kind = "mode-changed" // content is the same
	TypeChanged Kind = "type-changed" // file to symlink or back
	Folded      Kind = "folded"       // all changes below a folder, which are not listed file by file
)

// Change is one changed file, or one folder that represents all changes below it.
type Change struct {
	Path    Path     `json:"path"`               // a folder ends with a slash; "./" represents all other folded files
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
	Covers  bool     `json:"covers,omitempty"` // it replaces a file of the user that was hidden from the agent
	LFS     *LFS     `json:"lfs,omitempty"`    // when the repository keeps the file in Git LFS

	Risks []risk.Risk `json:"risks,omitempty"` // most severe first; see Assess

	Aliases    []string `json:"aliases,omitempty"`     // other names by which symlinks lead to Path; see Assess
	OldAliases []string `json:"old_aliases,omitempty"` // and to OldPath

	Folder *Folder `json:"folder,omitempty"` // when Folded; Size is that of all new contents then
}

// Folder summarizes the changes below a folded folder. Folding bounds the list, since the
// agent determines the number of files. A folded folder is accepted or left out as a whole.
type Folder struct {
	Files   int    `json:"files"`             // changed, in all
	Deleted int    `json:"deleted,omitempty"` // of them
	Digest  string `json:"digest"`            // identifies the state of the files
}

// Count returns the number of files that the change represents.
func (c *Change) Count() int {
	if c.Folder != nil {
		return c.Folder.Files
	}
	return 1
}

// fingerprint identifies the content of the change.
func (c *Change) fingerprint() string {
	if c.Folder != nil {
		return c.Folder.Digest
	}
	return c.NewBlob
}

// Refusal is something in the workspace that cannot be accepted, because git could not
// store it safely as a file.
type Refusal struct {
	Path   Path   `json:"path"`
	Reason string `json:"reason"`           // a clause for display: "is a named pipe"
	Inside bool   `json:"inside,omitempty"` // Path is a folder, and the refused files are in it
}

// Ignored is a path that the user's own ignore rules leave out, or that the agent keeps for
// its own use; a folder represents everything in it.
type Ignored struct {
	Path  Path `json:"path"`
	Files int  `json:"files"`          // regular files in it
	More  bool `json:"more,omitempty"` // there are more, which were not counted
	// Scratch reports that no rule of the user leaves it out, but that an agent keeps it
	// for its own use.
	Scratch bool `json:"scratch,omitempty"`
}

// ChangeSet is the difference between the baseline and the workspace. It is
// plain data and may be stored as JSON; the objects it names live in GitDir.
type ChangeSet struct {
	Session  string    `json:"session"`
	GitDir   string    `json:"git_dir"`
	BaseTree string    `json:"base_tree"`
	Tree     string    `json:"tree"`             // with every change; equals BaseTree when there is none
	Listed   string    `json:"listed,omitempty"` // the tree without the changes that are Folded; empty when none are
	Commit   string    `json:"commit"`           // commit of Tree on the base commit, kept by a ref
	Changes  []Change  `json:"changes"`
	Refused  []Refusal `json:"refused,omitempty"`
	Ignored  []Ignored `json:"ignored,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // notes on the whole change set: limits that were reached
	Computed time.Time `json:"computed"`
	Rules    string    `json:"rules,omitempty"` // version of the rules that found the risks; empty when not assessed

	RiskNotes []string `json:"risk_notes,omitempty"` // those of Notes that the next Assess replaces

	Callers *Callers `json:"-"` // files of the baseline that run others; nil if unknown
}

// Empty reports whether there is nothing to accept.
func (cs *ChangeSet) Empty() bool { return len(cs.Changes) == 0 }

// Count returns the number of changed files.
func (cs *ChangeSet) Count() int {
	files := 0
	for i := range cs.Changes {
		files += cs.Changes[i].Count()
	}
	return files
}

// ListedTree returns the tree with only the changes that are listed file by file.
func (cs *ChangeSet) ListedTree() string {
	if cs.Listed != "" {
		return cs.Listed
	}
	return cs.Tree
}

// Totals returns the lines added and deleted by the changes that are listed file by file.
func (cs *ChangeSet) Totals() (added, deleted int) {
	for _, c := range cs.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	return added, deleted
}

// Letter returns git's letter for the kind: A, D, R, T, or M for any other change.
func (k Kind) Letter() string {
	switch k {
	case Added:
		return "A"
	case Deleted:
		return "D"
	case Renamed:
		return "R"
	case Folded:
		return "+"
	case TypeChanged:
		return "T"
	default:
		return "M"
	}
}

// Folded describes the size of a folded change.
func (c *Change) Folded() string {
	text := amount.Of(c.Folder.Files, "file") + ", " + amount.Bytes(c.Size)
	if c.Folder.Deleted > 0 {
		text += fmt.Sprintf(", %d deleted", c.Folder.Deleted)
	}
	return text + ", not listed one by one"
}

// Risky reports whether a plain accept leaves the file out.
func (c Change) Risky() bool { return slices.ContainsFunc(c.Risks, risk.Risk.Holds) }
