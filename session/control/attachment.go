package control

import (
	"bufio"
	"context"
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

// Attachment is the client's end of the terminal of an interactive session's agent.
// Next belongs to one goroutine; the other methods are safe for concurrent use.
type Attachment struct {
	conn io.ReadWriteCloser
	in   FrameReader

	silence *time.Timer   // closes conn when the supervisor has said nothing for so long
	wait    time.Duration // how long that is
	silent  atomic.Bool   // it has
	lost    func() error  // what to say then
}

// OnTimeout sets the error of Next after a supervisor has said nothing for too long.
func (a *Attachment) OnTimeout(lost func() error) { a.lost = lost }

// heed ends the attachment when the supervisor, which says at every heartbeat that it is
// there, has said nothing for so long.
func (a *Attachment) heed(wait time.Duration) {
	a.wait, a.lost = wait, func() error { return ErrTimeout }
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
	// Whole says that every row of the size last asked for is repainted.
	Whole bool
	// Notice is a line of aibox's own, escaped; empty when there is none.
	Notice string
	// Ended says that the agent has ended. Paint is then text that it left on its
	// main screen, for the terminal as it was before screen.Enter.
	Ended bool
}

// Attach asks for the terminal.
func (c Client) Attach(ctx context.Context, size screen.Size, colors screen.Colors) (*Attachment, error) {
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
	a := &Attachment{conn: conn, in: FrameReader{bufio.NewReader(conn), maxFrame}}
	a.heed(Heartbeat + Attempts*c.timeout)
	return a, nil
}

// Type sends what the user typed.
func (a *Attachment) Type(keys []byte) error {
	for len(keys) > 0 {
		n := min(len(keys), MaxInput)
		if err := WriteFrame(a.conn, FrameInput, keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// Resize sends the size of the client's terminal; a View with Whole follows.
func (a *Attachment) Resize(size screen.Size) error {
	return WriteFrame(a.conn, FrameResize, sizePayload(size))
}

// Next waits for something to show. After a View with Ended nothing comes. An
// error before that means that the supervisor is gone or that Close was called.
func (a *Attachment) Next() (View, error) {
	for {
		kind, payload, err := a.in.Next()
		if a.silent.Load() {
			return View{}, a.lost()
		}
		a.silence.Reset(a.wait)
		if err != nil {
			return View{}, fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		}
		switch kind {
		case FramePaint, FrameWhole:
			return View{Paint: payload, Whole: kind == FrameWhole}, nil
		case FrameNotice:
			return View{Notice: string(payload)}, nil
		case FrameExit:
			return View{Paint: payload, Ended: true}, nil
		}
	}
}

// Close detaches. The session continues.
func (a *Attachment) Close() error {
	a.silence.Stop()
	return a.conn.Close()
}
