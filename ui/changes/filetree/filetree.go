// Package filetree shows the changed files of a review as a tree, with the decision on each
// file and folder. It folds and selects, but changes no decision.
package filetree

import (
	"path"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/review/decision"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Tree is the tree of changed files, with the cursor in it.
type Tree struct {
	files   []*decision.File
	entries []Entry
	folded  map[string]bool // folders
	Cursor  cursor.Cursor
	height  int
	Focused bool // keys move in the list
	Theme   theme.Theme

	statuses statusCounts
	version  int // of the draft that statuses belong to
}

// SetFiles sets the files, which must be in the order of decision.Draft.
func (l *Tree) SetFiles(files []*decision.File) {
	l.files, l.folded = files, map[string]bool{}
	l.rebuild()
}

// Len returns how many lines there are: files, folders and headings.
func (l *Tree) Len() int { return len(l.entries) }

// Resize sets the rows of the list.
func (l *Tree) Resize(height int) {
	l.height = height
	l.Cursor.Fit(len(l.entries), height)
}

// rebuild makes the lines again.
func (l *Tree) rebuild() {
	l.entries = entriesOf(l.files, l.folded)
	l.Cursor.Fit(len(l.entries), l.height)
}

// Entry returns the line at the cursor.
func (l *Tree) Entry() (Entry, bool) {
	at := l.Cursor.At()
	if at >= len(l.entries) {
		return Entry{}, false
	}
	return l.entries[at], true
}

// Reveal moves the cursor to a file, and unfolds the folders it is in.
func (l *Tree) Reveal(file int) {
	i := l.lineOf(file)
	if i < 0 {
		dir := l.files[file].Change.Path.Raw()
		for dir = path.Dir(dir); dir != "."; dir = path.Dir(dir) {
			delete(l.folded, dir+"/")
		}
		l.rebuild()
		i = l.lineOf(file)
	}
	l.Cursor.Go(i)
}

// lineOf returns the line of a file, or -1. The lines are in the order of the files.
func (l *Tree) lineOf(file int) int {
	i, _ := slices.BinarySearchFunc(l.entries, file, func(e Entry, file int) int {
		if !e.File && e.From <= file || e.From < file {
			return -1
		}
		return e.From - file
	})
	if i < len(l.entries) && l.entries[i].File && l.entries[i].From == file {
		return i
	}
	return -1
}

// Toggle folds or unfolds a folder.
func (l *Tree) Toggle(e Entry) {
	if e.folder == "" {
		return
	}
	if l.folded[e.folder] {
		delete(l.folded, e.folder)
	} else {
		l.folded[e.folder] = true
	}
	l.rebuild()
}

// Outward folds the folder at the cursor, or goes to the one that holds the line.
func (l *Tree) Outward() {
	e, ok := l.Entry()
	if !ok {
		return
	}
	if e.folder != "" && !l.folded[e.folder] {
		l.Toggle(e)
		return
	}
	for i := l.Cursor.At() - 1; i >= 0; i-- {
		if around := l.entries[i]; !around.File && around.depth < max(1, e.depth) && around.From <= e.From && around.To >= e.To {
			l.Cursor.Go(i)
			return
		}
	}
}

// View returns the window of the list. at is the current file.
func (l *Tree) View(draft *decision.Draft, at, width int) []string {
	if l.version != draft.Version() {
		l.statuses, l.version = countStatuses(l.files, draft), draft.Version()
	}
	out := make([]string, 0, l.height)
	from, to := l.Cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, l.line(i, at, width))
	}
	return frame.Fill(out, l.height)
}

// line renders line i.
func (l *Tree) line(i, at, width int) string {
	e := l.entries[i]
	here := e.File && e.From == at
	if l.Focused {
		here = i == l.Cursor.At()
	}
	indent := strings.Repeat(" ", min(e.depth, 8))
	status := l.statuses.of(e.From, e.To)
	style := l.styleOf(status)
	var text string
	switch {
	case e.File:
		text = indent + l.files[e.From].Change.Kind.Letter() + " " + e.name
	case e.folder == "":
		style = l.Theme.Title
		if e.name == riskyHeading {
			style = l.Theme.Warn.Bold(true)
		}
		return style.Render(ansi.Truncate(cursor.HereIn(l.Focused, here)+e.name, width, "…"))
	default:
		style = l.Theme.Title
		text = indent + e.name
		if l.folded[e.folder] {
			text += " … " + amount.Of(e.To-e.From, "file")
		}
	}
	text = ansi.Truncate(cursor.HereIn(l.Focused, here)+statusSigns[status]+" "+text, width, "…")
	if here {
		return l.Theme.Selected.Render(text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))))
	}
	return style.Render(text)
}

// statusSigns are the signs of files and folders; their color says nothing more.
var statusSigns = [decision.NumStatuses]string{
	decision.StatusUndecided: " ", decision.StatusAccepted: "✓", decision.StatusRejected: "✗", decision.StatusSkipped: "-",
	decision.StatusMixed: "~", decision.StatusDelivered: "=", decision.StatusPartlyDelivered: "≈",
}

func (l *Tree) styleOf(s decision.Status) lipgloss.Style {
	switch s {
	case decision.StatusAccepted:
		return l.Theme.Good
	case decision.StatusRejected:
		return l.Theme.Bad
	case decision.StatusMixed:
		return l.Theme.Live
	case decision.StatusDelivered, decision.StatusPartlyDelivered:
		return l.Theme.Faint
	default:
		return l.Theme.Plain
	}
}

// statusCounts are, for each file, how many files before it have each status: the status
// of a folder is found in constant time however many files it has.
type statusCounts [][decision.NumStatuses]int32

func countStatuses(files []*decision.File, draft *decision.Draft) statusCounts {
	counts := make(statusCounts, len(files)+1)
	for i, f := range files {
		counts[i+1] = counts[i]
		counts[i+1][f.Status(draft.Target())]++
	}
	return counts
}

// of returns the status that all files [from, to) share. If they differ, it returns
// StatusPartlyDelivered or StatusMixed.
func (c statusCounts) of(from, to int) decision.Status {
	var n [decision.NumStatuses]int32
	for s := range n {
		n[s] = c[to][s] - c[from][s]
		if int(n[s]) == to-from {
			return decision.Status(s)
		}
	}
	if n[decision.StatusUndecided]+n[decision.StatusDelivered]+n[decision.StatusPartlyDelivered] < int32(to-from) {
		return decision.StatusMixed
	}
	return decision.StatusPartlyDelivered
}
