package control

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"aibox/session/output"
)

// ErrNoSupervisor reports that the control socket does not answer.
var ErrNoSupervisor = errors.New("the session's supervisor does not answer")

// ErrTimeout is the ErrNoSupervisor of a supervisor that has the socket open but does not
// answer, because it hangs or was stopped.
var ErrTimeout = fmt.Errorf("%w in time", ErrNoSupervisor)

// Client talks to the supervisor of one session.
type Client struct {
	dir     string // the session's folder
	http    *http.Client
	timeout time.Duration
	patient bool // waits for the beginning of an answer without a limit
}

// AnswerTimeout is how long a supervisor may take to begin an answer. Before some answers
// it writes to its log, on a disk that may be busy.
const AnswerTimeout = 10 * time.Second

// Attempts is the number of timeouts in a row after which a supervisor counts as
// unresponsive. For a stopped supervisor one is enough.
const Attempts = 3

const SocketFile = "control.sock"

// Dial returns a client for the session folder dir. It waits at most timeout for the
// beginning of an answer. Dial sends nothing.
func Dial(dir string, timeout time.Duration) Client {
	c := Client{dir: dir, timeout: timeout}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) }
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: dial, DisableKeepAlives: true, ResponseHeaderTimeout: timeout,
	}}
	return c
}

// Patient returns a client that waits for the beginning of an answer as long as the context
// of a call allows. It is for calls that wait for an event in the sandbox; the caller must
// detect a supervisor that hangs.
func (c Client) Patient() Client {
	patient := Dial(c.dir, 0)
	patient.timeout, patient.patient = c.timeout, true
	return patient
}

// connect connects to the control socket.
func (c Client) connect(ctx context.Context) (net.Conn, error) {
	fd, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	return new(net.Dialer).DialContext(ctx, "unix", controlPath(fd))
}

// noAnswer returns ErrNoSupervisor or ErrTimeout, with the cause.
func noAnswer(ctx context.Context, err error) error {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() && ctx.Err() == nil {
		return ErrTimeout
	}
	return fmt.Errorf("%w: %w", ErrNoSupervisor, err)
}

// call sends one request without a body, and returns the response if its status is 2xx.
func (c Client) call(ctx context.Context, method, path string, query url.Values) (*http.Response, error) {
	return c.send(ctx, method, path, query, nil)
}

// send sends one request, and returns the response if its status is 2xx.
func (c Client) send(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Response, error) {
	target := url.URL{Scheme: "http", Host: "session", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	return checkStatus(response)
}

func readHints(header http.Header) []string {
	var hints []string
	for _, escaped := range header.Values(hintHeader) {
		if hint, err := url.QueryUnescape(escaped); err == nil {
			hints = append(hints, hint)
		}
	}
	return hints
}

// Ping requests any answer.
func (c Client) Ping(ctx context.Context) error {
	response, err := c.call(ctx, http.MethodGet, "/v1/state", nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

func (c Client) post(ctx context.Context, path string, query url.Values) error {
	response, err := c.call(ctx, http.MethodPost, path, query)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Stop requests the end of the session; reason is for its record. grace is how long the agent
// has to end by itself; 0 is the default.
func (c Client) Stop(ctx context.Context, reason string, grace time.Duration) error {
	query := url.Values{"reason": {reason}}
	if grace > 0 {
		query.Set("grace", grace.String())
	}
	return c.post(ctx, "/v1/stop", query)
}

// Signal sends a signal to the agent.
func (c Client) Signal(ctx context.Context, number int) error {
	return c.post(ctx, "/v1/signal", url.Values{"number": {strconv.Itoa(number)}})
}

// Answer sends the user's answer to a request of the session. Supervisors of versions that
// know only yes and no read the parameter yes.
func (c Client) Answer(ctx context.Context, request int, answer string, yes bool) error {
	return c.post(ctx, "/v1/answer", url.Values{"id": {strconv.Itoa(request)}, "answer": {answer}, "yes": {strconv.FormatBool(yes)}})
}

// Extend extends the session's time limit.
func (c Client) Extend(ctx context.Context, by time.Duration) error {
	return c.post(ctx, "/v1/extend", url.Values{"by": {by.String()}})
}

// maxScreen is the maximum size of a screen as text.
const maxScreen = 16 << 20

// Screen returns the screen of the agent's terminal, as text with colors.
func (c Client) Screen(ctx context.Context) ([]byte, error) {
	response, err := c.call(ctx, http.MethodGet, "/v1/screen", nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(io.LimitReader(response.Body, maxScreen))
}

// Output visits chunks from the offset from on until the agent has ended, and returns the
// offset after the last one. If the supervisor dies, it returns ErrNoSupervisor.
func (c Client) Output(ctx context.Context, from int64, visit func(output.Chunk) error) (int64, error) {
	response, err := c.call(ctx, http.MethodGet, "/v1/output", url.Values{"from": {strconv.FormatInt(from, 10)}, "times": {"true"}})
	if err != nil {
		return from, err
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	timed := response.Header.Get("Content-Type") == timedOutput // an older supervisor sends none
	for {
		chunk, err := readChunk(in, timed)
		if errors.Is(err, io.EOF) {
			return from, nil
		}
		if err != nil {
			if ctx.Err() != nil {
				return from, ctx.Err()
			}
			return from, fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		}
		chunk.Offset = from
		if err := visit(chunk); err != nil {
			return from, err
		}
		from += int64(len(chunk.Data))
	}
}

// readChunk reads the output of writeChunk. io.EOF is the end between two chunks.
func readChunk(in io.Reader, timed bool) (output.Chunk, error) {
	header := make([]byte, chunkHeader, timedChunkHeader)
	if timed {
		header = header[:timedChunkHeader]
	}
	if _, err := io.ReadFull(in, header); err != nil {
		return output.Chunk{}, err
	}
	var at time.Time
	if timed {
		if nanoseconds := int64(binary.BigEndian.Uint64(header[chunkHeader:])); nanoseconds != 0 { //nolint:gosec // the same bits
			at = time.Unix(0, nanoseconds)
		}
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > output.MaxSize {
		return output.Chunk{}, errors.New("a chunk of output is longer than a record may be")
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return output.Chunk{}, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return output.Chunk{Stream: output.Stream(header[0]), Time: at, Data: data}, nil
}
