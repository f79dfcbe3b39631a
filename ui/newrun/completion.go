package newrun

import (
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// maxMatches bounds the files that are offered.
const maxMatches = 50

// completion offers the files that match the name after an @.
type completion struct {
	files     fileNames
	matches   []string // nil when no file is being named
	cursor    cursor.Cursor
	dismissed string // the name, with its @, for which the user closed the list
}

// open reports whether files are offered.
func (c *completion) open() bool { return len(c.matches) > 0 }

// search finds the files for a name. naming is false when no file is being named.
func (c *completion) search(name string, naming bool) {
	c.matches = nil
	if !naming || c.dismissed == "@"+name {
		return
	}
	c.dismissed = ""
	c.matches = c.files.find(name)
	c.cursor.Go(0)
}

// press handles a key. It returns the file that was taken, if any, and whether the key was
// one of the list's. The caller sets dismissed when the list was closed.
func (c *completion) press(msg tea.KeyPressMsg) (name string, taken bool) {
	switch msg.String() {
	case "up", "ctrl+p":
		c.cursor.Go(c.cursor.At() - 1)
	case "down", "ctrl+n":
		c.cursor.Go(c.cursor.At() + 1)
	case "enter", "tab":
		return c.matches[c.cursor.At()], true
	case "esc":
		c.matches = nil
	default:
		return "", false
	}
	return "", true
}

// click returns the file at a row of the list.
func (c *completion) click(row int) (name string, ok bool) {
	if !c.cursor.Click(row) {
		return "", false
	}
	return c.matches[c.cursor.At()], true
}

func (c *completion) view(t theme.Theme, width int) []string {
	var out []string
	from, to := c.cursor.Window()
	for i := from; i < to && i < len(c.matches); i++ {
		line := "  @" + c.matches[i]
		if i == c.cursor.At() {
			line = t.Selected.Render(cursor.Mark + " @" + c.matches[i])
		}
		out = append(out, line)
	}
	if position := c.cursor.Position(); position != "" && len(out) > 0 {
		out[0] = frame.Ends(width, out[0], t.Faint.Render(position))
	}
	return out
}

// fileNames are names of files, and the same in lower case, since each key searches them.
type fileNames struct{ raw, lower []string }

// newFileNames leaves out the names that cannot be shown unescaped.
func newFileNames(files []string) fileNames {
	n := fileNames{raw: make([]string, 0, len(files)), lower: make([]string, 0, len(files))}
	for _, name := range files {
		if termtext.Escape(name) == name {
			n.raw, n.lower = append(n.raw, name), append(n.lower, strings.ToLower(name))
		}
	}
	return n
}

// find returns the names that contain query: first those whose last element begins with
// it, then those whose last element contains it.
func (n fileNames) find(query string) []string {
	query = strings.ToLower(query)
	var ranks [3][]string
	for i, name := range n.lower {
		if !strings.Contains(name, query) {
			continue
		}
		rank, base := 2, name[strings.LastIndexByte(name, '/')+1:]
		switch {
		case strings.HasPrefix(base, query):
			rank = 0
		case strings.Contains(base, query):
			rank = 1
		}
		if len(ranks[rank]) < maxMatches {
			ranks[rank] = append(ranks[rank], n.raw[i])
		}
		if len(ranks[0]) == maxMatches {
			break
		}
	}
	found := slices.Concat(ranks[0], ranks[1], ranks[2])
	return found[:min(len(found), maxMatches)]
}

// maxTop bounds the suggestions for paths.
const maxTop = 1000

// top returns the files and folders at the top of the repository.
func (n fileNames) top() []string {
	var found []string
	seen := map[string]bool{}
	for _, name := range n.raw {
		first, _, _ := strings.Cut(name, "/")
		if !seen[first] && len(found) < maxTop {
			seen[first] = true
			found = append(found, first)
		}
	}
	return found
}
