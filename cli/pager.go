package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"aibox/internal/termtext"

	"golang.org/x/term"
)

// defaultPager shows a screenful at once without stopping, passes colors and
// nothing else, and leaves the text on the screen when it is done.
const defaultPager = "less -FRX"

// paged lets show write to the user's pager, or to standard output without one. show must
// write filtered text, because pagers pass control sequences on. If the user quits the
// pager early, show ends without an error.
func (a *cli) paged(ctx context.Context, show func(context.Context, io.Writer) error) error {
	words, chosen := a.pager()
	if len(words) == 0 {
		return quietly(show(ctx, a.out))
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		if chosen {
			fmt.Fprintf(a.err, "%s cannot run the pager %s, so the output is not paged\n", a.errTerm.warn("!"), termtext.Escape(words[0]))
		}
		return quietly(show(ctx, a.out))
	}
	return a.throughPager(ctx, program, words[1:], show)
}

// pager returns the command line of the user's pager: the setting, or else $PAGER, or else
// less. It is empty if the output is not paged. chosen reports whether the user named it.
// Git's core.pager does not count, because a repository can set it.
func (a *cli) pager() (words []string, chosen bool) {
	if !a.term.interactive || !terminalOf(a.in).interactive || a.noPager {
		return nil, false
	}
	setting := ""
	if own, err := a.app.UserSettings(); err == nil {
		setting = own.Settings.Pager
	}
	return pagerOf(setting, os.Getenv("PAGER"), os.Getenv("TERM"))
}

// pagerOf decides by the setting, $PAGER and $TERM.
func pagerOf(setting, variable, terminal string) (words []string, chosen bool) {
	words = strings.Fields(cmp.Or(setting, variable))
	switch {
	case len(words) == 0 && terminal == "dumb":
		return nil, false
	case len(words) == 0:
		return strings.Fields(defaultPager), false
	case words[0] == "cat" && len(words) == 1:
		return nil, true
	}
	return words, true
}

// throughPager runs the pager with the output of show as its standard input. Meanwhile ctrl-c is
// for the pager: in less it stops reading further input. However the pager ends, the terminal is
// restored.
func (c *console) throughPager(ctx context.Context, program string, args []string, show func(context.Context, io.Writer) error) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if before, err := term.GetState(int(c.in.Fd())); err == nil {
		defer func() { _ = term.Restore(int(c.in.Fd()), before) }()
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, endSignals()...)
	defer signal.Stop(ends)

	cmd := exec.Command(program, args...) //nolint:gosec,noctx // the user's own choice; the user's keys end it
	cmd.Stdout, cmd.Stderr = inherited(c.out), os.Stderr
	cmd.Env = pagerEnvironment()
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		_ = input.Close()
		fmt.Fprintf(c.err, "%s cannot run the pager, so the output is not paged: %s\n", c.errTerm.warn("!"), safe(err.Error()))
		return quietly(show(ctx, c.out))
	}
	showing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	shown := make(chan error, 1)
	go func() {
		err := show(showing, input)
		shown <- errors.Join(err, input.Close())
	}()
	left := make(chan struct{})
	go func() {
		select {
		case <-ends:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-left:
		}
	}()
	_ = cmd.Wait() // its exit code does not affect that of aibox
	close(left)
	stop()
	err = <-shown
	if errors.Is(err, context.Canceled) || errors.Is(err, os.ErrClosed) {
		return nil // the user quit before the end
	}
	return quietly(err)
}

// pagerEnvironment returns the user's environment, with variables that make common pagers
// pass colors, and UTF-8 where the locale does not say that the terminal shows it.
func pagerEnvironment() []string {
	env := os.Environ()
	for _, pair := range []string{"LESS=FRX", "LESSCHARSET=utf-8", "LV=-c"} {
		name, _, _ := strings.Cut(pair, "=")
		if _, set := os.LookupEnv(name); !set {
			env = append(env, pair)
		}
	}
	return env
}

// quietly returns nil for an error that means that the reader has closed the output.
func quietly(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// piped writes to a.out through a buffer, so that aibox, and not a program that writes for it,
// notices a reader that leaves early.
func (c *console) piped(write func(io.Writer) error) error {
	out := bufio.NewWriterSize(struct{ io.Writer }{c.out}, 64<<10)
	err := write(out)
	return quietly(errors.Join(err, out.Flush()))
}
