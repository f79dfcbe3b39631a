// Package files defines operations on the files of a sandbox, and the protocol between the
// program in the sandbox that does them and its clients on the host. It opens no file: the
// host never opens a file that a sandbox made.
//
// The program runs as the user of the operations, so that the sandbox's kernel decides what
// it may do. A symlink can only point into the sandbox.
//
// The protocol is not HTTP: the program is part of PID 1's, which every start of a sandbox
// has to load, and a transfer needs an answer after its data. SFTP has no events and cannot
// replace a file in one step.
package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Path is the name of a file in a sandbox: any bytes but NUL. It may be invalid UTF-8, so
// escape it. An absolute path begins with "/"; any other is relative to the home folder of
// the user for whom an operation is done.
type Path string

// encodedPath is the JSON of a path that is not valid UTF-8.
type encodedPath struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON returns a string, or an object with base64 for a path that is not valid UTF-8.
func (p Path) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(encodedPath{[]byte(p)})
}

// UnmarshalJSON reads both forms.
func (p *Path) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var encoded encodedPath
		err := json.Unmarshal(data, &encoded)
		*p = Path(encoded.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(p))
}

// Kind is the kind of a file.
type Kind string

// The kinds of files.
const (
	Regular Kind = "file"
	Folder  Kind = "folder"
	Symlink Kind = "symlink"
	Special Kind = "special" // a device, a pipe or a socket
)

// Entry describes a file. All of it comes from the sandbox: escape it before printing.
type Entry struct {
	Path     Path      `json:"path"` // absolute
	Kind     Kind      `json:"kind"`
	Size     int64     `json:"size"` // in bytes
	Mode     uint32    `json:"mode"` // permission bits, with set-uid, set-gid and sticky, as in chmod(1)
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	Owner    string    `json:"owner,omitempty"` // the name of UID; "" if it has none
	Group    string    `json:"group,omitempty"` // the name of GID; "" if it has none
	Modified time.Time `json:"modified"`
	Target   Path      `json:"target,omitempty"` // of a symlink
}

// Page is a part of a list.
type Page struct {
	// Entries are ordered by their paths, component by component; a folder comes before its
	// contents.
	Entries []Entry `json:"entries"`
	// Next continues the list in ListOptions.After. "" is the end.
	Next Path `json:"next,omitempty"`
}

// UnmarshalJSON reads a page of the sandbox. It refuses one with more than MaxPage entries before it
// reads the others: each can take a hundred times the memory of its JSON.
func (p *Page) UnmarshalJSON(data []byte) error {
	page := struct {
		Entries *entries `json:"entries"`
		Next    *Path    `json:"next"`
	}{(*entries)(&p.Entries), &p.Next}
	return json.Unmarshal(data, &page)
}

// entries are the entries of a page.
type entries []Entry

func (e *entries) UnmarshalJSON(data []byte) error {
	if *e != nil {
		return errors.New("a page has entries twice")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if begin, err := in.Token(); err != nil || begin != json.Delim('[') {
		return errors.Join(errors.New("the entries of a page are no list"), err)
	}
	all := entries{}
	for in.More() {
		if len(all) == MaxPage {
			return fmt.Errorf("a page has more than %d entries", MaxPage)
		}
		var one Entry
		if err := in.Decode(&one); err != nil {
			return err
		}
		all = append(all, one)
	}
	*e = all
	return nil
}

// Limits of requests.
const (
	DefaultPage = 1000   // entries of a Page
	MaxPage     = 10_000 // entries of a Page
	MaxDepth    = 64     // of a list
	MaxWatched  = 8192   // folders of a recursive watch
	MaxPath     = 4096   // bytes
)

// ListOptions select a part of the entries below a folder.
type ListOptions struct {
	Depth int  // 1 are the folder's own entries; 0 means 1
	Limit int  // maximum number of entries; 0 means DefaultPage
	After Path // Page.Next of the page before
}

// MakeOptions are the options for a new folder.
type MakeOptions struct {
	Mode    uint32 // permission bits; 0 means 0755
	Parents bool   // missing parent folders are created, and an existing folder is no error
}

// WriteOptions are the options for writing a file.
type WriteOptions struct {
	Mode    uint32 // permission bits; 0 keeps those of an existing file, and otherwise means 0644
	Parents bool   // missing parent folders are created
	New     bool   // an existing file is an error
}

// Range is a part of a file.
type Range struct {
	Offset int64 // of the first byte
	Length int64 // maximum number of bytes; 0 means up to the end
}

// Change is a kind of change to a file.
type Change string

// The changes that a watch reports.
const (
	Created Change = "create"
	Written Change = "write" // its contents have changed
	Removed Change = "remove"
	Renamed Change = "rename"
	Chmod   Change = "chmod" // its mode, owner or times have changed
	// Overflow reports that events are lost: read the folder again.
	Overflow Change = "overflow"
	// Ended reports that the watched folder is gone. It is the last event.
	Ended Change = "end"
)

// Event is a change below a watched folder.
type Event struct {
	Change Change `json:"change"`
	Path   Path   `json:"path,omitempty"` // absolute; the old path of a renamed file
	// To is the new path of a renamed file, or "" if it is not below the watched folder.
	To     Path `json:"to,omitempty"`
	Folder bool `json:"folder,omitempty"` // Path is a folder
}

// Code is the reason why an operation failed.
type Code string

// The reasons.
const (
	NotFound   Code = "not_found"
	Exists     Code = "exists"
	Permission Code = "permission"
	NotFolder  Code = "not_folder"
	IsFolder   Code = "is_folder"
	NotEmpty   Code = "not_empty"
	NotRegular Code = "special"  // a device, a pipe or a socket
	NoSpace    Code = "no_space" // the disk is full
	Invalid    Code = "invalid"  // the request
	Exhausted  Code = "limit"    // too many watches, users or requests
	Failed     Code = "failed"   // any other reason
)

// Error reports why an operation failed.
type Error struct {
	Code    Code   `json:"code"`
	Path    Path   `json:"path,omitempty"`
	Message string `json:"message"` // may hold bytes of the sandbox: escape
}

// maxErrorText is the maximum length of a message that a client keeps, in bytes.
const maxErrorText = 4 << 10

// UnmarshalJSON reads an error of the sandbox. It cuts texts that could be as long as a frame.
func (e *Error) UnmarshalJSON(data []byte) error {
	type plain Error
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	if len(e.Path) > MaxPath {
		e.Path = Path(strings.Clone(string(e.Path[:MaxPath])))
	}
	if len(e.Message) > maxErrorText {
		e.Message = strings.ToValidUTF8(e.Message[:maxErrorText], "") + "…"
	}
	return nil
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return fmt.Sprintf("%q in the sandbox: %s", string(e.Path), e.Message)
}
