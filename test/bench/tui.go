package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aibox/test/terminal"
)

// screens is the terminal UI in front of one state of affairs.
type screens struct {
	*bench
	random *rand.Rand
}

func (b *bench) screens(state string) screens {
	ours := *b
	ours.env = append(slices.Clone(b.env), "TERM=xterm-256color", "COLORTERM=truecolor", "XDG_STATE_HOME="+state)
	return screens{&ours, rand.New(rand.NewPCG(1, 2))}
}

// state is the bench's own folder of states.
func (b *bench) state() string { return filepath.Join(b.scratch, "state") }

// open starts the UI; began is when.
func (s screens) open(ctx context.Context) (on *terminal.Terminal, began time.Time, err error) {
	cmd := s.command(context.WithoutCancel(ctx), s.aibox)
	began = time.Now()
	on, err = terminal.Start(cmd, terminal.Size{Rows: 40, Cols: 120})
	return on, began, err
}

// openReviewable starts the UI, and returns when it shows a session that waits for a review.
func (s screens) openReviewable(ctx context.Context) (*terminal.Terminal, error) {
	on, _, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.seen(ctx, on, "to review"); err != nil {
		return nil, errors.Join(err, on.Close())
	}
	return on, nil
}

// firstFrames measures the time from the start of the program to its first frame, and to
// the awaited text.
func (s screens) firstFrames(ctx context.Context, awaited string) (first, useful []float64, err error) {
	for range s.many() {
		on, began, err := s.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		at, err := s.seen(ctx, on, `─`) // the rule below the head
		first = append(first, millis(at.Sub(began)))
		if err == nil {
			at, err = s.seen(ctx, on, awaited)
			useful = append(useful, millis(at.Sub(began)))
		}
		if err := errors.Join(err, on.Close()); err != nil {
			return nil, nil, err
		}
	}
	return first, useful, nil
}

// seen waits until the screen matches pattern, and returns the time.
func (s screens) seen(ctx context.Context, on *terminal.Terminal, pattern string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	return on.Seen(ctx, pattern)
}

// rest is how long nothing is drawn before the next key is pressed.
const rest = 30 * time.Millisecond

// keys presses each key once the screen is quiet and measures until the next frame is
// whole. The pause before a key is not always the same: a program that draws at fixed
// times would look better or worse than it is.
func (s screens) keys(ctx context.Context, on *terminal.Terminal, names []string) (took []float64, missing int, err error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	for _, name := range names {
		if err := on.Quiet(ctx, rest+time.Duration(s.random.IntN(17))*time.Millisecond); err != nil {
			return nil, 0, err
		}
		n, _ := on.Frames()
		began := time.Now()
		if err := on.Press(name); err != nil {
			return nil, 0, err
		}
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		at, err := on.Frame(one, n)
		cancel()
		if err != nil {
			missing++ // the key changed nothing
			continue
		}
		took = append(took, millis(at.Sub(began)))
	}
	if len(took) < len(names)*9/10 {
		return nil, 0, fmt.Errorf("%d of %d keys changed nothing on the screen\n%s", missing, len(names), on.Text())
	}
	return took, missing, nil
}

// round is n keys, in turns.
func round(n int, names ...string) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = names[i%len(names)]
	}
	return keys
}

// keyRow is the row for keys: their 95th percentile.
func keyRow(what string, took []float64, missing int) Row {
	row := alone("key to frame, "+what, "ms", quantile(took, 0.95), target{most: 12, absolute: true})
	row.Note = fmt.Sprintf("p95 of %d keys; median %s, longest %s", len(took), number(median(took)), number(slices.Max(took)))
	if missing > 0 {
		row.Note += fmt.Sprintf("; %d changed nothing", missing)
	}
	row.All = took
	return row
}

// memoryRow is the resident memory of the program on a terminal.
func memoryRow(what string, on *terminal.Terminal) (Row, error) {
	memory, err := resident(on.Process().Pid)
	return alone("memory, "+what, "MB", memory, target{most: 150, absolute: true}), err
}

// crowd copies an ended session to n sessions and returns their state folder.
func (b *bench) crowd(ctx context.Context, n int) (state string, err error) {
	if _, err := b.timed(ctx, b.aibox, "run", "shell", "--network", "none", "--", "sh", "-c", "seq 100 > work.txt; seq 200"); err != nil {
		return "", err
	}
	found, err := b.sessions(ctx)
	if err != nil || len(found) == 0 {
		return "", err
	}
	id := found[len(found)-1].ID
	state = filepath.Join(b.scratch, fmt.Sprintf("crowd-%d", n))
	err = multiply(filepath.Join(b.state(), "aibox", "sessions", id), id, filepath.Join(state, "aibox", "sessions"), n)
	return state, errors.Join(err, b.removeSessions(ctx))
}

// listed is a session of the crowd in the list.
const listed = `\d{5}-shell`

// dashboard measures the list of 200 sessions.
func dashboard(ctx context.Context, b *bench) (rows []Row, err error) {
	state, err := b.crowd(ctx, 200)
	if err != nil {
		return nil, err
	}
	s := b.screens(state)
	first, useful, err := s.firstFrames(ctx, listed)
	if err != nil {
		return nil, err
	}
	row := alone("first frame, 200 sessions", "ms", median(first), target{most: 50, absolute: true})
	row.Note, row.All = "the sessions stand there after "+number(median(useful))+" ms", first
	rows = append(rows, row)
	on, _, err := s.open(ctx)
	if err != nil {
		return rows, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	if _, err := s.seen(ctx, on, listed); err != nil {
		return rows, err
	}
	took, missing, err := s.keys(ctx, on, round(b.keys(), "down", "down", "pgdown", "up", "end", ">", "home", "down"))
	if err != nil {
		return rows, err
	}
	memory, err := memoryRow("200 sessions", on)
	return append(rows, keyRow("200 sessions", took, missing), memory), err
}

// keys is how many keys a row takes.
func (b *bench) keys() int { return 20 * b.pairs }

// sessionScreen measures the screen of one session with a long output.
func sessionScreen(ctx context.Context, b *bench) (rows []Row, err error) {
	if _, err := b.timed(ctx, b.aibox, "run", "shell", "--network", "none", "--", "sh", "-c", "seq 100 > work.txt; seq 100000"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.removeSessions(context.WithoutCancel(ctx))) }()
	s := b.screens(b.state())
	on, err := s.openReviewable(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	opened, _, err := s.keys(ctx, on, []string{"enter"})
	if err != nil {
		return nil, err
	}
	const output = "a session with 100,000 lines of output"
	rows = append(rows, alone("first frame, "+output, "ms", opened[0], target{most: 50, absolute: true}))
	if _, err := s.seen(ctx, on, `\b100000\b`); err != nil {
		return rows, err
	}
	took, missing, err := s.keys(ctx, on, round(b.keys(), "pgup", "up", "pgup", "down", "home", "pgdown", "end"))
	if err != nil {
		return rows, err
	}
	memory, err := memoryRow(output, on)
	return append(rows, keyRow(output, took, missing), memory), err
}

// diffs are the changes that a review is measured with: the commands in the sandbox that make them,
// and keys that always move the cursor.
var diffs = []struct {
	name, script string
	keys         []string
}{
	{
		"a hunk of 300,000 lines", `sed -i 's/$/ is new/' one.txt`,
		[]string{"down", "down", "pgdown", "up", "end", "pgup", "home"},
	},
	{
		"300,000 lines in 25,000 hunks", `awk '{ print ($1 % 10 > 6) ? $1 " is new" : $1 }' many.txt > new; mv new many.txt`,
		[]string{"down", "]", "pgdown", "]", "y", "u", "end", "home"},
	},
	{
		"10,000 files", `mkdir d; cd d; seq 20000 | split -l 2 -d -a 5; cd ..`,
		[]string{"tab", "tab", "shift+tab", "y", "u", "tab"},
	},
}

// reviews measures the screen on which changes are reviewed.
func reviews(ctx context.Context, b *bench) (rows []Row, err error) {
	for _, d := range diffs {
		measured, err := b.review(ctx, d.name, d.script, d.keys)
		rows = append(rows, measured...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return rows, nil
}

func (b *bench) review(ctx context.Context, name, script string, keys []string) (rows []Row, err error) {
	repo := filepath.Join(b.scratch, "numbers")
	if err := b.numbers(ctx, repo); err != nil {
		return nil, err
	}
	if _, err := b.timed(ctx, b.aibox, "run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", script); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.removeSessions(context.WithoutCancel(ctx))) }()
	s := b.screens(b.state())
	on, err := s.openReviewable(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	began := time.Now()
	opened, _, err := s.keys(ctx, on, []string{"r"})
	if err != nil {
		return nil, err
	}
	at, err := s.seen(ctx, on, `@@|new file`)
	if err != nil {
		return nil, err
	}
	first := alone("first frame, "+name, "ms", opened[0], target{most: 50, absolute: true})
	first.Note = "the changes stand there " + number(millis(at.Sub(began))) + " ms after the key"
	rows = append(rows, first)
	took, missing, err := s.keys(ctx, on, round(b.keys(), keys...))
	if err != nil {
		return rows, err
	}
	memory, err := memoryRow(name, on)
	return append(rows, keyRow(name, took, missing), memory), err
}

// numbers makes a repository with long files, once for all rows.
func (b *bench) numbers(ctx context.Context, dir string) error {
	if exists(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, lines := range map[string]int{"one.txt": 150_000, "many.txt": 250_000} {
		var text []byte
		for i := range lines {
			text = fmt.Appendln(text, i+1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return b.commit(ctx, dir)
}
