package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"aibox/internal/screen"
	"aibox/session/control"

	"golang.org/x/term"
)

var (
	errDetached   = errors.New("detached")                           // the user left the session, which continues
	errScrollBack = errors.New("scroll back")                        // the user wants to see earlier output
	errQuestions  = errors.New("questions")                          // the user wants to answer the session's questions
	errLost       = errors.New("lost the connection to the session") // its supervisor has gone
)

// attachedTerminal is the user's terminal while it shows an agent's.
type attachedTerminal struct {
	in, out   *os.File
	label     string // of the session, for the last row
	closes    bool   // detaching also ends the session
	plain     bool   // there is no scrolling back
	questions *questionLine

	mu     sync.Mutex // guards out and what follows
	notice string     // the last notice of aibox, for the last row
}

// size returns the size of the user's terminal.
func (t *attachedTerminal) size() screen.Size {
	cols, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return screen.Size{}.Bound()
	}
	return screen.Size{Rows: rows, Cols: cols}
}

// agentSize returns the size without the last row, which shows how to detach. No agent
// can write there.
func (t *attachedTerminal) agentSize() screen.Size {
	size := t.size()
	if size.Rows > 3 {
		size.Rows--
	}
	return size
}

// run connects the terminal until the agent ends or the user detaches. It returns the
// final content of the agent's main screen.
func (t *attachedTerminal) run(ctx context.Context, attachment *control.Attachment) (left []byte, err error) {
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	restore := func() {
		_, _ = io.WriteString(t.out, screen.Leave)
		_ = term.Restore(int(t.in.Fd()), before)
	}
	defer restore()
	if _, err := io.WriteString(t.out, screen.Enter); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ends := make(chan ending, 4)
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
	do(func() ending { return t.show(attachment) })
	do(func() ending { return t.sendKeys(ctx, attachment) })
	do(func() ending { return t.resize(ctx, attachment) })
	do(func() ending { return t.showQuestions(ctx) })
	select {
	case end := <-ends:
		return end.left, end.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ending is the result of one part of run.
type ending struct {
	left []byte
	err  error
}

// show draws the agent's screen.
func (t *attachedTerminal) show(attachment *control.Attachment) ending {
	for {
		view, err := attachment.Next()
		switch {
		case err != nil:
			return ending{err: fmt.Errorf("%w: %w", errLost, err)}
		case view.Ended:
			return ending{left: view.Paint}
		}
		if err := t.paint(view); err != nil {
			return ending{err: err}
		}
	}
}

// paint draws a change of the agent's screen.
func (t *attachedTerminal) paint(view control.View) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if view.Notice != "" {
		t.notice = view.Notice
	}
	_, err := t.out.Write(view.Paint)
	if err == nil && (view.Whole || view.Notice != "") {
		err = t.status()
	}
	return err
}

// showQuestions keeps the session's open question on the last row. A new one rings the bell.
func (t *attachedTerminal) showQuestions(ctx context.Context) ending {
	if t.questions == nil {
		<-ctx.Done()
		return ending{err: ctx.Err()}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	drawn := ""
	for {
		text := t.questions.text()
		if text != drawn {
			drawn = text
			t.mu.Lock()
			err := t.status()
			if err == nil && t.questions.isNew() {
				_, err = io.WriteString(t.out, "\a")
			}
			t.mu.Unlock()
			if err != nil {
				return ending{err: err}
			}
		}
		select {
		case <-ctx.Done():
			return ending{err: ctx.Err()}
		case <-t.questions.changed:
		case <-tick.C:
		}
	}
}

// status draws the last row. t.mu is held.
func (t *attachedTerminal) status() error {
	size := t.size()
	if size.Rows <= 3 {
		return nil
	}
	leaves := "leaves it running"
	if t.closes {
		leaves = "closes it"
	}
	text := fmt.Sprintf(" %s  ctrl-p ctrl-q %s", t.label, leaves)
	if asks := t.questions.text(); asks != "" {
		text = " " + t.label + "  ? " + asks
	} else if t.notice != "" {
		text += "  ! " + notice(t.notice)
	} else if !t.plain {
		text += " · ctrl-p ctrl-s scrolls back"
	}
	_, err := fmt.Fprintf(t.out, "\x1b7\x1b[%d;1H\x1b[0;7m%s\x1b[m\x1b8", size.Rows, screen.Fit(text, size.Cols))
	return err
}

// resize passes changes of the terminal's size to the agent.
func (t *attachedTerminal) resize(ctx context.Context, attachment *control.Attachment) ending {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	for {
		select {
		case <-ctx.Done():
			return ending{err: ctx.Err()}
		case <-changes:
			if attachment.Resize(t.agentSize()) != nil {
				return cannotSend(ctx)
			}
		}
	}
}

// cannotSend waits for the end of ctx. The receiving part knows why nothing can be sent:
// the agent may have ended normally.
func cannotSend(ctx context.Context) ending {
	<-ctx.Done()
	return ending{err: ctx.Err()}
}

// sendKeys sends the user's keys until the user detaches or ctx ends.
func (t *attachedTerminal) sendKeys(ctx context.Context, attachment *control.Attachment) ending {
	keys := detachKeys{plain: t.plain, asks: func() bool { return t.questions.text() != "" }}
	buf := make([]byte, 16<<10)
	for {
		n, err := readKeys(ctx, t.in, buf, keys.wait())
		if err != nil {
			return ending{err: err}
		}
		send, request := keys.take(buf[:n])
		if attachment.Type(send) != nil {
			return cannotSend(ctx)
		}
		if request != nil {
			return ending{err: request}
		}
	}
}
