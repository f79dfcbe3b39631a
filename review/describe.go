package review

import (
	"fmt"
	"strings"

	"aibox/internal/git"
	"aibox/internal/termtext"
)

// Describe describes, in one escaped line, the effect of accepting the hunk. c is the
// hunk's change. The target of a symbolic link is known only while the hunk has its lines.
func (h *Hunk) Describe(c *Change) string {
	switch h.Kind {
	case HunkText:
		text := fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		if h.Section != "" {
			text += " " + termtext.Escape(h.Section)
		}
		return text
	case HunkAdded:
		return "new " + h.fileOf(c.NewMode, '+')
	case HunkDeleted:
		return "the " + h.fileOf(c.OldMode, '-') + " is deleted"
	case HunkFolder:
		return c.Folded()
	case HunkType:
		return "the " + h.fileOf(c.OldMode, '-') + " becomes a " + h.fileOf(c.NewMode, '+')
	case HunkMode:
		return DescribeMode(c.OldMode, c.NewMode)
	case HunkRenamed:
		return "renamed from " + h.OldPath.String()
	default:
		if c.NewMode != string(git.Symlink) {
			return "new content"
		}
		text := h.fileOf(c.OldMode, '-')
		if target := h.target('+'); target != "" {
			text += " → " + target
		}
		return text
	}
}

// fileOf names the kind of a version of the hunk's file, by its mode. op is the sign of the
// lines of that version.
func (h *Hunk) fileOf(mode string, op byte) string {
	name := DescribeFile(mode)
	if git.Mode(mode) == git.Symlink {
		if target := h.target(op); target != "" {
			name += " to " + target
		}
	}
	return name
}

// DescribeFile names the kind of a file with a mode.
func DescribeFile(mode string) string {
	switch git.Mode(mode) {
	case git.Symlink:
		return "symbolic link"
	case git.Executable:
		return "executable file"
	default:
		return "file"
	}
}

// target returns the target of a symbolic link, escaped: the lines with a sign, which are
// at the beginning or at the end of the hunk. It is empty when they are not in memory.
func (h *Hunk) target(op byte) string {
	from, to := 0, len(h.Lines)
	if op == '-' {
		to = 0
		for to < len(h.Lines) && h.Lines[to].Op == op {
			to++
		}
	}
	if op == '+' {
		from = to
		for from > 0 && h.Lines[from-1].Op == op {
			from--
		}
	}
	var parts []string // a target may contain newlines
	for _, line := range h.Lines[from:to] {
		parts = append(parts, string(line.Text))
	}
	return termtext.Escape(strings.Join(parts, "\n"))
}

// DescribeMode describes a change between the modes of a file.
func DescribeMode(from, to string) string {
	if git.Mode(to) == git.Executable {
		return "now executable"
	}
	return "no longer executable"
}

// Describe describes the change of the file in a few words.
func (c *Change) Describe() string {
	text := string(c.Kind)
	switch link, wasLink := c.NewMode == string(git.Symlink), c.OldMode == string(git.Symlink); {
	case c.Kind == ModeChanged:
		return DescribeMode(c.OldMode, c.NewMode)
	case c.Kind == TypeChanged && link:
		return "file replaced by a symbolic link"
	case c.Kind == TypeChanged:
		return "symbolic link replaced by a file"
	case link || c.Kind == Deleted && wasLink:
		text += " symbolic link"
	case c.Kind == Added && c.NewMode == string(git.Executable):
		text += ", executable"
	case c.OldMode != "" && c.NewMode != "" && c.OldMode != c.NewMode:
		text += ", " + DescribeMode(c.OldMode, c.NewMode)
	}
	return text
}

// ModeOf returns the mode of the version that lines with a sign belong to.
func (c *Change) ModeOf(op byte) string {
	if op == '-' {
		return c.OldMode
	}
	return c.NewMode
}
