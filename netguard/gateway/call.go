package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/internal/redact"
	"aibox/netguard"
	"aibox/netguard/gateway/failure"
	"aibox/netguard/gateway/schema"
	"aibox/netguard/gateway/usage"
)

// call is one request in progress.
type call struct {
	event       Event
	endpoint    *endpoint // nil for a call that does not pass
	path        string
	usage       *usage.Usage
	writer      *statusWriter
	body        *outgoingBody       // nil for a request without one
	streams     bool                // the answer will be streamed
	output      int64               // tokens that the answer can have at most; 0 if the request does not limit them
	choices     int64               // of the answer; 0 means 1
	mediaTokens int64               // see schema.Result
	surcharge   string              // see schema.Result
	several     bool                // see schema.Result
	fee         netguard.ServerTool // see schema.Result
	begin       func()              // reports, once, that a request for an answer begins; not while it waits for a budget
	reserved    *reservation        // nil before the request has one
	head        passedHead          // set when the request is admitted
	sent        int64               // bytes of the request's body that went upstream
	header      http.Header         // of the upstream's answer, nil when there was none
	failed      []byte              // the beginning of a failed answer
	opening     []byte              // the beginning of a response that is not an answer so far
	onAnswer    func()              // called when a piece of an answer has arrived
	received    int64               // bytes of the answer
	connected   atomic.Bool         // a connection to the server was made
	brokeOff    bool                // the answer was cut off
	hungUp      bool                // the agent disconnected before it had all of it
}

// api returns the called endpoint; 0 when it takes no body, or does not pass.
func (c *call) api() schema.Endpoint {
	if c.endpoint == nil {
		return 0
	}
	return c.endpoint.body
}

// spends reports whether the call uses the session's budgets. A server can embed with any model.
func (c *call) spends() bool { return c.event.Generates || c.api().Embeds() }

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// statusWriter remembers the status, and drops informational answers, whose headers the
// upstream controls. Unwrap lets flushes and deadlines through.
type statusWriter struct {
	http.ResponseWriter
	status int
	slot   *slot // of the request; nil before it has one
}

func (w *statusWriter) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records how long it waits for the client.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.slot.waiting(time.Now())
	defer w.slot.working()
	return w.ResponseWriter.Write(p)
}

// FlushError is Flush, and records the same.
func (w *statusWriter) FlushError() error {
	w.slot.waiting(time.Now())
	defer w.slot.working()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// interrupt ends the current Write and all later ones.
func (w *statusWriter) interrupt() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recordAbandoned records that the agent disconnected before there was an answer.
func (c *call) recordAbandoned() {
	c.event.Error = errGone.Error()
	c.event.Status, c.event.Outcome = 499, GivenUp
}

// countedBody is an answer that is counted while it is read.
type countedBody struct {
	io.ReadCloser
	response *http.Response
	call     *call
	ended    bool   // a Read has failed, also by the end of the answer
	last     []byte // the end of what was read, not longer than doneMark
	done     bool   // doneMark was read
}

// doneMark comes at the end of a stream of OpenAI's APIs. It cannot be in an answer's text, in which a
// new line is escaped.
const doneMark = "\ndata: [DONE]"

func (f *countedBody) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.call.observe(p[:n])
	f.noteDone(p[:n])
	if room := failure.Limit - len(f.call.failed); f.response.StatusCode >= http.StatusBadRequest {
		f.call.failed = append(f.call.failed, p[:min(n, room)]...)
	}
	if err != nil {
		f.ended = true
		f.response.Trailer = nil // read by now, and as untrusted as headers
		gone := f.response.Request.Context().Err() != nil
		f.call.hungUp = gone && !errors.Is(err, io.EOF) && !f.whole()
		f.call.brokeOff = !errors.Is(err, io.EOF) && !gone
	}
	return n, err
}

// Close ends the answer. If the agent disconnects while it is being written, there is no other
// Read.
func (f *countedBody) Close() error {
	f.call.hungUp = f.call.hungUp || !f.ended && !f.whole()
	return f.ReadCloser.Close()
}

// whole reports whether the announced length has arrived. Many clients disconnect then,
// without waiting for the end of the stream.
func (f *countedBody) whole() bool {
	length := f.response.ContentLength
	return length >= 0 && f.call.received >= length || f.done
}

// noteDone looks for doneMark in a piece of the answer, and across its beginning.
func (f *countedBody) noteDone(p []byte) {
	if f.done || len(p) == 0 {
		return
	}
	if f.last == nil {
		f.last = []byte("\n") // the mark can be the whole answer
	}
	f.last = append(f.last, p[:min(len(p), len(doneMark))]...)
	f.done = bytes.Contains(f.last, []byte(doneMark)) || bytes.Contains(p, []byte(doneMark))
	if len(p) > len(doneMark) {
		f.last = append(f.last[:0], p[len(p)-len(doneMark):]...)
	}
	f.last = f.last[max(0, len(f.last)-len(doneMark)):]
}

// observe takes a piece of the upstream's answer.
func (c *call) observe(p []byte) {
	before := c.usage.Pieces()
	_, _ = c.usage.Write(p)
	c.received += int64(len(p))
	if c.usage.Pieces() > before {
		c.onAnswer()
	}
	if room := openingLimit - len(c.opening); c.usage.Pieces() == 0 && room > 0 {
		c.opening = append(c.opening, p[:min(len(p), room)]...)
	}
}

// classify determines the outcome of a request that has reached the upstream.
func (c *call) classify(secrets *redact.Set) {
	if c.header == nil || c.event.Outcome != Answered {
		return
	}
	failed := c.usage.Failure()
	if c.event.Status >= http.StatusBadRequest {
		failed = failure.Read(c.failed)
	}
	c.event.Reason = failure.Line(failed.Message, secrets)
	switch {
	case c.event.Status >= http.StatusBadRequest, failed.Message != "":
		if c.event.Outcome = outcomeOf(c.event.Status, c.header, failed); c.event.Outcome == Busy {
			c.event.RetryAfter = retryAfter(c.header, time.Now())
		}
	case c.brokeOff:
		c.event.Error, c.event.Outcome = "the model server broke off its answer", Broken
	case !c.event.Generates, c.usage.Pieces() > 0:
	case c.usage.Ended():
		c.event.Outcome = Blank
	case c.hungUp:
		c.event.Outcome = GivenUp
	default:
		c.event.Error, c.event.Outcome = c.describeNonAnswer(secrets), NoAnswer
	}
}

// openingLimit is how many bytes of a response that is not an answer are read to describe
// it.
const openingLimit = 1 << 10

// describeNonAnswer describes, in a clause, what a server sent instead of an answer.
func (c *call) describeNonAnswer(secrets *redact.Set) string {
	opening := strings.TrimSpace(string(c.opening))
	kind := c.header.Get("Content-Type")
	switch {
	case opening == "":
		return "it sent nothing"
	case strings.HasPrefix(opening, "<"), strings.HasPrefix(kind, "text/html"):
		if title := failure.Line(failure.Page(opening), secrets); title != "" && opening[0] == '<' {
			return fmt.Sprintf("it sent a web page, “%s”", title)
		}
		return "it sent a web page"
	case strings.HasPrefix(kind, "text/event-stream"), strings.HasPrefix(opening, "data:"), strings.HasPrefix(opening, "event:"):
		return fmt.Sprintf("its stream holds nothing that the %s API has for one", c.event.Dialect)
	case strings.HasPrefix(opening, "{"), strings.HasPrefix(opening, "["):
		return fmt.Sprintf("its JSON holds nothing that the %s API has for one", c.event.Dialect)
	default:
		return fmt.Sprintf("it sent “%s”", failure.Line(truncate(opening, 100), secrets))
	}
}

// bufferSize is large because each read and write of a socket wakes its other end. At most one
// buffer is in use for each request at a time; a stream of small pieces touches little of it.
const bufferSize = 512 << 10

// buffers are the reused buffers for copying answers.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { buffer := make([]byte, bufferSize); return &buffer }}}
}

func (b *buffers) Get() []byte       { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// discardLogger drops what net/http would print on stderr: it could hold bytes of the
// agent.
func discardLogger() *log.Logger { return log.New(io.Discard, "", 0) }

// truncate cuts text off at limit bytes.
func truncate(text string, limit int) string { return text[:min(len(text), limit)] }
