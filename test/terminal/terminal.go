// Package terminal is a user's terminal for tests and benchmarks. It runs a program on a
// pseudo-terminal, sends it keys, mouse events and new sizes, and returns what a user would
// see, frame by frame. It never looks into the program, and judges nothing.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"aibox/internal/screen"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Size is the size of a terminal in characters.
type Size = screen.Size

// Terminal is a terminal with one program on it. It is safe for concurrent use.
type Terminal struct {
	cmd     *exec.Cmd
	master  *os.File
	latency time.Duration
	before  *term.State
	after   *term.State   // once ended
	ended   chan struct{} // the program, and all that it printed is known

	mu      sync.Mutex
	grown   chan struct{} // closed at the next bytes or the end
	pending []byte        // not on the screen yet
	screen  *screen.Screen
	watch   watch
	last    time.Time // of the last bytes
	typed   time.Time // of the last keys
}

// Model is what terminals differ in.
type Model struct {
	Size
	Background string        // its color, as #rrggbb; empty is dark
	Latency    time.Duration // of its answers to queries, as over a slow network
}

// Start starts cmd on a terminal of this size. The terminal is dark and supports
// synchronized output. The caller closes it.
func Start(cmd *exec.Cmd, size Size) (*Terminal, error) { return StartOn(cmd, Model{Size: size}) }

// StartOn is Start for a terminal of this model.
func StartOn(cmd *exec.Cmd, m Model) (*Terminal, error) {
	master, slave, err := Open(m.Size)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	t := &Terminal{cmd: cmd, master: master, ended: make(chan struct{}), grown: make(chan struct{}), screen: screen.New(m.Size), watch: watch{background: cmp.Or(m.Background, "#101010")}, latency: m.Latency}
	if t.before, err = t.settings(); err != nil {
		return nil, errors.Join(err, t.master.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cmd.Path, err), t.master.Close())
	}
	read := make(chan struct{})
	go func() { defer close(read); t.read() }()
	go func() {
		defer close(t.ended)
		_ = cmd.Wait()
		t.after, _ = t.settings()
		<-read
	}()
	return t, nil
}

// settings are those of the line, which both sides of it have in common.
func (t *Terminal) settings() (state *term.State, err error) {
	conn, err := t.master.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := conn.Control(func(fd uintptr) { state, err = term.GetState(int(fd)) })
	return state, errors.Join(failed, err)
}

// Open opens a pseudo-terminal of this size and returns both sides. Closing the user's side
// ends pending reads. The caller closes both.
func Open(size Size) (user, program *os.File, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("opening a pseudo-terminal: %w", err)
	}
	if user, err = pollable(master); err != nil {
		return nil, nil, errors.Join(err, slave.Close())
	}
	if err := pty.Setsize(user, winsize(size)); err != nil {
		return nil, nil, errors.Join(err, user.Close(), slave.Close())
	}
	return user, slave, nil
}

// pollable is file again, so that closing it ends a read that waits.
func pollable(file *os.File) (*os.File, error) {
	defer file.Close()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

func winsize(size Size) *pty.Winsize {
	return &pty.Winsize{Rows: uint16(size.Rows), Cols: uint16(size.Cols)} //nolint:gosec // a terminal's size
}

// read reads the program's output until the program's side is closed.
func (t *Terminal) read() {
	buffer := make([]byte, 64<<10)
	answered := make(chan struct{}) // all queries so far
	close(answered)
	for {
		n, err := t.master.Read(buffer)
		now := time.Now()
		t.mu.Lock()
		answer := t.watch.take(buffer[:n], now)
		t.pending, t.last = append(t.pending, buffer[:n]...), now
		close(t.grown)
		t.grown = make(chan struct{})
		t.mu.Unlock()
		if answer != "" {
			before, done := answered, make(chan struct{})
			answered = done
			time.AfterFunc(t.latency, func() {
				defer close(done)
				<-before
				_, _ = t.master.WriteString(answer)
			})
		}
		if err != nil {
			return
		}
	}
}

// Process is the program.
func (t *Terminal) Process() *os.Process { return t.cmd.Process }

// Ended is closed when the program has ended, and no other has the terminal.
func (t *Terminal) Ended() <-chan struct{} { return t.ended }

// Wait waits for the program's end and returns its exit code, -1 for a signal.
func (t *Terminal) Wait(ctx context.Context) (int, error) {
	select {
	case <-t.ended:
		return t.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("the program does not end: %w", ctx.Err())
	}
}

// Close kills the program if it still runs, and takes the terminal away.
func (t *Terminal) Close() error {
	_ = t.cmd.Process.Kill()
	err := t.master.Close()
	<-t.ended
	if errors.Is(err, os.ErrClosed) {
		return nil // by Hangup
	}
	return err
}

// Hangup closes the user's side, like a terminal window that is closed.
func (t *Terminal) Hangup() error { return t.master.Close() }

// Resize changes the terminal's size and notifies the program.
func (t *Terminal) Resize(size Size) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	t.screen.Resize(size)
	return pty.Setsize(t.master, winsize(size))
}

// Size is the terminal's size.
func (t *Terminal) Size() Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Size()
}

// settle applies the bytes that have arrived to the screen.
func (t *Terminal) settle() {
	_, _ = t.screen.Write(t.pending)
	t.pending = t.pending[:0]
	_ = t.screen.Answers() // the questions are answered in read
}

// Text returns the text on the screen without colors and styles: a line for each row,
// without trailing blanks and trailing empty rows.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	return ansi.Strip(string(t.screen.Text(screen.NoColors, false)))
}

// Lines returns the rows of the screen as text with SGR sequences, without trailing blanks
// that have no background color.
func (t *Terminal) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
	lines := strings.Split(strings.TrimSuffix(string(t.screen.Text(screen.TrueColors, false)), "\n"), "\n")
	return append(lines, make([]string, max(0, t.screen.Size().Rows-len(lines)))...)
}

// Await waits until the screen matches pattern.
func (t *Terminal) Await(ctx context.Context, pattern string) error {
	_, err := t.Seen(ctx, pattern)
	return err
}

// Seen waits until the screen matches pattern, and returns when the last of the matching
// bytes arrived.
func (t *Terminal) Seen(ctx context.Context, pattern string) (time.Time, error) {
	want := regexp.MustCompile(pattern)
	for {
		t.mu.Lock()
		grown, last := t.grown, t.last
		t.mu.Unlock()
		if want.MatchString(t.Text()) {
			return last, nil
		}
		select {
		case <-grown:
		case <-t.ended:
			if want.MatchString(t.Text()) {
				return last, nil
			}
			return time.Time{}, fmt.Errorf("the program ended with %d and never showed %q, but\n%s", t.cmd.ProcessState.ExitCode(), pattern, t.Text())
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%q is never shown, but\n%s", pattern, t.Text())
		}
	}
}

// Quiet waits until nothing was printed, nor typed, for that long.
func (t *Terminal) Quiet(ctx context.Context, rest time.Duration) error {
	for {
		t.mu.Lock()
		grown, since := t.grown, min(time.Since(t.last), time.Since(t.typed))
		t.mu.Unlock()
		if since >= rest {
			return nil
		}
		select {
		case <-grown:
		case <-time.After(rest - since):
		case <-t.ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the screen is never quiet: %w", ctx.Err())
		}
	}
}

// Frames is how many whole frames the program has drawn, and when the last byte of
// the last one arrived. A program that does not know yet that its terminal knows
// synchronized output draws none: those at its start are not counted.
func (t *Terminal) Frames() (n int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watch.frames, t.watch.last
}

// Frame waits for a frame after the first n, and returns when its last byte arrived.
func (t *Terminal) Frame(ctx context.Context, n int) (time.Time, error) {
	for {
		t.mu.Lock()
		grown, frames, last := t.grown, t.watch.frames, t.watch.last
		t.mu.Unlock()
		if frames > n {
			return last, nil
		}
		select {
		case <-grown:
		case <-t.ended:
			return time.Time{}, fmt.Errorf("the program ended with %d without another frame", t.cmd.ProcessState.ExitCode())
		case <-ctx.Done():
			return time.Time{}, errors.New("there is no further frame")
		}
	}
}

// Left lists what the program has not restored: modes that are still on, a hidden cursor,
// other settings of the line. It is complete once the program has exited.
func (t *Terminal) Left() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.watch.left()
	select {
	case <-t.ended:
		if t.after == nil || *t.after != *t.before {
			left = append(left, "other settings of the line")
		}
	default:
	}
	return left
}

// Titles are the titles that the program gave its window, in order.
func (t *Terminal) Titles() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.watch.titles)
}
