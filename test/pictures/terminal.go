package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// terminal is a real terminal with a program in it: a tmux server of its own, which
// nobody looks at.
type terminal struct {
	socket string
	size   size
}

// size is a terminal's, in cells.
type size struct{ cols, rows int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.cols, s.rows) }

// patience is how long a screen may take to show something.
const patience = 20 * time.Second

// open starts a program in a terminal of this size and these colors, in the folder dir
// and with the variables env. Its server ends with close.
func open(ctx context.Context, socket string, s size, p palette, dir string, env []string, program ...string) (*terminal, error) {
	t := &terminal{socket: socket, size: s}
	// The command is one argument of a shell that tmux starts; words are quoted.
	words := make([]string, len(program))
	for i, word := range program {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	args := []string{
		"-f", "/dev/null", "start-server", ";",
		"set", "-g", "default-terminal", "xterm-256color", ";",
		"set", "-g", "status", "off", ";",
		"set", "-s", "escape-time", "0", ";",
		// What the program is told when it asks for the background.
		"set", "-g", "window-style", "fg=" + p.text + ",bg=" + p.back, ";",
		"new-session", "-d", "-x", strconv.Itoa(s.cols), "-y", strconv.Itoa(s.rows), "-c", dir,
		"-e", "COLORTERM=truecolor",
	}
	for _, pair := range env {
		args = append(args, "-e", pair)
	}
	_, err := t.tmux(ctx, append(args, strings.Join(words, " "))...)
	return t, err
}

func (t *terminal) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", t.socket}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux: %w: %s", err, out)
	}
	return string(out), nil
}

// close ends the program and the server.
func (t *terminal) close() {
	_, _ = t.tmux(context.Background(), "kill-server")
}

// follow does what a person does, and gives the lines of the last screen.
func (t *terminal) follow(ctx context.Context, steps []step) (lines []string, err error) {
	for _, s := range steps {
		if len(s.keys) > 0 {
			err = t.press(ctx, s.keys...)
		}
		if err == nil && s.text != "" {
			err = t.typed(ctx, s.text)
		}
		if err == nil {
			lines, err = t.await(ctx, s.shows)
		}
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// press types keys by tmux's names: "Enter", "C-k", "n".
func (t *terminal) press(ctx context.Context, keys ...string) error {
	_, err := t.tmux(ctx, append([]string{"send-keys", "--"}, keys...)...)
	return err
}

// typed types text as it is.
func (t *terminal) typed(ctx context.Context, text string) error {
	_, err := t.tmux(ctx, "send-keys", "-l", "--", text)
	return err
}

// shown is the screen as lines of text with colors.
func (t *terminal) shown(ctx context.Context) ([]string, error) {
	out, err := t.tmux(ctx, "capture-pane", "-e", "-N", "-p")
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n"), err
}

var colors = regexp.MustCompile("\x1b\\[[0-9;:]*m|\x1b\\]8;[^\x1b]*\x1b\\\\|\x0e|\x0f")

// await waits until the screen shows the pattern and has then stood still for a
// moment, and gives its lines.
func (t *terminal) await(ctx context.Context, pattern string) ([]string, error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	const look, still = 50 * time.Millisecond, 4
	var last string
	same := 0
	for end := time.Now().Add(patience); time.Now().Before(end); {
		lines, err := t.shown(ctx)
		if err != nil {
			return nil, err
		}
		now := strings.Join(lines, "\n")
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
		if same >= still && wanted.MatchString(colors.ReplaceAllString(now, "")) {
			return lines, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
	}
	return nil, fmt.Errorf("no %q within %v on this screen:\n%s", pattern, patience, colors.ReplaceAllString(last, ""))
}
