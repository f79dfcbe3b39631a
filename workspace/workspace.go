// Package workspace makes the folder an agent works in: a copy of the user's files at
// ~/agent_workspace/<repo> with its own .git, and the baseline of that copy in a bare
// repository that aibox owns and no sandbox ever sees. It never writes to the user's
// repository, never overwrites an existing workspace, and never reads a workspace's .git.
package workspace

import (
	"cmp"
	"time"

	"aibox/internal/paths"
)

// Request describes a workspace to prepare.
type Request struct {
	Repo     string         // a path inside the user's repository, or a URL to clone
	Branch   string         // branch, tag or commit to start from; empty means the current state, with the uncommitted work
	Clean    bool           // leave out uncommitted and untracked work
	Hide     []string       // globs, as .gitignore has them, for files the agent must not see; nil means DefaultHide, empty hides nothing
	ReadOnly []string       // globs, as .gitignore has them, for files that no change set changes; empty means none
	Scratch  []string       // folders at the top, as globs, that the agent keeps for itself
	Depth    int            // commits of history the agent gets; 0 means 1000, negative all
	Session  string         // the session's id: names refs, folders and files
	Dirs     paths.Dirs     // aibox's folders
	Progress func(Progress) // called from several goroutines, one call at a time; may be nil

	Observer Observer
}

// Observer receives a workspace while it is made. Each function may be nil.
type Observer struct {
	// Record receives the fields of the workspace that Undo needs, before the folder
	// exists: a caller that stores it can clean up after a crash. It is called again if
	// another session takes the folder's name meanwhile. Its error ends the call.
	Record func(Workspace) error
	// Made is called once the empty folder exists at its path.
	Made func(path string)
}

// Progress is how far Prepare has come.
type Progress struct {
	Stage string // "cloning", "reading", "copying", "history"
	Files int    // files done
	Total int    // files to do; 0 when not known yet
	Bytes int64  // bytes copied
}

// Workspace describes a prepared workspace. It is plain data: the session's record stores it as
// JSON and review reads it again.
type Workspace struct {
	Session  string    `json:"session"`          // the session that it was made for: names refs and files
	Holder   string    `json:"holder,omitempty"` // the session that has taken it over; empty: Session itself
	Path     string    `json:"path"`             // the folder the agent sees, absolute
	Folder   Folder    `json:"folder,omitzero"`  // identifies that folder
	Name     string    `json:"name"`             // the repository's name, also for the sandbox's host name
	Repo     string    `json:"repo"`             // top of the user's working tree, or the bare clone of a URL
	URL      string    `json:"url,omitempty"`
	GitDir   string    `json:"git_dir"`  // bare repository that aibox owns
	Baseline string    `json:"baseline"` // baseline file beside GitDir
	Prepared time.Time `json:"prepared"`

	Head        string `json:"head"`                  // the user's commit the work starts from
	HeadRef     string `json:"head_ref"`              // its branch (refs/heads/…), or empty when detached
	Uncommitted string `json:"uncommitted,omitempty"` // commit on top of Head that holds the uncommitted work, or empty
	AsStored    bool   `json:"as_stored,omitempty"`   // the agent got the files of a commit byte for byte, unfiltered
	Joined      string `json:"joined,omitempty"`      // commit on top of these that also holds the files of submodules, or empty if none are included
	BaseTree    string `json:"base_tree"`             // tree the agent started from (the user's files, hidden ones too)
	AgentHead   string `json:"agent_head,omitempty"`  // commit that HEAD of the agent's own .git was at first; empty in older records

	Start   string   `json:"start,omitempty"`   // the subfolder that the run starts in, from Path; empty for the top
	Modules []Module `json:"modules,omitempty"` // included submodules, each one before those in it

	Files  int      `json:"files"`
	Bytes  int64    `json:"bytes"`
	Hidden []string `json:"hidden,omitempty"` // files left out by Hide, escaped for display, at most 1000
	Hide   []string `json:"hide"`             // the globs that were in force, with one for each private key that was found

	ReadOnly []string `json:"read_only,omitempty"` // globs of files that no change set changes

	HiddenFiles       int      `json:"hidden_files,omitempty"`        // how many were left out; 0 in older records
	Unmatched         []string `json:"unmatched,omitempty"`           // globs of the user's that match no file, escaped
	UnmatchedReadOnly []string `json:"unmatched_read_only,omitempty"` // globs of ReadOnly that match no file, escaped
	Notes             []string `json:"notes,omitempty"`               // what the user should know: submodules left out, history cut, …
	// Scratch are folders at the top, as globs, that agents keep for themselves.
	Scratch []string `json:"scratch,omitempty"`
}

// Owner returns the session that owns the work now.
func (w *Workspace) Owner() string { return cmp.Or(w.Holder, w.Session) }

// BaseCommit is the parent of the commit with the agent's work. Its tree is BaseTree. With
// submodules it is Joined, which is never delivered to the user's repository.
func (w *Workspace) BaseCommit() string {
	if w.Joined != "" {
		return w.Joined
	}
	if w.Uncommitted != "" {
		return w.Uncommitted
	}
	return w.Head
}
