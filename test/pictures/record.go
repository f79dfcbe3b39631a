package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"aibox/test/terminal"
)

// The pace of a recording. Times are not those of the machine that records, so that a slow
// one makes the same recording as a fast one.
const (
	perKey   = 60 * time.Millisecond
	perWait  = 150 * time.Millisecond // a frame of a screen that changes by itself
	mostWait = 12                     // such frames of one action
	pressed  = 700 * time.Millisecond // before a key is pressed again
)

// walkSize fits the width of a README.
var walkSize = terminal.Size{Rows: 30, Cols: 100}

// action is one step of a recording.
type action struct {
	mark  string        // the chapter that begins here, if any
	keys  []string      // by name; see terminal.Key
	text  string        // typed after the keys, one character at a time
	shows string        // a regular expression for the resulting screen
	again bool          // press the keys again until the screen shows it
	hold  time.Duration // how long that screen is shown
}

// walk is the recording for the README: from the shell over a new run and its review to a
// branch.
func walk() []action {
	const look, read = 900 * time.Millisecond, 2200 * time.Millisecond
	return []action{
		{mark: "start", text: "aibox", shows: `\$ aibox`, hold: look},
		{keys: []string{"enter"}, shows: `1 ✓ this machine`, hold: read},
		{mark: "new run", keys: []string{"n"}, shows: `(?s)agent:.*codex +ready`, hold: look},
		{text: "codex", shows: `▸ +codex`, hold: look},
		{keys: []string{"enter"}, shows: `(?i)hat (is|should) the agent`, hold: look},
		{text: "The total of a cart is wrong. Fix it.", shows: `Fix it\.`, hold: look},
		{keys: []string{"ctrl+s"}, shows: `nothing (comes back|changes)`, hold: read},
		{mark: "watch", keys: []string{"enter"}, shows: `▲ to review`, hold: read},
		{mark: "review", keys: []string{"r"}, shows: `undecided`, hold: read},
		{keys: []string{"tab"}, shows: `undecided`, hold: look},
		{keys: []string{"tab"}, shows: `undecided`, hold: look},
		{keys: []string{"tab"}, shows: `(?i)quantity`, hold: look},
		{keys: []string{"]"}, shows: `▸ \[ \] @@ -22`, hold: read},
		{keys: []string{"y"}, shows: `4 undecided`, hold: read},
		{mark: "accept", keys: []string{"enter"}, shows: `(?i)accept (in)?to branch`, hold: read},
		{keys: []string{"ctrl+s"}, shows: `accepted on branch`, again: true, hold: read},
		{mark: "branch", keys: []string{"q"}, shows: `1 session`, again: true, hold: look},
		{keys: []string{"q"}, shows: `\$\s*$`, hold: look},
		{text: "git log --all --oneline --stat -1", shows: `stat -1`, hold: look},
		{keys: []string{"enter"}, shows: `1 file changed`, hold: 2 * read},
	}
}

// recorder records the screens of a terminal.
type recorder struct {
	on     *terminal.Terminal
	mask   *mask
	frames []frame
}

// recordWalk records the walk in an empty world, in a terminal of these colors.
func recordWalk(ctx context.Context, w *world, p palette) ([]frame, error) {
	if err := w.fillForWalk(ctx); err != nil {
		return nil, err
	}
	env := append(slices.Clone(w.env), "PS1=\\w $ ", "PATH="+filepath.Dir(w.aibox)+":"+os.Getenv("PATH"), "GIT_PAGER=cat")
	on, err := open(ctx, walkSize, p, w.repo("shop"), env, "bash", "--norc", "--noprofile")
	if err != nil {
		return nil, err
	}
	defer on.Close()
	r := &recorder{on: on, mask: newMask(w)}
	if err := await(ctx, on, `\$\s*$`); err != nil {
		return nil, err
	}
	r.frames = []frame{{lines: r.lines(), hold: time.Second}}
	for _, a := range walk() {
		if err := r.do(ctx, a); err != nil {
			return nil, fmt.Errorf("recording %q: %w", a.shows, err)
		}
	}
	return merge(r.frames), nil
}

// do does one action and records its frames.
func (r *recorder) do(ctx context.Context, a action) error {
	if err := r.on.Press(a.keys...); err != nil {
		return err
	}
	for _, letter := range a.text {
		quiet, cancel := context.WithTimeout(ctx, longestRest)
		err := errors.Join(r.on.Type(string(letter)), r.on.Quiet(quiet, perKey))
		cancel()
		if err != nil && ctx.Err() != nil {
			return err
		}
		r.frames = append(r.frames, frame{lines: r.lines(), hold: perKey})
	}
	waited, err := r.wait(ctx, a)
	if err != nil {
		return err
	}
	waited = thin(merge(waited), mostWait)
	for i := range waited {
		waited[i].hold = perWait
	}
	if len(waited) > 0 && a.mark != "" {
		waited[0].mark = a.mark
	}
	waited[len(waited)-1].hold = a.hold
	r.frames = append(r.frames, waited...)
	return nil
}

// wait records until the screen shows what the action waits for and has not changed for a
// moment.
func (r *recorder) wait(ctx context.Context, a action) (frames []frame, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	shows := regexp.MustCompile(a.shows)
	last, seen := time.Now(), time.Time{}
	for {
		tick, cancel := context.WithTimeout(ctx, perWait)
		_ = r.on.Quiet(tick, perWait)
		cancel()
		lines := r.lines()
		frames = append(frames, frame{lines: lines, hold: perWait})
		matches := shows.MatchString(plainText(lines))
		switch {
		case matches && seen.IsZero():
			seen = time.Now()
		case matches && (len(frames) > 1 && slices.Equal(lines, frames[len(frames)-2].lines) && time.Since(seen) > rest || time.Since(seen) > longestRest):
			return frames, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the screen never shows it:\n%s", plainText(lines))
		case !matches && a.again && time.Since(last) > pressed:
			last = time.Now()
			if err := r.on.Press(a.keys...); err != nil {
				return nil, err
			}
		}
	}
}

func (r *recorder) lines() []string {
	lines := r.on.Lines()
	for i, line := range lines {
		lines[i] = r.mask.line(line)
	}
	return lines
}
