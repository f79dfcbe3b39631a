package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session/process"
)

// maxProcesses is the maximum size of a list of processes as JSON.
const maxProcesses = 64 << 20

// readSize is the maximum number of bytes read at once.
const readSize = 128 << 10

// takenSize is the number of bytes of frames after which a client reports the frames that it has
// taken.
const takenSize = 128 << 10

// StartProcess starts a process in the sandbox.
func (c Client) StartProcess(ctx context.Context, request process.Request) (process.Info, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return process.Info{}, err
	}
	response, err := c.send(ctx, http.MethodPost, "/v1/processes", nil, bytes.NewReader(body))
	if err != nil {
		return process.Info{}, err
	}
	return readInfo(response)
}

// maxInfo is the maximum size of a process.Info as JSON.
const maxInfo = 2 * process.MaxRequest

// readInfo reads the answer that is a process.Info.
func readInfo(response *http.Response) (info process.Info, err error) {
	defer response.Body.Close()
	return info, json.NewDecoder(io.LimitReader(response.Body, maxInfo)).Decode(&info)
}

// RunProcess is StartProcess and ConnectProcess in one request. The reader is nil if the
// supervisor has an older version, which only starts the process.
func (c Client) RunProcess(ctx context.Context, request process.Request) (process.Info, *ProcessReader, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return process.Info{}, nil, err
	}
	target := url.URL{Scheme: "http", Host: "session", Path: "/v1/processes"}
	message, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return process.Info{}, nil, err
	}
	response, conn, err := c.tryUpgrade(ctx, message, processProtocol)
	if err != nil {
		return process.Info{}, nil, err
	}
	if conn == nil {
		info, err := readInfo(response)
		return info, nil, err
	}
	r := c.newProcessReader(conn, 1)
	info, err := r.readStarted()
	if err != nil {
		_ = r.Close()
		return process.Info{}, nil, fmt.Errorf("%w: %w", ErrNoSupervisor, err)
	}
	return info, r, nil
}

// Processes lists the processes in the order of their starts.
func (c Client) Processes(ctx context.Context) ([]process.Info, error) { return c.processes(ctx, nil) }

// Process returns one process, or a fault of the kind NotFound. A supervisor of an older version
// ignores the id, and answers with all processes.
func (c Client) Process(ctx context.Context, id int) (process.Info, error) {
	all, err := c.processes(ctx, url.Values{"id": {strconv.Itoa(id)}})
	if err != nil {
		return process.Info{}, err
	}
	i := slices.IndexFunc(all, func(info process.Info) bool { return info.ID == id })
	if i < 0 {
		return process.Info{}, fault.New(fault.NotFound, "there is no process %d", id)
	}
	return all[i], nil
}

func (c Client) processes(ctx context.Context, query url.Values) ([]process.Info, error) {
	response, err := c.call(ctx, http.MethodGet, "/v1/processes", query)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var all []process.Info
	return all, json.NewDecoder(io.LimitReader(response.Body, maxProcesses)).Decode(&all)
}

// ProcessInput sends input to a process until in ends, and then ends its input if end is set.
// It returns an error when the process ends before.
func (c Client) ProcessInput(ctx context.Context, id int, in io.Reader, end bool) error {
	query := url.Values{"end": {strconv.FormatBool(end)}}
	response, err := c.send(ctx, http.MethodPost, processPath(id, "stdin"), query, &inputBody{in})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// The numbers of bytes of input that are sent at once: small while the input is slow.
const (
	smallInput = 32 << 10
	largeInput = 256 << 10
)

// copyInput copies input, each piece as soon as it is read.
func copyInput(to io.Writer, from io.Reader) (copied int64, err error) {
	buf := make([]byte, smallInput)
	for {
		n, readErr := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return copied, err
			}
			copied += int64(n)
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return copied, nil
		case readErr != nil:
			return copied, readErr
		case n == len(buf) && n < largeInput:
			buf = make([]byte, largeInput)
		}
	}
}

// inputBody is input as the body of a request. Its type is unknown to package http, so that
// each read is sent at once.
type inputBody struct{ in io.Reader }

func (b *inputBody) Read(p []byte) (int, error) { return b.in.Read(p) }

// WriteTo reads in larger pieces than package http does.
func (b *inputBody) WriteTo(w io.Writer) (int64, error) { return copyInput(w, b.in) }

// SignalProcess sends a signal to a process's group.
func (c Client) SignalProcess(ctx context.Context, id, number int) error {
	return c.post(ctx, processPath(id, "signal"), url.Values{"number": {strconv.Itoa(number)}})
}

// ResizeProcess sets the size of a process's terminal.
func (c Client) ResizeProcess(ctx context.Context, id int, size screen.Size) error {
	return c.post(ctx, processPath(id, "resize"), url.Values{"rows": {strconv.Itoa(size.Rows)}, "cols": {strconv.Itoa(size.Cols)}})
}

// AttachProcess attaches to the terminal of a process.
func (c Client) AttachProcess(ctx context.Context, id int, size screen.Size, colors screen.Colors) (*Attachment, error) {
	return c.attach(ctx, processPath(id, "attach"), size, colors)
}

func processPath(id int, action string) string {
	return "/v1/processes/" + strconv.Itoa(id) + "/" + action
}

// checkStatus returns a response if its status is 2xx.
func checkStatus(response *http.Response) (*http.Response, error) {
	if response.StatusCode/100 != 2 {
		return nil, refusalOf(response)
	}
	return response, nil
}

// refusalOf reads a response that is a refusal.
func refusalOf(response *http.Response) *RefusedError {
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return &RefusedError{response.StatusCode, strings.TrimSpace(string(text)), readHints(response.Header)}
}

// ProcessReader reads the frames of a process. Its methods belong to one goroutine, except
// Close.
type ProcessReader struct {
	conn    io.ReadWriteCloser
	in      *bufio.Reader
	buf     []byte // buffer of the data of the last frame
	last    uint64 // the last frame that was returned
	untaken int    // bytes of frames since the last report of taken frames
	ended   bool

	silence *silence
}

// ConnectProcess reads the frames of a process from the frame numbered from on. A client
// that reconnects names the frame after the last one that it has used.
func (c Client) ConnectProcess(ctx context.Context, id int, from uint64) (*ProcessReader, error) {
	target := url.URL{Scheme: "http", Host: "session", Path: processPath(id, "connect"), RawQuery: url.Values{"from": {strconv.FormatUint(from, 10)}}.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	conn, err := c.upgrade(ctx, request, processProtocol)
	if err != nil {
		return nil, err
	}
	return c.newProcessReader(conn, from), nil
}

// newProcessReader returns a reader of the frames that arrive on a connection, from the
// frame numbered from on.
func (c Client) newProcessReader(conn io.ReadWriteCloser, from uint64) *ProcessReader {
	return &ProcessReader{conn: conn, in: bufio.NewReaderSize(conn, readSize), last: from - 1, silence: newSilence(conn, Heartbeat+Attempts*c.timeout)}
}

// readStarted reads the description of the process that comes before the frames.
func (r *ProcessReader) readStarted() (info process.Info, err error) {
	r.silence.begin()
	defer r.silence.end()
	var length [4]byte
	if _, err := io.ReadFull(r.in, length[:]); err != nil {
		return info, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxInfo {
		return info, fmt.Errorf("a description of a process with %d bytes is too long", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r.in, text); err != nil {
		return info, err
	}
	return info, json.Unmarshal(text, &info)
}

// upgrade sends a request for another protocol, and returns the connection.
func (c Client) upgrade(ctx context.Context, request *http.Request, protocol string) (io.ReadWriteCloser, error) {
	response, conn, err := c.tryUpgrade(ctx, request, protocol)
	if err != nil || conn != nil {
		return conn, err
	}
	return nil, refusalOf(response)
}

// tryUpgrade is upgrade; if the supervisor answers the request without another protocol, it
// returns no connection and the response.
func (c Client) tryUpgrade(ctx context.Context, request *http.Request, protocol string) (*http.Response, io.ReadWriteCloser, error) {
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", protocol)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, noAnswer(ctx, err)
	}
	if conn, ok := response.Body.(io.ReadWriteCloser); ok && response.StatusCode == http.StatusSwitchingProtocols {
		return response, conn, nil
	}
	if response.StatusCode/100 != 2 {
		return nil, nil, refusalOf(response)
	}
	return response, nil, nil
}

// Next returns the next frame. Its data is valid until the next call. The call also reports
// that earlier frames were used, for which the process may wait. io.EOF comes after the
// last frame; ErrNoSupervisor means that frames are missing.
func (r *ProcessReader) Next() (process.Frame, error) {
	for {
		if r.ended {
			return process.Frame{}, io.EOF
		}
		if r.untaken >= takenSize {
			if err := r.take(); err != nil {
				return process.Frame{}, err
			}
		}
		r.silence.begin()
		frame, err := process.Read(r.in, r.buf)
		if r.silence.end() {
			return process.Frame{}, ErrTimeout
		}
		r.buf = frame.Data
		switch {
		case err != nil:
			return process.Frame{}, fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		case frame.Kind == process.Alive:
			continue
		case frame.Seq != r.last+1:
			return process.Frame{}, fmt.Errorf("frame %d came after frame %d", frame.Seq, r.last)
		}
		r.last, r.untaken = frame.Seq, r.untaken+frame.Size()
		switch frame.Kind {
		case process.Lost:
			gap, err := frame.Gap()
			if err != nil || gap.Next <= frame.Seq {
				return process.Frame{}, fmt.Errorf("frame %d reports a wrong gap", frame.Seq)
			}
			r.last = gap.Next - 1
		case process.Ended:
			r.ended = true
			_ = r.take()
		}
		return frame, nil
	}
}

// take reports the frames that were used.
func (r *ProcessReader) take() error {
	r.untaken = 0
	if _, err := r.conn.Write(binary.BigEndian.AppendUint64(nil, r.last)); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSupervisor, err)
	}
	return nil
}

// Close disconnects. The process continues.
func (r *ProcessReader) Close() error {
	r.silence.end()
	return r.conn.Close()
}
