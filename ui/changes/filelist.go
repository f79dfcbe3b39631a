package changes

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

// fileList is the tree of changed files, with what was decided about them.
type fileList struct {
	files   []*decision.File
	entries []entry
	folded  map[string]bool // folders
	cursor  cursor.Cursor
	height  int
	focused bool // keys move in the list
	theme   theme.Theme

	statuses statusCounts
	version  int // of the draft that statuses belong to
}

// setFiles sets the files, which must be in the order of decision.Draft.
func (l *fileList) setFiles(files []*decision.File) {
	l.files, l.folded = files, map[string]bool{}
	l.rebuild()
}

// resize sets the rows of the list.
func (l *fileList) resize(height int) {
	l.height = height
	l.cursor.Fit(len(l.entries), height)
}

// rebuild makes the lines again.
func (l *fileList) rebuild() {
	l.entries = entriesOf(l.files, l.folded)
	l.cursor.Fit(len(l.entries), l.height)
}

// entry returns the line at the cursor.
func (l *fileList) entry() (entry, bool) {
	at := l.cursor.At()
	if at >= len(l.entries) {
		return entry{}, false
	}
	return l.entries[at], true
}

// reveal moves the cursor to a file, and unfolds the folders it is in.
func (l *fileList) reveal(file int) {
	i := l.lineOf(file)
	if i < 0 {
		dir := l.files[file].Change.Path.Raw()
		for dir = path.Dir(dir); dir != "."; dir = path.Dir(dir) {
			delete(l.folded, dir+"/")
		}
		l.rebuild()
		i = l.lineOf(file)
	}
	l.cursor.Go(i)
}

// lineOf returns the line of a file, or -1. The lines are in the order of the files.
func (l *fileList) lineOf(file int) int {
	i, _ := slices.BinarySearchFunc(l.entries, file, func(e entry, file int) int {
		if !e.file && e.from <= file || e.from < file {
			return -1
		}
		return e.from - file
	})
	if i < len(l.entries) && l.entries[i].file && l.entries[i].from == file {
		return i
	}
	return -1
}

// toggle folds or unfolds a folder.
func (l *fileList) toggle(e entry) {
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

// outward folds the folder at the cursor, or goes to the one that holds the line.
func (l *fileList) outward() {
	e, ok := l.entry()
	if !ok {
		return
	}
	if e.folder != "" && !l.folded[e.folder] {
		l.toggle(e)
		return
	}
	for i := l.cursor.At() - 1; i >= 0; i-- {
		if around := l.entries[i]; !around.file && around.depth < max(1, e.depth) && around.from <= e.from && around.to >= e.to {
			l.cursor.Go(i)
			return
		}
	}
}

// View returns the window of the list. at is the current file.
func (l *fileList) View(draft *decision.Draft, at, width int) []string {
	if l.version != draft.Version() {
		l.statuses, l.version = countStatuses(l.files, draft), draft.Version()
	}
	out := make([]string, 0, l.height)
	from, to := l.cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, l.line(i, at, width))
	}
	return frame.Fill(out, l.height)
}

// line renders line i.
func (l *fileList) line(i, at, width int) string {
	e := l.entries[i]
	here := e.file && e.from == at
	if l.focused {
		here = i == l.cursor.At()
	}
	indent := strings.Repeat(" ", min(e.depth, 8))
	status := l.statuses.of(e.from, e.to)
	style := l.styleOf(status)
	var text string
	switch {
	case e.file:
		text = indent + l.files[e.from].Change.Kind.Letter() + " " + e.name
	case e.folder == "":
		style = l.theme.Title
		if e.name == riskyHeading {
			style = l.theme.Warn.Bold(true)
		}
		return style.Render(ansi.Truncate(cursor.Here(here)+e.name, width, "…"))
	default:
		style = l.theme.Title
		text = indent + e.name
		if l.folded[e.folder] {
			text += " … " + amount.Of(e.to-e.from, "file")
		}
	}
	text = ansi.Truncate(cursor.Here(here)+statusSigns[status]+" "+text, width, "…")
	if here {
		return l.theme.Selected.Render(text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))))
	}
	return style.Render(text)
}

// statusSigns are the signs of files and folders; their color says nothing more.
var statusSigns = [decision.NumStatuses]string{
	decision.StatusUndecided: " ", decision.StatusAccepted: "✓", decision.StatusRejected: "✗", decision.StatusSkipped: "-",
	decision.StatusMixed: "~", decision.StatusDelivered: "=", decision.StatusPartlyDelivered: "≈",
}

func (l *fileList) styleOf(s decision.Status) lipgloss.Style {
	switch s {
	case decision.StatusAccepted:
		return l.theme.Good
	case decision.StatusRejected:
		return l.theme.Bad
	case decision.StatusMixed:
		return l.theme.Live
	case decision.StatusDelivered, decision.StatusPartlyDelivered:
		return l.theme.Faint
	default:
		return l.theme.Plain
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

// of returns the status that all files from up to to have, else that they differ.
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
