package changes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/changes/diff"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// maxHits is how many hits of a search are kept.
const maxHits = 10_000

// hit is a matching line: of the agent's version, or of the old one when it was deleted.
// Line 0 is the name of the file.
type hit struct {
	path review.Path
	line int
	old  bool
}

// search looks for a text in the shown lines of one file, or in those of all files and in
// their names.
type search struct {
	field   *textinput.Model // while it is typed; nil otherwise
	all     bool             // in all files
	wasAll  bool             // all before the field was opened
	in      *diff.File       // the file that is searched, unless all are
	text    string           // empty when there is no search
	match   *regexp.Regexp
	running bool
	hits    []hit // in the order of the files
	names   int   // how many of them are file names
	more    bool  // there are more hits than are kept
	at      int   // the current hit
	awaited bool  // the file of the current hit is being read
	again   bool  // it runs again, because other lines are shown
	answers page.Latest
}

// matcher finds text literally; a text without capitals matches both cases.
func matcher(text string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(text)
	if !strings.ContainsFunc(text, unicode.IsUpper) {
		pattern = "(?i)" + pattern
	}
	return regexp.MustCompile(pattern)
}

// open shows the field, with the text of the last search.
func (s *search) open(width int) {
	field := keymap.Field("")
	field.CharLimit = 200
	field.SetValue(s.text)
	field.CursorEnd()
	field.Focus()
	s.field, s.wasAll = &field, s.all
	s.resize(width)
}

func (s *search) resize(width int) {
	if s.field != nil {
		s.field.SetWidth(max(5, width-45))
	}
}

// typing reports whether keys are text for the field.
func (s *search) typing() bool { return s.field != nil }

// Update handles a key or a paste while the field is open. It reports whether a search
// begins.
func (s *search) Update(msg tea.Msg) (begins bool) {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "esc", "ctrl+c":
			s.field, s.all = nil, s.wasAll
			return false
		case "tab":
			s.all = !s.all
			return false
		case "enter":
			text := s.field.Value()
			s.end()
			if strings.TrimSpace(text) != "" {
				s.text, s.match, s.running = text, matcher(text), true
			}
			return s.running
		}
	}
	*s.field, _ = s.field.Update(msg)
	return false
}

// end drops the search and its hits.
func (s *search) end() {
	s.answers.Cancel()
	s.field, s.text, s.match, s.running = nil, "", nil, false
	s.in, s.hits, s.names, s.more, s.at, s.awaited, s.again = nil, nil, 0, false, 0, false, false
}

// searched brings the hits of a search.
type searched struct {
	hits []hit
	more bool
	err  error
}

// errTooMany ends the reading of files when enough hits are found.
var errTooMany = errors.New("there are too many hits")

// run looks for the text in the searched file or in all files.
func (s *search) run(ctx context.Context, set *review.ChangeSet, files []*diff.File) tea.Cmd {
	match, shown := s.match, map[review.Path][]review.Hunk{}
	if !s.all && s.in.Loaded() {
		path, hunks := s.in.Change.Path, s.in.ShownLines()
		return s.answers.Replace(func() tea.Msg {
			var msg searched
			msg.hits, msg.more = appendHits(nil, path, hunks, match)
			return msg
		})
	}
	var paths, names []review.Path
	if !s.all {
		paths = []review.Path{s.in.Change.Path}
	}
	for _, f := range files {
		if s.all {
			names = append(names, f.Change.Path)
		}
		if f.ExpandedBytes > 0 {
			shown[f.Change.Path] = f.ShownLines()
		}
	}
	return s.answers.Replace(func() tea.Msg {
		msg := searched{hits: matchingNames(names, match)}
		err := set.Files(ctx, func(d review.FileDiff) error {
			hunks := d.Shown()
			if more, ok := shown[d.Change.Path]; ok {
				hunks = more
			}
			msg.hits, msg.more = appendHits(msg.hits, d.Change.Path, hunks, match)
			if msg.more {
				return errTooMany
			}
			return ctx.Err()
		}, paths...)
		if !errors.Is(err, errTooMany) {
			msg.err = err
		}
		return msg
	})
}

// matchingNames returns a hit for each name that matches as it is shown.
func matchingNames(names []review.Path, match *regexp.Regexp) []hit {
	var hits []hit
	for _, path := range names {
		if match.MatchString(path.String()) && len(hits) < maxHits {
			hits = append(hits, hit{path: path})
		}
	}
	return hits
}

// appendHits appends the hits in hunks. more means that there are more than are kept.
func appendHits(hits []hit, path review.Path, hunks []review.Hunk, match *regexp.Regexp) (_ []hit, more bool) {
	matches := func(line []byte) bool { return match.Match(line[:min(len(line), diff.MaxShown)]) }
	for h := range decision.Search(hunks, matches) {
		if len(hits) == maxHits {
			return hits, true
		}
		hits = append(hits, hit{path, h.Line, h.Old})
	}
	return hits, false
}

// take keeps the hits, in the order of the files, and makes the first one current. It returns an
// error or a note when there is nothing to go to. After an error, the search keeps its earlier hits.
func (s *search) take(msg searched, files []*diff.File, shown *diff.File) (note string, err error) {
	again, where := s.again, "any file"
	if !s.all {
		where = s.where(shown)
	}
	s.running, s.again = false, false
	if msg.err != nil {
		if len(s.hits) == 0 {
			s.text, s.match = "", nil
		}
		return "", msg.err
	}
	s.hits, s.names, s.more, s.at, s.awaited = inFileOrder(msg.hits, files), 0, msg.more, 0, false
	for _, h := range s.hits {
		if h.line == 0 {
			s.names++
		}
	}
	if len(s.hits) > 0 {
		return "", nil
	}
	note = fmt.Sprintf("no match for %s in %s", termtext.Escape(s.text), where)
	if again {
		note = fmt.Sprintf("no line with %s is shown anymore", termtext.Escape(s.text))
	}
	s.text, s.match = "", nil
	return note, nil
}

// inFileOrder puts hits into the order of the files.
func inFileOrder(hits []hit, files []*diff.File) []hit {
	byPath := map[review.Path][]hit{}
	for _, h := range hits {
		byPath[h.path] = append(byPath[h.path], h)
	}
	out := make([]hit, 0, len(hits))
	for _, f := range files {
		out = append(out, byPath[f.Change.Path]...)
	}
	return out
}

// stayAt makes a hit current again, if the search still has it. awaited means that the hit's file is
// being read.
func (s *search) stayAt(h hit, awaited bool) {
	s.at = max(0, slices.Index(s.hits, h))
	s.awaited = awaited && s.hit() == h
}

// startAfter makes the first hit current that comes after a position.
func (s *search) startAfter(after func(hit) bool) { s.at = max(0, slices.IndexFunc(s.hits, after)) }

// hit returns the current hit.
func (s *search) hit() hit { return s.hits[s.at] }

// step goes n hits further, around the ends, and reports whether there is any hit.
func (s *search) step(n int) bool {
	if len(s.hits) == 0 {
		return false
	}
	s.at = (s.at + n + len(s.hits)) % len(s.hits)
	return true
}

// where says which files are searched, or will be after the text is typed, while a file is shown.
func (s *search) where(shown *diff.File) string {
	switch {
	case s.all:
		return "all files"
	case s.field == nil && s.in != shown:
		return s.in.Change.Path.String()
	default:
		return "this file"
	}
}

// View returns the field, or which hit is the current one, while a file is shown.
func (s *search) View(t theme.Theme, shown *diff.File) string {
	switch {
	case s.field != nil:
		other := map[bool]string{false: "all files", true: "this file only"}[s.all]
		return t.Title.Render("search "+s.where(shown)+": ") + s.field.View() + t.Faint.Render("tab: "+other)
	case s.running:
		return t.Faint.Render("searching " + s.where(shown) + "…")
	case s.text != "":
		more := ""
		if s.more {
			more = " or more"
		}
		names := ""
		if s.names > 0 {
			names = " (" + amount.Of(s.names, "file name") + ")"
		}
		return fmt.Sprintf("%s: %d of %d%s in %s%s", termtext.Escape(s.text), s.at+1, len(s.hits), more, s.where(shown), names)
	default:
		return ""
	}
}

// searchKeys returns the keys while the field is open.
func searchKeys() keymap.Group {
	return keymap.Group{Title: "Search", Keys: []binding{
		keymap.Bind("search", "enter"), keymap.Bind("this file or all files", "tab"), keymap.Bind("back", "esc"),
	}}
}
