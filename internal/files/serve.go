package files

import (
	"context"
	"errors"
	"io"
)

// Exchange is one request and its answers, for the program that does the operation.
type Exchange struct {
	Request Request

	conn io.ReadWriteCloser
	in   *reader
	data dataReader

	begun bool // the first of two answers was sent
}

// Input returns the data of a write. It ends with io.EOF only if all of it has arrived.
func (x *Exchange) Input() io.Reader { return &x.data }

// Begin sends the first of two answers.
func (x *Exchange) Begin(first Answer) error {
	x.begun = true
	return writeMessage(x.conn, frameAnswer, first)
}

// Output returns the writer for the data of a read.
func (x *Exchange) Output() io.Writer { return &dataWriter{w: x.conn} }

// Event sends an event.
func (x *Exchange) Event(e Event) error { return writeMessage(x.conn, frameEvent, e) }

// untilGone returns a context that ends when the client closes the connection. The client
// sends nothing more on it.
func (x *Exchange) untilGone(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = x.in.in.ReadByte()
	}()
	return ctx
}

// Serve answers the requests of a connection until it ends. do does one operation and returns
// the last answer. For a watch, ctx ends when the client is gone.
func Serve(conn io.ReadWriteCloser, do func(ctx context.Context, x *Exchange) (Answer, error)) error {
	defer conn.Close()
	in := newReader(conn)
	for {
		q, err := expect[Request](in, frameRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		x := &Exchange{Request: q, conn: conn, in: in, data: dataReader{in: in}}
		if err := x.serve(do); err != nil || q.Op == OpWatch {
			return err
		}
	}
}

// Refuse answers the first request of a connection with an error, and closes it.
func Refuse(conn io.ReadWriteCloser, cause error) error {
	return Serve(conn, func(context.Context, *Exchange) (Answer, error) { return Answer{}, cause })
}

// serve does one operation and sends the last answer.
func (x *Exchange) serve(do func(ctx context.Context, x *Exchange) (Answer, error)) error {
	answer, err := Answer{}, error(nil)
	if invalid := x.Request.check(); invalid != nil {
		err = invalid
	} else {
		ctx := context.Background()
		if x.Request.Op == OpWatch {
			ctx = x.untilGone(ctx)
		}
		answer, err = do(ctx, x)
	}
	if err != nil {
		answer = Answer{Error: toError(x.Request.Path, err)}
	}
	if x.begun && x.Request.Op == OpRead {
		if err := writeFrame(x.conn, frameEnd, nil); err != nil {
			return err
		}
	}
	if err := writeMessage(x.conn, frameAnswer, answer); err != nil {
		return err
	}
	if x.Request.Op == OpWrite {
		// The client may still be sending.
		_, err := io.Copy(io.Discard, &x.data)
		return err
	}
	return nil
}
