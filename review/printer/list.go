package printer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/git"

	"github.com/charmbracelet/x/ansi"

	"aibox/review"
)

// NameStatus writes one line a file, escaped: git's letter (A, M, D, R, T), a tab, the name
// (for a rename: old, tab, new).
func NameStatus(ctx context.Context, cs *review.ChangeSet, w io.Writer) error {
	return writeNames(ctx, cs, w, func(c review.Change) []string {
		if c.OldPath != "" {
			return []string{c.Kind.Letter(), "\t", c.OldPath.String(), "\t", c.Path.String(), "\n"}
		}
		return []string{c.Kind.Letter(), "\t", c.Path.String(), "\n"}
	})
}

// NameStatusZ is NameStatus for programs, as git writes it with -z: letter and
// names raw, each ended by a NUL.
func NameStatusZ(ctx context.Context, cs *review.ChangeSet, w io.Writer) error {
	return writeNames(ctx, cs, w, func(c review.Change) []string {
		if c.OldPath != "" {
			return []string{c.Kind.Letter(), "\x00", c.OldPath.Raw(), "\x00", c.Path.Raw(), "\x00"}
		}
		return []string{c.Kind.Letter(), "\x00", c.Path.Raw(), "\x00"}
	})
}

// Names writes the name of each file on a line, escaped; the new one of a rename.
func Names(ctx context.Context, cs *review.ChangeSet, w io.Writer) error {
	return writeNames(ctx, cs, w, func(c review.Change) []string { return []string{c.Path.String(), "\n"} })
}

// NamesZ is Names for programs: raw, each ended by a NUL.
func NamesZ(ctx context.Context, cs *review.ChangeSet, w io.Writer) error {
	return writeNames(ctx, cs, w, func(c review.Change) []string { return []string{c.Path.Raw(), "\x00"} })
}

// writeNames writes a line, given in parts, for each file, including folded ones. It does not
// join the parts, since an agent chooses the length of names.
func writeNames(ctx context.Context, cs *review.ChangeSet, w io.Writer, line func(review.Change) []string) error {
	out := bufio.NewWriter(w)
	write := func(c review.Change) error {
		for _, part := range line(c) {
			if _, err := out.WriteString(part); err != nil {
				return err
			}
		}
		return nil
	}
	shown := map[review.Path]bool{}
	for _, c := range cs.Changes {
		if c.Kind == review.Folded {
			shown[c.Path] = true
			continue
		}
		if err := write(c); err != nil {
			return err
		}
	}
	if len(shown) > 0 {
		err := cs.EachFolded(ctx, git.Owned(cs.GitDir), func(_ *review.Change, d git.Difference) error {
			return write(review.Change{Path: review.Path(d.Path), Kind: review.KindOf(d)})
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// Stat writes a table of the changed files with + and -, escaped, at most width columns
// wide (80 when width is 0), and a line with the totals.
func Stat(cs *review.ChangeSet, w io.Writer, width int) error {
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
		fmt.Fprintf(&out, " %s %s%s | %s\n", c.Kind.Letter(), names[i], pad, bar(c, most, room))
	}
	added, deleted := cs.Totals()
	fmt.Fprintf(&out, " %s changed, +%d -%d\n", amount.Of(cs.Count(), "file"), added, deleted)
	_, err := io.WriteString(w, out.String())
	return err
}

// bar returns the number of changed lines and a bar of at most room characters.
func bar(c review.Change, most, room int) string {
	switch {
	case c.Kind == review.Folded:
		return c.Folded()
	case c.LFS != nil:
		return c.DescribeLFS()
	case c.Binary:
		return fmt.Sprintf("binary, %d bytes", c.Size)
	case c.Kind == review.ModeChanged:
		return c.Describe()
	}
	plus, minus := c.Added, c.Deleted
	if most > room {
		scale := func(n int) int { return (n*room + most - 1) / most }
		plus, minus = scale(plus), scale(minus)
	}
	return fmt.Sprintf("%5d %s%s", c.Added+c.Deleted, strings.Repeat("+", plus), strings.Repeat("-", minus))
}
