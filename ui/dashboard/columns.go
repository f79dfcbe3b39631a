package dashboard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/status"

	"github.com/charmbracelet/x/ansi"
)

// column is a column of the list. The list is sorted by one.
type column int

// The columns, from left to right.
const (
	byState column = iota
	bySession
	byRepository
	byTask
	byChanges
	byTokens
	byCost
	byRefused
	byCPU
	byMemory
	byTime
	columnCount
)

// kind defines what a column shows and how it sorts.
type kind struct {
	name    string
	first   string // describes the order
	right   bool   // aligned to the right
	text    func(now time.Time, b *summary.Summary) string
	compare func(a, b *summary.Summary) int // the most interesting first
}

var kinds = [columnCount]kind{
	byState: {"STATE", "what waits for you first", false, func(_ time.Time, b *summary.Summary) string {
		if b.Position > 0 {
			return fmt.Sprintf("%s %d", status.Text(b.Status()), b.Position)
		}
		return status.Text(b.Status())
	}, func(a, b *summary.Summary) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(a.Position, b.Position))
	}},
	bySession: {"SESSION", "newest first", false, func(_ time.Time, b *summary.Summary) string {
		return string(b.ID)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.ID, a.ID) }},
	byRepository: {"REPOSITORY", "by name", false, func(_ time.Time, b *summary.Summary) string {
		return repository(b)
	}, func(a, b *summary.Summary) int {
		return cmp.Or(cmp.Compare(a.Place(), b.Place()), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Branch, b.Branch))
	}},
	byTask: {"TASK", "by its first words", false, func(_ time.Time, b *summary.Summary) string {
		return termtext.Escape(b.Task)
	}, func(a, b *summary.Summary) int { return cmp.Compare(strings.ToLower(a.Task), strings.ToLower(b.Task)) }},
	byChanges: {"CHANGES", "most lines first", true, func(_ time.Time, b *summary.Summary) string {
		switch {
		case b.Unknown && b.Phase == session.Ended:
			return "unknown"
		case !b.Changed:
			return ""
		}
		text := fmt.Sprintf("%d +%d -%d", b.Files, b.Added, b.Deleted)
		if partial(b) {
			text = "~" + text
		}
		return text
	}, func(a, b *summary.Summary) int {
		return cmp.Or(cmp.Compare(b.Added+b.Deleted, a.Added+a.Deleted), cmp.Compare(b.Files, a.Files))
	}},
	byTokens: {"TOKENS", "most first", true, func(_ time.Time, b *summary.Summary) string {
		if b.Uncounted {
			return "?"
		}
		return counted(b.Tokens)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.Tokens, a.Tokens) }},
	byCost: {"COST", "highest first", true, func(_ time.Time, b *summary.Summary) string {
		return cost(b)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.Cost, a.Cost) }},
	byRefused: {"REFUSED", "most first", true, func(_ time.Time, b *summary.Summary) string {
		return counted(b.Refused)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.Refused, a.Refused) }},
	byCPU: {"CPU", "highest first", true, func(_ time.Time, b *summary.Summary) string {
		if b.Usage.Measured.IsZero() {
			return ""
		}
		return percent(b.Usage.CPU)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.Usage.CPU, a.Usage.CPU) }},
	byMemory: {"MEMORY", "most first", true, func(_ time.Time, b *summary.Summary) string {
		if b.Usage.Measured.IsZero() {
			return ""
		}
		return amount.Bytes(b.Usage.Memory)
	}, func(a, b *summary.Summary) int { return cmp.Compare(b.Usage.Memory, a.Usage.Memory) }},
	byTime: {"TIME", "newest first", true, func(now time.Time, b *summary.Summary) string {
		return took(now, b)
	}, summary.NewestFirst},
}

func repository(b *summary.Summary) string {
	name := termtext.Escape(b.Place())
	if b.Branch != "" {
		name += "@" + termtext.Escape(b.Branch)
	}
	return name
}

// cost formats the cost of the model. It is empty for no cost, and ? if the cost is unknown.
func cost(b *summary.Summary) string {
	switch {
	case b.Uncounted || b.Cost < 0.01 && b.Unpriced > 0:
		return "?"
	case b.Cost == 0:
		return ""
	case b.Cost < 0.01:
		return "<$0.01"
	case b.Unpriced > 0:
		return "≥" + amount.Cost(b.Cost)
	default:
		return amount.Cost(b.Cost)
	}
}

// percent formats the use of processors.
func percent(cpu float64) string { return fmt.Sprintf("%.0f%%", cpu) }

// counted formats a number; empty for 0.
func counted(n int) string {
	if n == 0 {
		return ""
	}
	return amount.Short(n)
}

// took returns how long a session has been running, or how long ago it ended.
func took(now time.Time, b *summary.Summary) string {
	age := amount.Age(now.Sub(since(b)))
	if b.Phase == session.Ended {
		age += " ago"
	}
	return age
}

// layout is the width of each column; 0 hides it.
type layout [columnCount]int

// leadWidth is the cells before the first column, for the selection and the mark.
const leadWidth = 2

// How narrow the task may get before the columns of numbers are hidden, and before the others
// are cut or hidden.
const (
	roomyTask = 24
	leastTask = 14
)

// maxText bounds the measured width of a text, which is more than any fitted column has.
const maxText = 40

// fitted are the columns that are only as wide as their texts, up to their width in layoutOf. Their
// texts do not change while a session runs, so that no column moves by itself.
var fitted = [...]column{bySession, byRepository}

// layoutOf divides a width for texts that have the widths in widest. The least important columns are
// hidden first, and the task gets the rest.
func layoutOf(width int, widest *layout) layout {
	l := layout{byState: 12, bySession: 16, byRepository: 16, byChanges: 15, byTokens: 7, byCost: 8, byRefused: 8, byCPU: 5, byMemory: 8, byTime: 8}
	for _, c := range fitted {
		l[c] = min(l[c], max(widest[c], len(kinds[c].name))+1) // a space, or the arrow
	}
	session := l[bySession]
	rest := func() int {
		used := leadWidth
		for c, w := range l {
			if w > 0 && column(c) != byTask {
				used += w + 1
			}
		}
		return width - used
	}
	for _, narrow := range []struct {
		column column
		width  int
		task   int // the width of the task from which the column keeps its width
	}{
		{byMemory, 0, roomyTask},
		{byCPU, 0, roomyTask},
		{byCost, 0, roomyTask},
		{byRefused, 0, roomyTask},
		{byTokens, 0, roomyTask},
		{byRepository, 12, leastTask},
		{bySession, 12, leastTask},
		{byChanges, 11, leastTask},
		{byRepository, 0, leastTask},
		{byChanges, 0, leastTask},
	} {
		if rest() < narrow.task {
			l[narrow.column] = min(l[narrow.column], narrow.width)
		}
	}
	l[bySession] = min(session, l[bySession]+max(0, rest()-leastTask)) // what hiding the others made room for
	l[byTask] = max(0, rest())
	return l
}

// line puts a text into each column.
func (l *layout) line(text func(column) string) string {
	var out strings.Builder
	for c, width := range l {
		if width == 0 {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		cell, used := cut(text(column(c)), width)
		pad := strings.Repeat(" ", max(0, width-used))
		if kinds[c].right {
			out.WriteString(pad + cell)
		} else {
			out.WriteString(cell + pad)
		}
	}
	return out.String()
}

// cut cuts a text to width columns and returns its width. Most texts are ASCII, whose width
// is their length.
func cut(text string, width int) (cell string, used int) {
	plain := len(text) <= width
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] < 0x7f
	}
	if plain {
		return text, len(text)
	}
	cell = ansi.Truncate(text, width, "…")
	return cell, ansi.StringWidth(cell)
}

// at returns the column at x, counted after the lead.
func (l *layout) at(x int) (column, bool) {
	from := 0
	for c, width := range l {
		if width == 0 {
			continue
		}
		if x >= from && x <= from+width {
			return column(c), true
		}
		from += width + 1
	}
	return 0, false
}
