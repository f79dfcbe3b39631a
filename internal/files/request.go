package files

import (
	"fmt"
	"strings"
)

// Operation is the operation of a request.
type Operation string

// The operations.
const (
	OpStat   Operation = "stat"
	OpList   Operation = "list"
	OpMake   Operation = "make"
	OpMove   Operation = "move"
	OpRemove Operation = "remove"
	OpRead   Operation = "read"
	OpWrite  Operation = "write"
	OpWatch  Operation = "watch"
)

// Request is a request on a connection. The data of a write and its end follow it. Then
// answers follow. Between two answers is the data of a read with its end, or the events of a
// watch.
type Request struct {
	Op      Operation     `json:"op"`
	User    string        `json:"user,omitempty"` // USER or USER:GROUP, each a name or a number; empty is root
	Path    Path          `json:"path"`
	To      Path          `json:"to,omitempty"`      // of a move
	Follow  bool          `json:"follow,omitempty"`  // stat the target of a symlink
	Replace bool          `json:"replace,omitempty"` // a move replaces an existing file
	Deep    bool          `json:"deep,omitempty"`    // a folder is removed or watched with everything below it
	List    *ListOptions  `json:"list,omitempty"`
	Make    *MakeOptions  `json:"make,omitempty"`
	Write   *WriteOptions `json:"write,omitempty"`
	Range   *Range        `json:"range,omitempty"`
}

// Changes reports whether the request changes files.
func (q Request) Changes() bool {
	switch q.Op {
	case OpMake, OpMove, OpRemove, OpWrite:
		return true
	default:
		return false
	}
}

// streams reports whether data or events follow the first answer, and then a second one.
func (q Request) streams() bool { return q.Op == OpRead || q.Op == OpWatch }

// Answer is an answer to a request.
type Answer struct {
	Entry *Entry `json:"entry,omitempty"`
	Page  *Page  `json:"page,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// check refuses requests that no file system could carry out.
func (q Request) check() *Error {
	for _, path := range []Path{q.Path, q.To} {
		switch {
		case len(path) > MaxPath:
			return &Error{Code: Invalid, Message: fmt.Sprintf("a path has more than %d bytes", MaxPath)}
		case strings.ContainsRune(string(path), 0):
			return &Error{Code: Invalid, Path: path, Message: "a path contains a NUL byte"}
		}
	}
	switch {
	case q.Path == "":
		return &Error{Code: Invalid, Message: "a path is needed"}
	case q.Op == OpMove && q.To == "":
		return &Error{Code: Invalid, Path: q.Path, Message: "a new path is needed"}
	case q.List != nil && (q.List.Depth < 0 || q.List.Depth > MaxDepth):
		return &Error{Code: Invalid, Path: q.Path, Message: fmt.Sprintf("the depth is between 1 and %d", MaxDepth)}
	case q.List != nil && (q.List.Limit < 0 || q.List.Limit > MaxPage):
		return &Error{Code: Invalid, Path: q.Path, Message: fmt.Sprintf("the limit is between 1 and %d entries", MaxPage)}
	case q.Range != nil && (q.Range.Offset < 0 || q.Range.Length < 0):
		return &Error{Code: Invalid, Path: q.Path, Message: "a range cannot be negative"}
	case q.Make != nil && q.Make.Mode > 0o7777 || q.Write != nil && q.Write.Mode > 0o7777:
		return &Error{Code: Invalid, Path: q.Path, Message: "a mode is at most 07777"}
	}
	return nil
}
