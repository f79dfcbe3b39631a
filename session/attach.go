package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"
)

// Attachment is a person's end of the terminal of an interactive session's agent.
// Next belongs to one goroutine; the other methods are safe for concurrent use.
type Attachment struct {
	conn io.ReadWriteCloser
	in   frameReader

	silence *time.Timer   // closes conn when the supervisor has said nothing for so long
	wait    time.Duration // how long that is
	silent  atomic.Bool   // it has
	lost    func() error  // what to say then
}

// onSilence sets the error of Next after a supervisor has said nothing for too long.
func (a *Attachment) onSilence(lost func() error) { a.lost = lost }

// heed ends the attachment when the supervisor, which says at every heartbeat that it is
// there, has said nothing for so long.
func (a *Attachment) heed(wait time.Duration) {
	a.wait, a.lost = wait, func() error { return errSilent }
	a.silence = time.AfterFunc(wait, func() {
		a.silent.Store(true)
		_ = a.conn.Close()
	})
}

// View is something to show.
type View struct {
	// Paint are bytes for a terminal that was prepared with screen.Enter: safe, and
	// undone by screen.Leave.
	Paint []byte
	// Whole says that every row of the size last asked for is painted anew.
	Whole bool
	// Notice is a line of aibox's own, escaped; empty when there is none.
	Notice string
	// Ended says that the agent has ended. Paint is then text that it left on its
	// main screen, for the terminal as it was before screen.Enter.
	Ended bool
}

// Attach shows the terminal of a running interactive session on a terminal of this
// size. A session that has ended, or whose supervisor died, is ErrNotAttached.
// Any number of terminals may show one session: it has the size of the smallest.
func (s *Sessions) Attach(ctx context.Context, id ID, size screen.Size, colors screen.Colors) (*Attachment, error) {
	dir := s.store.dir(id)
	for held(dir) {
		attachment, err := s.store.dial(id).attach(ctx, size, colors)
		if errors.Is(err, errSilent) {
			return nil, s.silent(id)
		}
		if err == nil {
			attachment.onSilence(func() error { return s.silent(id) })
		}
		if err == nil || !errors.Is(err, errNoSupervisor) {
			return attachment, err
		}
		pause(ctx, reconnectPause) // it is about to open its socket, or about to end
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, ErrNotAttached
}

// ErrNotAttached says that a session has no terminal any more to attach to.
var ErrNotAttached = errors.New("the session does not run")

// attach asks for the terminal.
func (c client) attach(ctx context.Context, size screen.Size, colors screen.Colors) (*Attachment, error) {
	query := url.Values{
		"rows": {strconv.Itoa(size.Rows)}, "cols": {strconv.Itoa(size.Cols)}, "colors": {strconv.Itoa(int(colors))},
	}
	target := url.URL{Scheme: "http", Host: "session", Path: "/v1/attach", RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", attachProtocol)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fault.New(fault.Usage, "the session has no terminal to attach to: %s", text)
	}
	a := &Attachment{conn: conn, in: frameReader{bufio.NewReader(conn), maxFrame}}
	a.heed(heartbeat + tries*c.patience)
	return a, nil
}

// Type sends what the person typed.
func (a *Attachment) Type(keys []byte) error {
	for len(keys) > 0 {
		n := min(len(keys), maxInput)
		if err := writeFrame(a.conn, frameInput, keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// Resize tells the size of the person's terminal; a View with Whole follows.
func (a *Attachment) Resize(size screen.Size) error {
	return writeFrame(a.conn, frameResize, sizePayload(size))
}

// Next waits for something to show. After a View with Ended nothing comes. An
// error before that means that the supervisor is gone or that Close was called.
func (a *Attachment) Next() (View, error) {
	for {
		kind, payload, err := a.in.next()
		if a.silent.Load() {
			return View{}, a.lost()
		}
		a.silence.Reset(a.wait)
		if err != nil {
			return View{}, fmt.Errorf("%w: %w", errNoSupervisor, err)
		}
		switch kind {
		case framePaint, frameWhole:
			return View{Paint: payload, Whole: kind == frameWhole}, nil
		case frameNotice:
			return View{Notice: string(payload)}, nil
		case frameExit:
			return View{Paint: payload, Ended: true}, nil
		}
	}
}

// Close detaches. The session goes on.
func (a *Attachment) Close() error {
	a.silence.Stop()
	return a.conn.Close()
}
