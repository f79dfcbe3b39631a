package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"
)

// Attachment is the client's end of the terminal of an interactive session's agent.
// Next belongs to one goroutine; the other methods are safe for concurrent use.
type Attachment struct {
	conn io.ReadWriteCloser
	in   FrameReader

	silence *silence
	lost    func() error // returns the error for a silent supervisor
}

// OnTimeout sets the error that Next returns when the supervisor has been silent for too
// long.
func (a *Attachment) OnTimeout(lost func() error) { a.lost = lost }

// startTimeout ends the attachment when the supervisor, which sends a frame at every
// heartbeat, has sent nothing while Next waits for wait.
func (a *Attachment) startTimeout(wait time.Duration) {
	a.silence, a.lost = newSilence(a.conn, wait), func() error { return ErrTimeout }
}

// View is an update of the attached terminal.
type View struct {
	// Paint holds bytes for a terminal prepared with screen.Enter. They are safe, and
	// screen.Leave undoes them.
	Paint []byte
	// Whole reports that every row of the last requested size is repainted.
	Whole bool
	// Notice is a message of aibox itself, one escaped line; empty if there is none.
	Notice string
	// Ended reports that the agent has ended. Paint is then the text on its main screen,
	// for the terminal in its state before screen.Enter.
	Ended bool
}

// Attach attaches to the terminal of the agent.
func (c Client) Attach(ctx context.Context, size screen.Size, colors screen.Colors) (*Attachment, error) {
	attachment, err := c.attach(ctx, "/v1/attach", size, colors)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return nil, fault.New(fault.Usage, "the session has no terminal to attach to: %s", refused.Message)
	}
	return attachment, err
}

// attach attaches to the terminal at path.
func (c Client) attach(ctx context.Context, path string, size screen.Size, colors screen.Colors) (*Attachment, error) {
	query := url.Values{
		"rows": {strconv.Itoa(size.Rows)}, "cols": {strconv.Itoa(size.Cols)}, "colors": {strconv.Itoa(int(colors))},
	}
	target := url.URL{Scheme: "http", Host: "session", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := c.upgrade(ctx, request, attachProtocol)
	if err != nil {
		return nil, err
	}
	a := &Attachment{conn: conn, in: FrameReader{bufio.NewReader(conn), maxFrame}}
	a.startTimeout(Heartbeat + Attempts*c.timeout)
	return a, nil
}

// Type sends the user's input.
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

// Next waits for the next View. The View with Ended is the last one. An error before it
// means that the supervisor is gone or that Close was called.
func (a *Attachment) Next() (View, error) {
	for {
		a.silence.begin()
		kind, payload, err := a.in.Next()
		if a.silence.end() {
			return View{}, a.lost()
		}
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
	a.silence.end()
	return a.conn.Close()
}
