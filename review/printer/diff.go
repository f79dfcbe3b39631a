// Package printer writes a change set as text: a diff for a terminal, a patch, a table,
// lists of names. Everything except the patch and the lists for programs is escaped, so
// the agent's bytes cannot control the terminal.
package printer

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"aibox/internal/git"
	"aibox/review"
)

// DiffOptions are the options of Diff. The zero value shows everything without color and
// without context; see DefaultContext.
type DiffOptions struct {
	Color   bool
	Context int                           // unchanged lines around a change; negative means DefaultContext
	Only    func(*review.Change) bool     // the files to show; nil means all
	Remarks func(*review.Change) []Remark // remarks to show with the file's lines; nil means none
}

// Remark is a note that is shown with a file's lines: a risk, or a comment of the user.
type Remark struct {
	Line  int    // the line above it, from 1 in the new file; 0 shows it above the first line
	Old   bool   // Line counts lines of the old file
	Alarm bool   // the remark is a warning
	Text  string // in one or several lines; need not be safe
}

// DefaultContext is the number of unchanged lines around a change.
const DefaultContext = 3

// Diff writes the diff for a terminal: filtered, without binary content, with readable
// names. It is not a valid patch; see Patch.
func Diff(ctx context.Context, cs *review.ChangeSet, w io.Writer, opts DiffOptions) error {
	if cs.Tree == cs.BaseTree {
		return nil
	}
	out := bufio.NewWriterSize(w, 32<<10)
	shown := &diffPrinter{out: out, opts: opts, changes: cs.Changes, at: -1}
	args := slices.Concat(review.DiffTree, []string{"-p", contextFlag(opts.Context), cs.BaseTree, cs.ListedTree()})
	err := git.Owned(cs.GitDir).Run(ctx, nil, shown, args...)
	if shown.failed != nil {
		return shown.failed // error of the writer, which caused git's failure
	}
	err = errors.Join(err, shown.end())
	for i := range cs.Changes {
		if c := &cs.Changes[i]; c.Kind == review.Folded && (opts.Only == nil || opts.Only(c)) {
			shown.folder(c)
		}
	}
	return errors.Join(err, shown.failed, out.Flush())
}

// contextFlag is git's flag for the number of unchanged lines around a change.
func contextFlag(lines int) string {
	if lines < 0 {
		lines = DefaultContext
	}
	return "-U" + strconv.Itoa(lines)
}

// The colors of a diff, as in git.
const (
	bold    = "\x1b[1m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
	reverse = "\x1b[7m"
	forward = "\x1b[27m"
	reset   = "\x1b[m"
)
