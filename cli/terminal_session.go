package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/output"
	"aibox/ui"
	"aibox/ui/page"

	"golang.org/x/term"
)

var (
	errDetached    = errors.New("detached")         // the user left the session, which continues
	errScrollsBack = errors.New("scrolls back")     // the person wants to see what was there before
	errLost        = errors.New("the session lost") // its supervisor said good-bye to nobody
)

// converse puts the person's terminal through to the agent of an interactive
// session, until the agent has ended or the person leaves. The terminal is as it
// was when it returns, whatever happened. Leaving is errDetached; a signal is the
// end of ctx.
func (c *console) converse(ctx context.Context, service *session.Sessions, id session.ID) error {
	out, ok := c.out.(*os.File)
	if !ok || !c.isInteractive() {
		return needsTerminal()
	}
	t := &conversation{in: c.in, out: out, label: string(id), closes: id.Hidden()}
	for {
		attachment, err := service.Attach(ctx, id, t.agentSize(), colorDepth(c.term))
		if err != nil {
			return err
		}
		left, err := t.run(ctx, attachment)
		switch {
		case errors.Is(err, errScrollsBack):
			err = c.scrollBack(ctx, service, id)
		case err == nil:
			_, err = out.Write(left)
			return err
		}
		if err != nil {
			return err
		}
	}
}

// scrollBack shows what the agent's terminal has shown, until the person has seen
// enough. Nobody is attached meanwhile, so that nothing typed there can reach the agent,
// and the whole screen is painted for whoever comes back.
func (c *console) scrollBack(ctx context.Context, service *session.Sessions, id session.ID) error {
	_, err := ui.Run(ctx, ui.Request{In: c.in, Out: c.out, Sessions: service, Only: page.Scrollback{ID: id}})
	dropKeys(c.in)
	return crashed(err)
}

// checkInteractive refuses what cannot go together with -i.
func (a *cli) checkInteractive(o *runOptions) error {
	switch {
	case !o.interactive || o.detach:
		return nil
	case o.json:
		return fault.New(fault.Usage, "--json and -i cannot be used together").
			Hint("use one of them")
	case !a.isInteractive():
		return needsTerminal()
	default:
		return nil
	}
}

// agentSize is the size of an agent's terminal on this one; zero, which means 24 by
// 80, when this is none.
func (c *console) agentSize() screen.Size {
	if out, ok := c.out.(*os.File); ok && c.isInteractive() {
		return (&conversation{out: out}).agentSize()
	}
	return screen.Size{}
}

// isInteractive reports whether both input and output are a terminal.
func (c *console) isInteractive() bool { return c.term.interactive && terminalOf(c.in).interactive }

func needsTerminal() error {
	return fault.New(fault.Usage, "an interactive session needs a terminal as input and output").
		Hint("drop -i, or add --detach and attach from a terminal later")
}

// colorDepth is how many colors the person's terminal has, as far as the
// environment tells.
func colorDepth(t terminal) screen.Colors {
	switch depth := os.Getenv("COLORTERM"); {
	case !t.color:
		return screen.NoColors
	case depth == "truecolor" || depth == "24bit":
		return screen.TrueColors
	case strings.HasSuffix(os.Getenv("TERM"), "256color"):
		return screen.Colors256
	default:
		return screen.Colors16
	}
}

// conversation is the user's terminal while it shows an agent's.
type conversation struct {
	in, out *os.File
	label   string // of the session, for the last row
	closes  bool   // leaving ends the session

	said string // by aibox, for the last row
}

// size is the size of the person's terminal.
func (c *conversation) size() screen.Size {
	cols, rows, err := term.GetSize(int(c.out.Fd()))
	if err != nil {
		return screen.Size{}.Bound()
	}
	return screen.Size{Rows: rows, Cols: cols}
}

// agentSize is what of it is the agent's: the last row tells how to leave, and no
// agent can write there.
func (c *conversation) agentSize() screen.Size {
	size := c.size()
	if size.Rows > 3 {
		size.Rows--
	}
	return size
}

// run shows and types until the end. It returns what the agent left on its main
// screen.
func (c *conversation) run(ctx context.Context, attachment *control.Attachment) (left []byte, err error) {
	before, err := term.MakeRaw(int(c.in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	restore := func() {
		_, _ = io.WriteString(c.out, screen.Leave)
		_ = term.Restore(int(c.in.Fd()), before)
	}
	defer restore()
	if _, err := io.WriteString(c.out, screen.Enter); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ends := make(chan ending, 3)
	var parts sync.WaitGroup
	do := func(part func() ending) {
		parts.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					restore()
					panic(r)
				}
			}()
			ends <- part()
		})
	}
	// Nothing may be written once the terminal is restored.
	defer func() {
		cancel()
		_ = attachment.Close()
		parts.Wait()
	}()
	do(func() ending { return c.show(attachment) })
	do(func() ending { return c.typed(ctx, attachment) })
	do(func() ending { return c.follow(ctx, attachment) })
	select {
	case end := <-ends:
		return end.left, end.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ending is how a conversation ended.
type ending struct {
	left []byte
	err  error
}

// show writes what the agent's screen shows.
func (c *conversation) show(attachment *control.Attachment) ending {
	for {
		view, err := attachment.Next()
		switch {
		case err != nil:
			return ending{err: fmt.Errorf("%w: %w", errLost, err)}
		case view.Ended:
			return ending{left: view.Paint}
		}
		if view.Notice != "" {
			c.said = view.Notice
		}
		_, err = c.out.Write(view.Paint)
		if err == nil && (view.Whole || view.Notice != "") {
			err = c.status()
		}
		if err != nil {
			return ending{err: err}
		}
	}
}

// status writes the last row.
func (c *conversation) status() error {
	size := c.size()
	if size.Rows <= 3 {
		return nil
	}
	leaves := "leaves it running"
	if c.closes {
		leaves = "closes it"
	}
	text := fmt.Sprintf(" %s  ctrl-p ctrl-q %s", c.label, leaves)
	if c.said != "" {
		text += "  ! " + notice(c.said)
	} else {
		text += " · ctrl-p ctrl-s scrolls back"
	}
	_, err := fmt.Fprintf(c.out, "\x1b7\x1b[%d;1H\x1b[0;7m%s\x1b[m\x1b8", size.Rows, screen.Fit(text, size.Cols))
	return err
}

// follow tells the agent the size of the person's terminal whenever it changes.
func (c *conversation) follow(ctx context.Context, attachment *control.Attachment) ending {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	for {
		select {
		case <-ctx.Done():
			return ending{err: ctx.Err()}
		case <-changes:
			if attachment.Resize(c.agentSize()) != nil {
				return sent(ctx)
			}
		}
	}
}

// sent is the ending of a part that cannot send any more. The part that receives
// knows why: the agent may have ended well.
func sent(ctx context.Context) ending {
	<-ctx.Done()
	return ending{err: ctx.Err()}
}

// typed sends what the person types, until they leave or ctx ends.
func (c *conversation) typed(ctx context.Context, attachment *control.Attachment) ending {
	var keys detachKeys
	buf := make([]byte, 16<<10)
	for {
		n, err := readKeys(ctx, c.in, buf, keys.wait())
		if err != nil {
			return ending{err: err}
		}
		send, wish := keys.take(buf[:n])
		if attachment.Type(send) != nil {
			return sent(ctx)
		}
		if wish != nil {
			return ending{err: wish}
		}
	}
}

// runInteractive is what `aibox run -i` does when the agent runs: talk, and
// conclude when it has ended.
func (a *cli) runInteractive(ctx context.Context, o *runOptions, service *session.Sessions, id session.ID) error {
	err := a.converse(ctx, service, id)
	if err != nil && !errors.Is(err, session.ErrNotAttached) {
		return a.left(ctx, service, id, err)
	}
	missed := err != nil // it was over before anybody could look
	ended, err := a.awaitEnd(ctx, service, id, o.json)
	if err != nil {
		return err
	}
	if missed {
		err = a.printScreen(ctx, service, ended)
	}
	return errors.Join(err, a.conclude(context.WithoutCancel(ctx), o, service, ended))
}

// attachInteractive is `aibox attach` for an interactive session.
func (o *attachOptions) interactive(ctx context.Context, service *session.Sessions, found session.Session) error {
	id := found.ID
	if found.State.Phase != session.Ended {
		err := o.converse(ctx, service, id)
		if err != nil && !errors.Is(err, session.ErrNotAttached) {
			return o.left(ctx, service, id, err)
		}
		ended, followErr := o.awaitEnd(ctx, service, id, false)
		if followErr != nil {
			return followErr
		}
		if err == nil {
			return ended.State.Result.Fault.Err()
		}
		found = ended
	}
	return errors.Join(o.printScreen(ctx, service, found), found.State.Result.Fault.Err())
}

// printScreen prints what the terminal of an interactive session shows, or showed
// last. When that is lost, it is the record.
func (c *console) printScreen(ctx context.Context, service *session.Sessions, found session.Session) error {
	if !found.Interactive {
		return fault.New(fault.Usage, "%s is not interactive, so it has no screen", found.ID).
			Hint("`aibox logs %s` prints the agent's output", found.ID)
	}
	text, err := service.Screen(ctx, found.ID)
	if errors.Is(err, session.ErrNoScreen) {
		printer := c.agentOutput(c.out)
		_, err = service.Output(found.ID, 0, printer.show)
		return errors.Join(err, printer.close())
	}
	if err != nil {
		return err
	}
	_, err = c.out.Write(screen.Recolor(text, colorDepth(c.term)))
	return err
}

// endOfOutput is an offset after every output: following from there shows nothing
// but the end.
const endOfOutput = 1 << 62

// left says how things stand when a conversation did not end with the agent.
func (c *console) left(ctx context.Context, service *session.Sessions, id session.ID, err error) error {
	switch {
	case errors.Is(err, errDetached):
		fmt.Fprintf(c.err, "%s %s is still running; `aibox attach %s` reattaches, `aibox stop %s` ends it\n", c.errTerm.faint("→"), id, id, id)
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "detached; %s is still running", id).
			Hint("`aibox attach %s` reattaches, `aibox stop %s` ends it", id, id)
	}
	if !errors.Is(err, errLost) {
		return err
	}
	// What is on disk says how it ended.
	if _, followErr := service.Follow(ctx, id, endOfOutput, func(output.Chunk) error { return nil }); followErr != nil {
		return followErr
	}
	return err
}
