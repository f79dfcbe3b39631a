package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/git"
)

// maxQuoted bounds how far into a file Quote looks for a line, in bytes.
const maxQuoted = 64 << 20

// errQuoted stops reading a file once the line is found.
var errQuoted = errors.New("the line is found")

// Quote returns line n, from 1, of a file as the agent left it: raw bytes without the
// newline, cut when it is very long. For n 0 it is empty. A missing file or line is a
// Usage fault; a deleted file exists, but has no lines.
func (cs *ChangeSet) Quote(ctx context.Context, path Path, n int) (string, error) {
	if n < 0 {
		return "", fault.New(fault.Usage, "line numbers start at 1, so there is no line %d", n)
	}
	repo := git.Owned(cs.GitDir)
	blob, err := repo.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", cs.Tree+":"+path.Raw())
	if err != nil || path == "" {
		if n == 0 && cs.deletes(path) {
			return "", nil
		}
		return "", fault.New(fault.Usage, "there is no file %s in the agent's work", path).
			Hint("`aibox diff %s --name-status` lists the changed ones", cs.Session)
	}
	kind, err := repo.Line(ctx, "cat-file", "-t", blob)
	if err != nil || kind != "blob" {
		return "", fault.New(fault.Usage, "%s is not a file", path).Hint("name one file of it")
	}
	if n == 0 {
		return "", nil
	}
	finder := &lineFinder{want: n}
	err = repo.Run(ctx, nil, finder, "cat-file", "blob", blob)
	switch {
	case finder.found:
		return string(finder.line), nil
	case finder.failed != nil:
		return "", finder.failed
	case err != nil:
		return "", fmt.Errorf("reading %s: %s", path, git.Message(err))
	case finder.begun:
		return string(finder.line), nil // the last line, without a newline
	default:
		return "", fault.New(fault.Usage, "%s has %s, so there is no line %d", path, amount.Of(finder.lines(), "line"), n)
	}
}

func (cs *ChangeSet) deletes(path Path) bool {
	for _, c := range cs.Changes {
		if c.Kind == Deleted && c.Path == path || c.Kind == Renamed && c.OldPath == path {
			return true
		}
	}
	return false
}

// lineFinder is a writer that keeps one line.
type lineFinder struct {
	want, at int // line numbers from 1; at is the line being read
	read     int64
	line     []byte
	begun    bool // the requested line, as far as it was read
	open     bool // the line at has begun
	found    bool
	failed   error
}

// lines returns the number of lines.
func (f *lineFinder) lines() int {
	if f.open || f.at == 0 {
		return f.at
	}
	return f.at - 1
}

func (f *lineFinder) Write(data []byte) (int, error) {
	f.at = max(f.at, 1)
	size := len(data)
	if f.read += int64(size); f.read > maxQuoted {
		f.failed = fault.New(fault.Usage, "line %d lies too far into the file", f.want)
		return 0, f.failed
	}
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		if f.at == f.want {
			f.begun = true
			f.line = append(f.line, part[:min(len(part), MaxLine-len(f.line))]...)
			if whole {
				f.found = true
				return 0, errQuoted
			}
		}
		if f.open = !whole; whole {
			f.at++
		}
		data = rest
	}
	return size, nil
}

// Diff returns the hunk as in a patch, without the file header, in about limit bytes at
// most: raw, as the agent wrote it. Changes without text are described in a line, and so
// are lines that were left out.
func (h Hunk) Diff(limit int) string {
	var out strings.Builder
	switch h.Kind {
	case HunkText:
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	case HunkAdded:
		out.WriteString("new file\n")
	case HunkDeleted:
		out.WriteString("deleted file\n")
	case HunkRenamed:
		fmt.Fprintf(&out, "renamed from %s\n", h.OldPath)
	case HunkFolder:
		out.WriteString("all that changed below the folder\n")
	case HunkMode:
		out.WriteString("changed whether the file is executable\n")
	case HunkType:
		out.WriteString("changed between file and symlink\n")
	default:
		out.WriteString("changed as a whole (binary, symlink or Git LFS)\n")
	}
	for i, line := range h.Lines {
		if out.Len()+len(line.Text) > limit {
			fmt.Fprintf(&out, "… (%s more)\n", amount.Of(len(h.Lines)-i, "line"))
			break
		}
		out.WriteByte(line.Op)
		out.Write(line.Text)
		out.WriteByte('\n')
		if line.NoNewline {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
	return out.String()
}
