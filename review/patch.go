package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"aibox/internal/git"
	"aibox/internal/termtext"
)

// Patch writes the unified diff in git's format, as git apply takes it. The
// bytes are raw, as the agent wrote them: only for files and pipes. For a
// terminal use ShowPatch.
func (cs *ChangeSet) Patch(ctx context.Context, w io.Writer) error {
	if cs.Tree == cs.BaseTree {
		return nil
	}
	args := slices.Concat(differ, []string{"-p", "--binary"})
	if cs.movesSymlinkForFolder() {
		args = append(args, "--no-renames")
	}
	err := git.Owned(cs.GitDir).Run(ctx, nil, w, append(args, cs.BaseTree, cs.Tree)...)
	if err != nil {
		return fmt.Errorf("writing the patch: %w", err)
	}
	return nil
}

// movesSymlinkForFolder reports whether a symlink was renamed and a folder stands
// in its place. Written as a rename its mode is not in the patch, so that git
// apply believes the symlink to be there still and refuses the files behind it
// ("beyond a symbolic link", seen with git 2.39).
func (cs *ChangeSet) movesSymlinkForFolder() bool {
	for _, moved := range cs.Changes {
		if moved.Kind != Renamed || moved.OldMode != "120000" {
			continue
		}
		for _, c := range cs.Changes {
			if strings.HasPrefix(c.Path.Raw(), moved.OldPath.Raw()+"/") {
				return true
			}
		}
	}
	return false
}

// ShowPatch writes the diff for a person's terminal: filtered, with colors when
// color is set, binary content left out.
func (cs *ChangeSet) ShowPatch(ctx context.Context, w io.Writer, color bool) error {
	if cs.Tree == cs.BaseTree {
		return nil
	}
	lines := &patchLines{to: w, color: color}
	args := slices.Concat(differ, []string{"-p", cs.BaseTree, cs.Tree})
	err := git.Owned(cs.GitDir).Run(ctx, nil, lines, args...)
	return errors.Join(err, lines.end())
}

// The colors of a diff, as git has them.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	reset = "\x1b[m"
)

// maxLine is how much of a line is kept together; a longer one is cut.
const maxLine = 64 << 10

// patchLines escapes a patch line by line and colors it.
type patchLines struct {
	to    io.Writer
	color bool
	line  []byte
	long  bool // the rest of the line is dropped
	old   int  // lines of the hunk still to come, of each side
	new   int
}

func (p *patchLines) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if room := maxLine - len(p.line); len(part) > room {
			part, p.long = part[:room], true
		}
		p.line = append(p.line, part...)
		if whole {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (p *patchLines) flush() error {
	style := p.style()
	text := termtext.Text(string(p.line))
	if p.long {
		text += " … (the line goes on)"
	}
	p.line, p.long = p.line[:0], false
	if style != "" && p.color {
		text = style + text + reset
	}
	_, err := io.WriteString(p.to, text+"\n")
	return err
}

// style tells the lines of a hunk, which are counted, from those around it, so
// that content cannot pose as a header.
func (p *patchLines) style() string {
	if len(p.line) == 0 {
		return ""
	}
	if p.old > 0 || p.new > 0 {
		switch p.line[0] {
		case '+':
			p.new--
			return green
		case '-':
			p.old--
			return red
		case ' ':
			p.old--
			p.new--
		}
		return ""
	}
	if bytes.HasPrefix(p.line, []byte("@@ ")) {
		p.old, p.new = 1, 1
		fields := strings.Fields(string(p.line))
		if len(fields) > 2 {
			p.old, p.new = lineCount(fields[1]), lineCount(fields[2])
		}
		return cyan
	}
	if p.line[0] == '\\' {
		return ""
	}
	return bold
}

// lineCount reads the count of "-12,3"; without one it is 1.
func lineCount(span string) int {
	n := 1
	if _, count, ok := strings.Cut(span, ","); ok {
		_, _ = fmt.Sscanf(count, "%d", &n)
	}
	return n
}

func (p *patchLines) end() error {
	if len(p.line) == 0 {
		return nil
	}
	return p.flush()
}

// letter is the kind as git prints it.
func (k Kind) letter() string {
	switch k {
	case Added:
		return "A"
	case Deleted:
		return "D"
	case Renamed:
		return "R"
	case TypeChanged:
		return "T"
	default:
		return "M"
	}
}

// NameStatus writes one line a file, escaped: a letter as git prints it (A, M,
// D, R, T), a tab, the name (for a rename: old, tab, new).
func (cs *ChangeSet) NameStatus(w io.Writer) error {
	var out strings.Builder
	for _, c := range cs.Changes {
		out.WriteString(c.Kind.letter() + "\t")
		if c.OldPath != "" {
			out.WriteString(c.OldPath.String() + "\t")
		}
		out.WriteString(c.Path.String() + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Stat writes a table of the changed files with + and -, escaped, at most width
// columns wide (80 when width is 0), and a line with the sum.
func (cs *ChangeSet) Stat(w io.Writer, width int) error {
	if width <= 0 {
		width = 80
	}
	names := make([]string, len(cs.Changes))
	longest, most := 0, 1
	for i, c := range cs.Changes {
		names[i] = c.Path.String()
		if c.OldPath != "" {
			names[i] = c.OldPath.String() + " => " + names[i]
		}
		names[i] = ansi.TruncateLeft(names[i], max(0, ansi.StringWidth(names[i])-max(10, width*6/10)), "…")
		longest = max(longest, ansi.StringWidth(names[i]))
		most = max(most, c.Added+c.Deleted)
	}
	var out strings.Builder
	room := max(5, width-longest-13)
	for i, c := range cs.Changes {
		pad := strings.Repeat(" ", longest-ansi.StringWidth(names[i]))
		fmt.Fprintf(&out, " %s %s%s | %s\n", c.Kind.letter(), names[i], pad, c.bar(most, room))
	}
	added, deleted := cs.Totals()
	fmt.Fprintf(&out, " %s changed, +%d -%d\n", plural(len(cs.Changes), "file"), added, deleted)
	_, err := io.WriteString(w, out.String())
	return err
}

// bar is the count of changed lines and a bar of at most room signs.
func (c Change) bar(most, room int) string {
	switch {
	case c.Binary:
		return fmt.Sprintf("binary, %d bytes", c.Size)
	case c.Kind == ModeChanged:
		return fmt.Sprintf("mode %s → %s", c.OldMode, c.NewMode)
	}
	plus, minus := c.Added, c.Deleted
	if most > room {
		scale := func(n int) int { return (n*room + most - 1) / most }
		plus, minus = scale(plus), scale(minus)
	}
	return fmt.Sprintf("%5d %s%s", c.Added+c.Deleted, strings.Repeat("+", plus), strings.Repeat("-", minus))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
