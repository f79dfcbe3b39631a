package changes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// maxHits bounds what is kept of a search.
const maxHits = 10_000

// hit is a line with what was searched for: of the agent's version, or of the old one
// where the line is gone.
type hit struct {
	path review.Path
	line int
	old  bool
}

// search is what a person looks for in the lines of the changes.
type search struct {
	field  *textinput.Model // while it is typed
	all    bool             // in all files, not the one a person is at
	text   string           // "" means that nothing is looked for
	match  *regexp.Regexp
	serial int // of the search whose hits are awaited
	asked  bool
	hits   []hit
	more   bool // than are kept
	at     int  // the hit a person is at
}

// matcher finds text as it stands; without capitals in it, in capitals, too.
func matcher(text string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(text)
	if !strings.ContainsFunc(text, unicode.IsUpper) {
		pattern = "(?i)" + pattern
	}
	return regexp.MustCompile(pattern)
}

// beginSearch opens the field.
func (m *Model) beginSearch() {
	field := keymap.Field("")
	field.CharLimit = 200
	field.SetValue(m.search.text)
	field.CursorEnd()
	field.Focus()
	m.search.field = &field
	m.resizeSearch()
}

func (m *Model) resizeSearch() {
	if m.search.field != nil {
		m.search.field.SetWidth(max(5, m.width-45))
	}
}

// searching is a key while the field is open.
func (m *Model) searching(msg tea.KeyPressMsg) tea.Cmd {
	s := &m.search
	switch msg.String() {
	case "esc", "ctrl+c":
		s.field = nil
		return nil
	case "tab":
		s.all = !s.all
		return nil
	case "enter":
		text := s.field.Value()
		*s = search{all: s.all, serial: s.serial + 1}
		if strings.TrimSpace(text) == "" {
			return nil
		}
		s.text, s.match, s.asked = text, matcher(text), true
		return m.seek()
	}
	var cmd tea.Cmd
	*s.field, cmd = s.field.Update(msg)
	return cmd
}

// found brings the hits of a search.
type found struct {
	sent
	serial int
	hits   []hit
	more   bool
	err    error
}

// errEnough ends the reading of files when enough is found.
var errEnough = errors.New("enough is found")

// seek looks for the text, in the order of the tree.
func (m *Model) seek() tea.Cmd {
	ctx, set, msg, match := m.ctx, m.set, found{sent: sent{m}, serial: m.search.serial}, m.search.match
	if f := m.file(); !m.search.all && f.loaded {
		path, hunks := f.change.Path, f.around()
		return func() tea.Msg {
			msg.hits, msg.more = look(msg.hits, path, hunks, match)
			return msg
		}
	}
	var paths []review.Path
	if !m.search.all {
		paths = []review.Path{m.file().change.Path}
	}
	around := map[review.Path][]review.Hunk{} // of files that show more than their hunks
	for _, f := range m.files {
		if f.unfolded > 0 {
			around[f.change.Path] = f.around()
		}
	}
	return func() tea.Msg {
		err := set.Files(ctx, func(d review.FileDiff) error {
			if more, ok := around[d.Change.Path]; ok {
				d.Hunks = more
			}
			msg.hits, msg.more = look(msg.hits, d.Change.Path, d.Hunks, match)
			if msg.more {
				return errEnough
			}
			return ctx.Err()
		}, paths...)
		if !errors.Is(err, errEnough) {
			msg.err = err
		}
		return msg
	}
}

// look adds the hits in hunks; more says that there are more than are kept.
func look(hits []hit, path review.Path, hunks []review.Hunk, match *regexp.Regexp) (_ []hit, more bool) {
	for i := range hunks {
		h := &hunks[i]
		old, fresh := h.OldStart, h.NewStart
		for _, line := range h.Lines {
			if match.Match(line.Text[:min(len(line.Text), maxShown)]) {
				if len(hits) == maxHits {
					return hits, true
				}
				at := hit{path, fresh, false}
				if line.Op == '-' {
					at = hit{path, old, true}
				}
				hits = append(hits, at)
			}
			if line.Op != '+' {
				old++
			}
			if line.Op != '-' {
				fresh++
			}
		}
	}
	return hits, false
}

// gather takes the hits of a search and goes to the first behind where a person is.
func (m *Model) gather(msg found) tea.Cmd {
	s := &m.search
	if msg.serial != s.serial {
		return nil
	}
	s.asked, s.hits, s.more = false, m.inOrder(msg.hits), msg.more
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	if len(s.hits) == 0 {
		where := "in this file"
		if s.all {
			where = "in any file"
		}
		m.note.Say(fmt.Sprintf("nothing says %s %s", termtext.Escape(s.text), where), nil)
		s.text, s.match = "", nil
		return nil
	}
	old, fresh := m.file().layout.above(m.row)
	next := slices.IndexFunc(s.hits, func(h hit) bool {
		at := m.number(h.path)
		return at > m.at || at == m.at && (h.old && h.line > old || !h.old && h.line > fresh)
	})
	s.at = max(next, 0)
	return m.toHit()
}

// inOrder puts the hits into the order of the tree.
func (m *Model) inOrder(hits []hit) []hit {
	byPath := map[review.Path][]hit{}
	for _, h := range hits {
		byPath[h.path] = append(byPath[h.path], h)
	}
	out := make([]hit, 0, len(hits))
	for _, f := range m.files {
		out = append(out, byPath[f.change.Path]...)
	}
	return out
}

// above is the numbers of the last lines of each version above a row; 0 is none.
func (l *layout) above(row int) (old, fresh int) {
	for row > 0 && (old == 0 || fresh == 0) {
		s := l.sections[l.section(row-1)]
		last := s.row(row - 1 - s.at)
		if old == 0 {
			old = int(last.old)
		}
		if fresh == 0 {
			fresh = int(last.new)
		}
		row = s.at
	}
	return old, fresh
}

// number is the place of a file in the tree.
func (m *Model) number(path review.Path) int {
	i, ok := m.byPath[path]
	if !ok {
		return -1
	}
	return i
}

// nextHit goes n hits further, from the last to the first.
func (m *Model) nextHit(n int) tea.Cmd {
	s := &m.search
	if len(s.hits) == 0 {
		return nil
	}
	s.at = (s.at + n + len(s.hits)) % len(s.hits)
	return m.toHit()
}

// toHit goes to the hit a person wants, or asks for its file first.
func (m *Model) toHit() tea.Cmd {
	h := m.search.hits[m.search.at]
	if i := m.number(h.path); i >= 0 && i != m.at {
		m.goTo(i)
	}
	f := m.file()
	if !f.loaded {
		m.wanted = &h
		return m.load()
	}
	m.wanted = nil
	row := f.rowOf(h)
	if row < 0 {
		m.uncover(h)
		row = f.rowOf(h)
	}
	if row >= 0 {
		m.row = row
	}
	m.scroll()
	return m.load()
}

// uncover shows the lines of the hunk with a hit.
func (m *Model) uncover(h hit) {
	f := m.file()
	for i := range f.hunks {
		if k := &f.hunks[i]; h.within(k) && f.folded[k.ID] {
			delete(f.folded, k.ID)
			f.layout.made = -1
		}
	}
	m.unbrief()
}

// within reports whether the hit's line is one of the hunk's.
func (h hit) within(k *review.Hunk) bool {
	if h.old {
		return h.line >= k.OldStart && h.line < k.OldStart+k.OldLines
	}
	return h.line >= k.NewStart && h.line < k.NewStart+k.NewLines
}

// rowOf is the row that shows a hit, or -1.
func (f *file) rowOf(h hit) int {
	for _, s := range f.layout.sections {
		r, first := s.first, s.first.new
		if h.old {
			first = r.old
		}
		into := h.line - int(first)
		if first == 0 || into < 0 || into >= s.n || h.old && r.kind == lineRow && r.new > 0 {
			continue
		}
		return s.at + into
	}
	return -1
}

// endSearch stops looking.
func (m *Model) endSearch() {
	m.search = search{all: m.search.all, serial: m.search.serial + 1}
	m.wanted = nil
}

// hitsIn are the parts of a line that say what is searched for.
func (s *search) hitsIn(text []byte) []span {
	if s.match == nil {
		return nil
	}
	var out []span
	for _, at := range s.match.FindAllIndex(text[:min(len(text), maxShown)], 50) {
		out = append(out, span{at[0], at[1]})
	}
	return out
}

// view is the field, or where a person is among the hits.
func (s *search) view(m *Model) string {
	where := "this file"
	if s.all {
		where = "all files"
	}
	switch {
	case s.field != nil:
		other := map[bool]string{false: "all files", true: "this file alone"}[s.all]
		return m.theme.Title.Render("search "+where+": ") + s.field.View() + m.theme.Faint.Render("tab: "+other)
	case s.asked:
		return m.theme.Faint.Render("searching " + where + "…")
	case s.text != "":
		more := ""
		if s.more {
			more = " or more"
		}
		return fmt.Sprintf("%s: %d of %d%s in %s", termtext.Escape(s.text), s.at+1, len(s.hits), more, where)
	default:
		return ""
	}
}

// searchKeys are what counts while the field is open.
func searchKeys() keymap.Group {
	return keymap.Group{Title: "Search", Keys: []binding{
		keymap.Bind("search", "enter"), keymap.Bind("this file or all files", "tab"), keymap.Bind("back", "esc"),
	}}
}
