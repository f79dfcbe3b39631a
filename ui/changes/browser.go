package changes

import (
	"context"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/changes/diff"
	"aibox/ui/changes/filetree"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// browser is the list of files beside the diff of the current one, with the search and
// the background reads for both. It changes no decision.
type browser struct {
	ctx   context.Context   //nolint:containedctx // commands outlive Update, and end with the screen
	set   *review.ChangeSet // nil until it is computed
	draft *decision.Draft
	keys  keys
	theme theme.Theme
	note  frame.Note

	list   filetree.Tree
	diff   diff.Pane
	search search
	loader diff.Loader
}

// setTheme changes the styles.
func (b *browser) setTheme(t theme.Theme) {
	b.theme, b.list.Theme, b.diff.Theme = t, t, t
	b.diff.Styles = diff.NewStyles(t)
}

// resize sets the columns of the screen and the rows of the body.
func (b *browser) resize(width, height int) {
	b.list.Resize(height)
	b.diff.Resize(width, height)
	b.search.resize(width)
}

// setDraft shows the files of a draft.
func (b *browser) setDraft(d *decision.Draft) {
	files, decisions := make([]*diff.File, d.Len()), make([]*decision.File, d.Len())
	for i := range files {
		decisions[i] = d.File(i)
		files[i] = diff.NewFile(d.File(i))
	}
	b.draft, b.diff.Draft, b.diff.Files = d, d, files
	b.loader = diff.NewLoader(b.ctx, b.set, d, files)
	b.list.SetFiles(decisions)
}

// load requests the missing data of the current file.
func (b *browser) load() tea.Cmd {
	if b.diff.File() == nil {
		return nil
	}
	read := b.loader.Read(b.diff.At)
	if !b.diff.Style.Blank {
		return read
	}
	return tea.Batch(read, b.loader.Align(b.diff.At))
}

// showRead shows the hunks of a file. The user may have moved on to another one.
func (b *browser) showRead(msg diff.FileRead) tea.Cmd {
	b.loader.Store(msg, b.diff.At)
	if msg.File == b.diff.At {
		b.diff.Arrange()
		b.diff.ToHunk(0)
		b.diff.Scroll()
		if b.search.awaited && b.diff.File().Err == nil {
			return b.toHit()
		}
	}
	return b.load()
}

// expand reads more lines of the gaps at the cursor: a few, or all.
func (b *browser) expand(all bool) tea.Cmd {
	if b.loader.Expanding {
		return nil
	}
	b.diff.ShowUnchanged()
	asked := b.diff.File().HiddenAt(b.diff.Current(), all)
	if len(asked) == 0 {
		if all && b.diff.Collapse() {
			return b.searchAgain()
		}
		b.note.Say("no line is hidden here", nil)
		return nil
	}
	cmd, full := b.loader.Expand(b.diff.At, asked)
	if full {
		b.note.Say("no more of this file can be shown", nil)
	}
	return cmd
}

// showGaps shows the lines of gaps.
func (b *browser) showGaps(msg diff.GapsRead) tea.Cmd {
	complete, err := b.loader.KeepGaps(msg)
	switch {
	case err != nil:
		b.note.Say("", err)
		return nil
	case !complete:
		b.note.Say("no more of this file can be shown", nil)
	}
	if msg.File == b.diff.At {
		b.diff.ShowExpanded()
	}
	return b.searchAgain()
}

// searchAgain repeats the search, because more or fewer lines are shown. The current hit stays. The
// lines may be those of another file than the searched one: showing them can hide lines of that one.
func (b *browser) searchAgain() tea.Cmd {
	s := &b.search
	if s.match == nil {
		return nil
	}
	s.again = s.again || !s.running
	s.running = true
	return s.run(b.ctx, b.set, b.diff.Files)
}

// goTo shows a file.
func (b *browser) goTo(i int) {
	b.diff.Show(i)
	b.list.Reveal(i)
}

// focusList moves the focus to the list of files, or to the diff.
func (b *browser) focusList(list bool) {
	b.list.Focused, b.diff.Focused = list, !list
	if b.diff.File() != nil {
		b.list.Reveal(b.diff.At)
	}
}

// jump handles a key that goes to another hunk or file.
func (b *browser) jump(msg tea.KeyPressMsg) bool {
	k, at, files := b.keys, b.diff.At, b.draft.Len()
	switch {
	case key.Matches(msg, k.nextHunk):
		if !b.diff.NextHunk(1) && at+1 < files {
			b.goTo(at + 1)
		}
	case key.Matches(msg, k.lastHunk):
		if !b.diff.NextHunk(-1) && at > 0 {
			b.goTo(at - 1)
		}
	case key.Matches(msg, k.nextFile):
		b.goTo((at + 1) % files)
	case key.Matches(msg, k.lastFile):
		b.goTo((at + files - 1) % files)
	case key.Matches(msg, k.nextOpen):
		if next := b.draft.NextUndecided(at); next >= 0 {
			b.goTo(next)
		} else {
			b.note.Say("everything is decided; enter accepts it", nil)
		}
	default:
		return false
	}
	b.diff.Scroll()
	return true
}

// enter shows the file of a line of the list, or folds the folder.
func (b *browser) enter(e filetree.Entry) tea.Cmd {
	if !e.File {
		b.list.Toggle(e)
		return nil
	}
	b.focusList(false)
	b.goTo(e.From)
	return b.load()
}

// updateSearch passes a key or a paste to the search field, and runs a search that starts.
func (b *browser) updateSearch(msg tea.Msg) tea.Cmd {
	begins := b.search.Update(msg)
	b.diff.Match = b.search.match
	if !begins {
		return nil
	}
	b.search.in = b.diff.File()
	return b.search.run(b.ctx, b.set, b.diff.Files)
}

// endSearch drops the search and its marks.
func (b *browser) endSearch() {
	b.search.end()
	b.diff.Match = nil
}

// nextHit goes n hits further.
func (b *browser) nextHit(n int) tea.Cmd {
	if !b.search.step(n) {
		return nil
	}
	return b.toHit()
}

// showHits goes to the first hit after the cursor.
func (b *browser) showHits(msg searched) tea.Cmd {
	var current hit
	again, awaited := b.search.again && len(b.search.hits) > 0, b.search.awaited
	if again {
		current = b.search.hit()
	}
	note, err := b.search.take(msg, b.diff.Files, b.diff.File())
	b.diff.Match = b.search.match
	if note != "" || err != nil {
		b.note.Say(note, err)
		return nil
	}
	if again {
		b.search.stayAt(current, awaited)
		return nil
	}
	old, fresh := b.diff.File().Layout.Above(b.diff.Row)
	b.search.startAfter(func(h hit) bool {
		at := b.draft.Find(h.path)
		return at > b.diff.At || at == b.diff.At && (h.old && h.line > old || !h.old && h.line > fresh)
	})
	return b.toHit()
}

// toHit goes to the current hit, after its file is read.
func (b *browser) toHit() tea.Cmd {
	h := b.search.hit()
	if i := b.draft.Find(h.path); i >= 0 && i != b.diff.At {
		b.goTo(i)
	}
	b.search.awaited = !b.diff.File().Loaded()
	switch {
	case b.search.awaited:
	case h.line == 0:
		b.diff.ToRow(0)
	default:
		b.diff.Reveal(h.line, h.old)
	}
	return b.load()
}

// View returns the list and the diff, side by side.
func (b *browser) View() []string {
	if b.draft == nil {
		return frame.Panes(b.theme, make([]string, b.diff.Height), make([]string, b.diff.Height), b.diff.ListWidth())
	}
	width := b.diff.ListWidth()
	return frame.Panes(b.theme, b.list.View(b.draft, b.diff.At, width), b.diff.View(), width)
}

// clickDiff goes to a row of the window, and shows lines that it hides.
func (b *browser) clickDiff(row int) tea.Cmd {
	b.focusList(false)
	at := b.diff.RowAt(row)
	if at < 0 {
		return nil
	}
	b.diff.ToRow(at)
	if b.diff.Current().Kind == diff.GapRow {
		return b.expand(false)
	}
	return nil
}

// clickEntry shows a file, or folds a folder. The focus does not move.
func (b *browser) clickEntry(e filetree.Entry) tea.Cmd {
	if !e.File {
		b.list.Toggle(e)
		return nil
	}
	b.goTo(e.From)
	return b.load()
}
