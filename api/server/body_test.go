package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aibox/internal/files"
	"aibox/session"
)

// refusing refuses a write as soon as it has read a byte. It reads on, as files.Client does when a
// sandbox refuses.
type refusing struct {
	noFiles

	ended chan error // of the reading
}

func (r refusing) Write(_ context.Context, _ files.Path, in io.Reader, _ files.WriteOptions) (files.Entry, error) {
	began := make(chan struct{})
	go func() {
		_, err := io.ReadFull(in, make([]byte, 1))
		close(began)
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		r.ended <- err
	}()
	<-began
	return files.Entry{}, &files.Error{Code: files.Permission, Message: "permission denied"}
}

// answerTo sends a part of a request, and returns the answer that it gets without the rest.
func (s *site) answerTo(request string) *http.Response {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

func TestARefusedWriteIsAnsweredAndReadsNoFurtherWhileItsClientSendsNothing(t *testing.T) {
	reader := refusing{ended: make(chan error, 1)}
	s := newSite(t, func(o *Options) {
		o.Limits.Stall = time.Hour
		o.Services.Files = func(context.Context, session.ID, string) Files { return reader }
	})
	id, token := s.sandbox("a"), s.token("a")
	first := fmt.Sprintf(`{"sandboxId":%q,"path":"/x","content":{"data":"eA=="}}`, id)
	envelope := "\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(first)))) + first
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"REST":    {"PUT /v1/sandboxes/" + id + "/files/content?path=/x HTTP/1.1\r\nContent-Length: 1000000\r\n%s\r\nx", http.StatusForbidden},
		"Connect": {"POST /aibox.v1.Files/Write HTTP/1.1\r\nContent-Type: application/connect+json\r\nContent-Length: 1000000\r\n%s\r\n" + envelope, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.answerTo(fmt.Sprintf(c.request, "Host: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\n")); got.StatusCode != c.status {
				t.Errorf("the answer is %s", got.Status)
			}
			if err := <-reader.ended; err == nil {
				t.Error("the body was read to its end")
			}
		})
	}
}

func TestABodyThatStopsArrivingIsATimeoutInEveryProtocol(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{Stall: 100 * time.Millisecond} })
	for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
		got := s.answerTo("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer(s.token("a")) + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		if got.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// timedWriter records the last deadline for reading.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timedWriter) SetReadDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

// net/http reads the rest of a small body before it sends the answer.
func TestTheRestOfARefusedRequestHasLittleTime(t *testing.T) {
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	body := newBodyReader(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("some of it")), time.Hour)
	if time.Until(w.deadline) < time.Minute {
		t.Errorf("the body has to arrive until %v", w.deadline)
	}
	body.end()
	if time.Until(w.deadline) > time.Minute {
		t.Errorf("the rest can arrive until %v", w.deadline)
	}
}
