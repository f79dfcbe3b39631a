package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"aibox/internal/fault"
)

// Client does operations on the files of one sandbox, with the rights of one user. Its errors
// are faults, with an Error in the chain if the sandbox refused. It is safe for concurrent
// use.
type Client struct {
	dial func(ctx context.Context) (io.ReadWriteCloser, error)
	user string
}

// NewClient returns a client. dial makes a connection for one request. user is USER or
// USER:GROUP, each a name or a number; empty is root.
func NewClient(dial func(ctx context.Context) (io.ReadWriteCloser, error), user string) *Client {
	return &Client{dial, user}
}

// Stat describes a file: the target of a symlink if follow is set, otherwise the link.
func (c *Client) Stat(ctx context.Context, path Path, follow bool) (Entry, error) {
	return c.entry(ctx, Request{Op: OpStat, Path: path, Follow: follow})
}

// List lists a part of the entries below a folder. It follows no symlink below it.
func (c *Client) List(ctx context.Context, path Path, o ListOptions) (Page, error) {
	answer, err := c.do(ctx, Request{Op: OpList, Path: path, List: &o})
	switch most := cmp.Or(o.Limit, DefaultPage); {
	case err != nil:
	case answer.Page == nil:
		err = fmt.Errorf("%w: no page", ErrProtocol)
	case len(answer.Page.Entries) > most:
		err = fmt.Errorf("%w: a page of %d entries, more than %d", ErrProtocol, len(answer.Page.Entries), most)
	case answer.Page.Next != "" && len(answer.Page.Entries) == 0:
		err = fmt.Errorf("%w: an empty page that is not the last", ErrProtocol)
	}
	if err != nil {
		return Page{}, err
	}
	return *answer.Page, nil
}

// MakeFolder makes a folder.
func (c *Client) MakeFolder(ctx context.Context, path Path, o MakeOptions) (Entry, error) {
	return c.entry(ctx, Request{Op: OpMake, Path: path, Make: &o})
}

// Move renames a file or folder, or moves it to another file system. With replace it replaces
// a file.
func (c *Client) Move(ctx context.Context, from, to Path, replace bool) (Entry, error) {
	return c.entry(ctx, Request{Op: OpMove, Path: from, To: to, Replace: replace})
}

// Remove removes a file, a symlink or an empty folder; with deep also a folder with all below
// it.
func (c *Client) Remove(ctx context.Context, path Path, deep bool) error {
	_, err := c.do(ctx, Request{Op: OpRemove, Path: path, Deep: deep})
	return err
}

// Read reads a part of a regular file. The caller closes the contents.
func (c *Client) Read(ctx context.Context, path Path, part Range) (Entry, io.ReadCloser, error) {
	call, err := c.begin(ctx, Request{Op: OpRead, Path: path, Range: &part})
	if err != nil {
		return Entry{}, nil, err
	}
	answer, err := call.answer()
	if err == nil && answer.Entry == nil {
		err = fmt.Errorf("%w: no entry", ErrProtocol)
	}
	if err != nil {
		call.end()
		return Entry{}, nil, err
	}
	return *answer.Entry, &contents{call: call, data: dataReader{in: call.in}}, nil
}

// Write writes a regular file from in. Readers of the file see the old contents or all of the
// new ones. The file belongs to the client's user. When Write fails early, it may still read
// from in after it has returned; the body of a request at the server then fails.
func (c *Client) Write(ctx context.Context, path Path, in io.Reader, o WriteOptions) (Entry, error) {
	call, err := c.begin(ctx, Request{Op: OpWrite, Path: path, Write: &o})
	if err != nil {
		return Entry{}, err
	}
	defer call.end()
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		_, err := io.CopyBuffer(&dataWriter{w: call.conn}, onlyReader{in}, make([]byte, maxData))
		if err == nil {
			err = writeFrame(call.conn, frameEnd, nil)
		}
		if err != nil {
			failed <- err
			call.end() // without the end of its data, the file is not written
		}
	}()
	answer, err := call.answer()
	if err == nil && answer.Entry == nil {
		err = fmt.Errorf("%w: no entry", ErrProtocol)
	}
	if err != nil {
		select {
		case cause := <-failed:
			if cause != nil && ctx.Err() == nil && errors.Is(err, errNoAnswer) {
				err = cause // its error is in failed
			}
		default:
		}
		return Entry{}, err
	}
	return *answer.Entry, nil
}

// Watch visits the changes in a folder, with deep also in all folders below it. watching is
// called once the watch sees changes; it may be nil. Watch returns nil when the folder is
// gone, and otherwise when ctx ends or visit fails.
func (c *Client) Watch(ctx context.Context, path Path, deep bool, watching func(), visit func(Event) error) error {
	call, err := c.begin(ctx, Request{Op: OpWatch, Path: path, Deep: deep})
	if err != nil {
		return err
	}
	defer call.end()
	if _, err := call.answer(); err != nil {
		return err
	}
	if watching != nil {
		watching()
	}
	for {
		kind, payload, err := call.in.next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		case kind == frameAnswer:
			answer, err := decode[Answer](payload)
			if err == nil && answer.Error != nil {
				err = answer.Error.fault()
			}
			return err
		case kind != frameEvent:
			return fmt.Errorf("%w: frame %q among events", ErrProtocol, kind)
		}
		event, err := decode[Event](payload)
		if err != nil {
			return err
		}
		if err := visit(event); err != nil {
			return err
		}
	}
}

// entry does an operation whose answer is an entry.
func (c *Client) entry(ctx context.Context, q Request) (Entry, error) {
	answer, err := c.do(ctx, q)
	if err == nil && answer.Entry == nil {
		err = fmt.Errorf("%w: no entry", ErrProtocol)
	}
	if err != nil {
		return Entry{}, err
	}
	return *answer.Entry, nil
}

// do does an operation with one answer.
func (c *Client) do(ctx context.Context, q Request) (Answer, error) {
	call, err := c.begin(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	defer call.end()
	return call.answer()
}

// call is a request that waits for its answer.
type call struct {
	ctx  context.Context //nolint:containedctx // of one request
	conn io.ReadWriteCloser
	in   *reader
	end  func() // closes conn
}

// errNoAnswer reports that the connection ended before the answer.
var errNoAnswer = errors.New("the sandbox gave no answer")

// begin sends a request. The caller calls end.
func (c *Client) begin(ctx context.Context, q Request) (*call, error) {
	if err := q.check(); err != nil {
		return nil, err.fault()
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	call := &call{ctx: ctx, conn: conn, in: newReader(conn)}
	call.end = sync.OnceFunc(func() {
		stop()
		_ = conn.Close()
	})
	q.User = c.user
	if err := writeMessage(conn, frameRequest, q); err != nil {
		call.end()
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return call, nil
}

// answer waits for the next answer. The sandbox's refusal is an error.
func (c *call) answer() (Answer, error) {
	answer, err := expect[Answer](c.in, frameAnswer)
	switch {
	case c.ctx.Err() != nil:
		return Answer{}, c.ctx.Err()
	case errors.Is(err, ErrProtocol):
		return Answer{}, err
	case err != nil:
		return Answer{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	case answer.Error != nil:
		return Answer{}, answer.Error.fault()
	}
	return answer, nil
}

// contents reads the data of a file.
type contents struct {
	call *call
	data dataReader
}

// Read returns io.EOF at the end of the part.
func (c *contents) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	switch {
	case err == nil:
		return n, nil
	case c.call.ctx.Err() != nil:
		return n, c.call.ctx.Err()
	case !errors.Is(err, io.EOF):
		return n, err
	}
	if _, err := c.call.answer(); err != nil {
		return n, err
	}
	return n, io.EOF
}

func (c *contents) Close() error {
	c.call.end()
	return nil
}

// onlyReader hides other methods.
type onlyReader struct{ io.Reader }

// fault returns the error for users.
func (e *Error) fault() error {
	kind := fault.Usage
	switch e.Code {
	case Permission:
		kind = fault.Refused
	case NoSpace, Exhausted:
		kind = fault.Limit
	case Failed:
		kind = fault.Internal
	default:
	}
	return fault.New(kind, "%w", e)
}
