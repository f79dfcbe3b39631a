package diff

import (
	"context"

	"aibox/review"
	"aibox/review/decision"

	tea "charm.land/bubbletea/v2"
)

const (
	maxHeld       = 400_000  // lines of all files in memory; beyond it, files shown longest ago are read again
	MaxExpanded   = 32 << 20 // bytes of lines shown around the hunks of a file
	AlignedAtOnce = 5000     // lines of a file that a key may wait for; longer files are aligned in the background
)

// Loader reads files in the background. One request of each kind runs at a time, because a user who
// holds a key down passes many files.
type Loader struct {
	ctx   context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	set   *review.ChangeSet
	draft *decision.Draft
	files []*File

	reading, Aligning, Expanding bool
}

// NewLoader makes the loader of the files of a draft. Its commands end with ctx.
func NewLoader(ctx context.Context, set *review.ChangeSet, draft *decision.Draft, files []*File) Loader {
	return Loader{ctx: ctx, set: set, draft: draft, files: files}
}

// FileRead brings the hunks of a file.
type FileRead struct {
	File     int
	hunks    []review.Hunk
	oldLines int // of the version before
	err      error
}

// Read reads the hunks of file i unless it has them.
func (l *Loader) Read(i int) tea.Cmd {
	f := l.files[i]
	if f.Loaded() || f.Err != nil || l.reading {
		return nil
	}
	l.reading = true
	ctx, set, path := l.ctx, l.set, f.Change.Path
	return func() tea.Msg {
		msg := FileRead{File: i}
		msg.err = set.Files(ctx, func(d review.FileDiff) error {
			msg.hunks = d.Shown()
			return nil
		}, path)
		if msg.err == nil {
			_, msg.oldLines, msg.err = set.OldLines(ctx, path, 0)
		}
		return msg
	}
}

// Store keeps the hunks of a file, and drops those of others when they are too many.
func (l *Loader) Store(msg FileRead, current int) {
	l.reading = false
	f := l.files[msg.File]
	if f.Err = msg.err; f.Err == nil {
		f.oldLines = msg.oldLines
		l.draft.Load(msg.File, msg.hunks)
		f.foldLong()
	}
	l.makeRoom(current)
}

// makeRoom unloads the files that were shown longest ago.
func (l *Loader) makeRoom(current int) {
	held := 0
	for _, f := range l.files {
		if f.Loaded() {
			held += f.Lines()
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
		held -= l.files[oldest].Lines()
		l.Unload(oldest)
	}
}

// Unload drops the lines of file i, which are read again when they are needed.
func (l *Loader) Unload(i int) {
	l.draft.Unload(i)
	l.files[i].collapseGaps()
}

// FileAligned brings the aligned lines of a file.
type FileAligned struct {
	File     int
	Revision int // of the file
	lines    [][][]pairs
}

// Align aligns the lines of file i without their blanks unless they are aligned already.
func (l *Loader) Align(i int) tea.Cmd {
	f := l.files[i]
	if f.Aligned != nil || !f.Loaded() || l.Aligning {
		return nil
	}
	l.Aligning = true
	f.Sync()
	msg, hunks, runs := FileAligned{File: i, Revision: f.Revision}, f.Hunks(), f.runs
	return func() tea.Msg {
		msg.lines = alignAll(hunks, runs)
		return msg
	}
}

// KeepAligned keeps aligned lines unless the hunks have changed meanwhile.
func (l *Loader) KeepAligned(msg FileAligned) {
	l.Aligning = false
	f := l.files[msg.File]
	f.Sync()
	if f.Revision == msg.Revision {
		f.Aligned = msg.lines
	}
}

// GapsRead brings lines of gaps.
type GapsRead struct {
	File  int
	asked []gapRange
	lines [][]review.Line
	err   error
}

// Expand reads lines of gaps of file i. It drops the lines shown around the hunks of other files.
// full means that the file already shows the maximum.
func (l *Loader) Expand(i int, asked []gapRange) (cmd tea.Cmd, full bool) {
	f := l.files[i]
	room := MaxExpanded - f.ExpandedBytes
	for _, other := range l.files {
		if other != f && other.ExpandedBytes > 0 {
			other.collapseGaps()
		}
	}
	if room <= 0 {
		return nil, true
	}
	l.Expanding = true
	ctx, set, path, msg := l.ctx, l.set, f.Change.Path, GapsRead{File: i, asked: asked}
	return func() tea.Msg {
		var spans []review.Span
		for _, r := range msg.asked {
			spans = append(spans, r.Span)
		}
		msg.lines, _, msg.err = set.OldLines(ctx, path, room, spans...)
		return msg
	}, false
}

// KeepGaps shows lines of gaps, and reports whether all of them could be read.
func (l *Loader) KeepGaps(msg GapsRead) (complete bool, err error) {
	l.Expanding = false
	if msg.err != nil {
		return false, msg.err
	}
	complete = true
	f := l.files[msg.File]
	for i, r := range msg.asked {
		f.expand(r, msg.lines[i])
		complete = complete && len(msg.lines[i]) == r.To-r.From
	}
	return complete, nil
}
