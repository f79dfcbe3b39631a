package changes

import (
	"context"

	"aibox/review"
	"aibox/review/decision"

	tea "charm.land/bubbletea/v2"
)

const (
	maxHeld       = 400_000  // lines of all files in memory; beyond it, files shown longest ago are read again
	maxExpanded   = 32 << 20 // bytes of lines shown around the hunks of a file
	alignedAtOnce = 5000     // lines of a file that a key may wait for; longer files are aligned in the background
)

// loader reads files in the background. One request of each kind runs at a time: a user
// who holds a key down passes many files.
type loader struct {
	ctx   context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	set   *review.ChangeSet
	draft *decision.Draft
	files []*file

	reading, aligning, expanding bool
}

// newLoader makes the loader of the files of a draft. Its commands end with ctx.
func newLoader(ctx context.Context, set *review.ChangeSet, draft *decision.Draft, files []*file) loader {
	return loader{ctx: ctx, set: set, draft: draft, files: files}
}

// fileRead brings the hunks of a file.
type fileRead struct {
	file     int
	hunks    []review.Hunk
	oldLines int // of the version before
	err      error
}

// read reads the hunks of file i unless it has them.
func (l *loader) read(i int) tea.Cmd {
	f := l.files[i]
	if f.Loaded() || f.err != nil || l.reading {
		return nil
	}
	l.reading = true
	ctx, set, path := l.ctx, l.set, f.Change.Path
	return func() tea.Msg {
		msg := fileRead{file: i}
		msg.err = set.Files(ctx, func(d review.FileDiff) error {
			msg.hunks = d.Hunks
			return nil
		}, path)
		if msg.err == nil {
			_, msg.oldLines, msg.err = set.OldLines(ctx, path, 0)
		}
		return msg
	}
}

// store keeps the hunks of a file, and drops those of others when they are too many.
func (l *loader) store(msg fileRead, current int) {
	l.reading = false
	f := l.files[msg.file]
	if f.err = msg.err; f.err == nil {
		f.oldLines = msg.oldLines
		l.draft.Load(msg.file, msg.hunks)
		f.foldLong()
	}
	l.makeRoom(current)
}

// makeRoom unloads the files that were shown longest ago.
func (l *loader) makeRoom(current int) {
	held := 0
	for _, f := range l.files {
		if f.Loaded() {
			held += f.lines()
		}
	}
	for held > maxHeld {
		oldest := -1
		for i, f := range l.files {
			if f.Loaded() && i != current && (oldest < 0 || f.visited < l.files[oldest].visited) {
				oldest = i
			}
		}
		if oldest < 0 {
			return
		}
		held -= l.files[oldest].lines()
		l.unload(oldest)
	}
}

// unload drops the lines of file i, which are read again when they are needed.
func (l *loader) unload(i int) {
	l.draft.Unload(i)
	l.files[i].collapseGaps()
}

// fileAligned brings the aligned lines of a file.
type fileAligned struct {
	file     int
	revision int // of the file
	lines    [][][]pairs
}

// align aligns the lines of file i without their blanks unless that was done.
func (l *loader) align(i int) tea.Cmd {
	f := l.files[i]
	if f.aligned != nil || !f.Loaded() || l.aligning {
		return nil
	}
	l.aligning = true
	f.sync()
	msg, hunks, runs := fileAligned{file: i, revision: f.revision}, f.Hunks(), f.runs
	return func() tea.Msg {
		msg.lines = alignAll(hunks, runs)
		return msg
	}
}

// keepAligned keeps aligned lines unless the hunks have changed meanwhile.
func (l *loader) keepAligned(msg fileAligned) {
	l.aligning = false
	f := l.files[msg.file]
	f.sync()
	if f.revision == msg.revision {
		f.aligned = msg.lines
	}
}

// gapsRead brings lines of gaps.
type gapsRead struct {
	file  int
	asked []gapRange
	lines [][]review.Line
	err   error
}

// expand reads lines of gaps of file i. It drops the lines shown around the hunks of
// other files. full means that the file shows all it may.
func (l *loader) expand(i int, asked []gapRange) (cmd tea.Cmd, full bool) {
	f := l.files[i]
	room := maxExpanded - f.expandedBytes
	for _, other := range l.files {
		if other != f && other.expandedBytes > 0 {
			other.collapseGaps()
		}
	}
	if room <= 0 {
		return nil, true
	}
	l.expanding = true
	ctx, set, path, msg := l.ctx, l.set, f.Change.Path, gapsRead{file: i, asked: asked}
	return func() tea.Msg {
		var spans []review.Span
		for _, r := range msg.asked {
			spans = append(spans, r.Span)
		}
		msg.lines, _, msg.err = set.OldLines(ctx, path, room, spans...)
		return msg
	}, false
}

// keepGaps shows lines of gaps, and reports whether all of them could be read.
func (l *loader) keepGaps(msg gapsRead) (complete bool, err error) {
	l.expanding = false
	if msg.err != nil {
		return false, msg.err
	}
	complete = true
	f := l.files[msg.file]
	for i, r := range msg.asked {
		f.expand(r, msg.lines[i])
		complete = complete && len(msg.lines[i]) == r.To-r.From
	}
	return complete, nil
}
