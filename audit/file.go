package audit

import "aibox/internal/files"

// FileChange is the data of FileChanged: a change of files in the sandbox, by an operation of
// package files. One with an Error may have been done in part.
type FileChange struct {
	Operation string     `json:"operation"`
	Path      files.Path `json:"path"`
	To        files.Path `json:"to,omitempty"`    // of a move
	User      string     `json:"user,omitempty"`  // as requested; empty is the default
	Bytes     int64      `json:"bytes,omitempty"` // of a file that was written
	Error     string     `json:"error,omitempty"` // may hold the sandbox's bytes: escape
}
