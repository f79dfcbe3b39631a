package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"aibox/session"
)

// Limits bound what callers can use of the server itself. A zero field means its default.
type Limits struct {
	Message     int64         // bytes of one message; default 4 MiB
	Header      int           // bytes of a request's header; default 32 KiB
	HeaderTime  time.Duration // time for a request's header; default 10 s
	Stall       time.Duration // maximum pause of a body, or of the reader of an answer; default 1 min
	Idle        time.Duration // time for which a connection without a call stays open; default 2 min
	Connections int           // default 1,024; a new one takes the place of one without a request
	Calls       int           // at once; default 1,024
	TenantCalls int           // of one tenant at once; default 256
	// What messages that have arrived can have at once, in bytes, until their calls end or ask for
	// the next one.
	Messages       int64 // default 1 GiB
	TenantMessages int64 // of one tenant; default 256 MiB
	// What answers that are collected before they are sent can have at once, in bytes. With the
	// defaults, all calls of Exec that do not ask for more output than usual fit.
	Answers       int64 // default 2 GiB
	TenantAnswers int64 // of one tenant; default 512 MiB
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message: cmp.Or(l.Message, 4<<20), Header: cmp.Or(l.Header, 32<<10), HeaderTime: cmp.Or(l.HeaderTime, 10*time.Second),
		Stall: cmp.Or(l.Stall, time.Minute), Idle: cmp.Or(l.Idle, 2*time.Minute), Connections: cmp.Or(l.Connections, 1024),
		Calls: cmp.Or(l.Calls, 1024), TenantCalls: cmp.Or(l.TenantCalls, 256),
		Messages: cmp.Or(l.Messages, 1<<30), TenantMessages: cmp.Or(l.TenantMessages, 256<<20),
		Answers: cmp.Or(l.Answers, 2<<30), TenantAnswers: cmp.Or(l.TenantAnswers, 512<<20),
	}
}

// callLimit counts the calls that run.
type callLimit struct {
	limits Limits
	mu     sync.Mutex
	all    int
	of     map[session.Tenant]int
}

func newCallLimit(l Limits) *callLimit { return &callLimit{limits: l, of: map[session.Tenant]int{}} }

// begin counts a call until done is called, or refuses it.
func (c *callLimit) begin(tenant session.Tenant) (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.of[tenant] >= c.limits.TenantCalls:
		return nil, &failed{failLimit, fmt.Sprintf("the tenant has %d calls at once, which is the limit", c.limits.TenantCalls), []string{"end a stream, or try again later"}}
	case c.all >= c.limits.Calls:
		return nil, &failed{failLimit, fmt.Sprintf("the server has %d calls at once, which is the limit", c.limits.Calls), []string{"try again later"}}
	}
	c.all++
	c.of[tenant]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[tenant]--; c.of[tenant] == 0 {
			delete(c.of, tenant)
		}
	}, nil
}

// count returns how many calls run.
func (c *callLimit) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// isUpload reports whether a path is that of a method whose requests are a stream.
func isUpload(path string) bool {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return false
	}
	s, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return false
	}
	m := s.Methods().ByName(protoreflect.Name(method))
	return m != nil && m.IsStreamingClient()
}

// responseWriter ends an answer that is not read, and remembers its status.
type responseWriter struct {
	http.ResponseWriter
	stall  time.Duration
	status int
	wrote  bool
}

func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 || w.status < 200 {
		w.status = status
	}
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.status, w.wrote = cmp.Or(w.status, http.StatusOK), true
	defer w.limitTime()()
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() {
	defer w.limitTime()()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// limitTime limits the time of a write.
func (w *responseWriter) limitTime() (end func()) {
	control := http.NewResponseController(w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(w.stall))
	return func() { _ = control.SetWriteDeadline(time.Time{}) }
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
