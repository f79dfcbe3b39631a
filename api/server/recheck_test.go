package server

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/session/process"
)

// rechecked reports the checks of the tokens of running calls.
type rechecked struct {
	Tokens
	again chan struct{}
	quiet chan struct{} // closed when nobody waits for reports any more
}

func (r rechecked) Caller(ctx context.Context, id string) (auth.Caller, error) {
	select {
	case r.again <- struct{}{}:
	case <-r.quiet:
	}
	return r.Tokens.Caller(ctx, id)
}

// post makes a call and returns its whole answer.
func (s *site) post(ctx context.Context, path, contentType, body, token string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func TestARunningCallEndsWithItsToken(t *testing.T) {
	const message = `{"sandbox_id":"00001-sandbox","process_id":1}`
	envelope := string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
	for name, call := range map[string]func(ctx context.Context, s *site, token string) (end string){
		"a stream of events": func(ctx context.Context, s *site, token string) string {
			return s.post(ctx, "/aibox.v1.Processes/Connect", "application/connect+json", envelope, token)
		},
		"a command": func(ctx context.Context, s *site, token string) string {
			return s.post(ctx, "/aibox.v1.Processes/Exec", "application/json", `{"sandbox_id":"00001-sandbox","argv":["wait"]}`, token)
		},
		"a WebSocket": func(ctx context.Context, s *site, token string) string {
			conn := s.dialProcess("00001-sandbox", 1, token, "")
			for {
				if _, _, err := conn.Read(ctx); ctx.Err() != nil {
					return err.Error()
				} else if err != nil {
					return "unauthenticated"
				}
			}
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		tokens := rechecked{again: make(chan struct{}), quiet: make(chan struct{})}
		s := newSite(t, func(o *Options) { tokens.Tokens, o.Tokens = o.Tokens, &tokens })
		s.recheck = time.Millisecond
		s.sandbox("a")
		if _, err := s.m.StartProcess(ctx, "00001-sandbox", process.Request{Argv: []string{"cat"}, Stdin: true}); err != nil {
			t.Fatal(err)
		}
		token := s.token("a")
		var running sync.WaitGroup
		end := make(chan string, 1)
		running.Go(func() { end <- call(ctx, s, token) })
		for range 3 { // it runs, and its token is valid
			select {
			case <-tokens.again:
			case got := <-end:
				t.Fatalf("%s ended before its token: %q", name, got)
			}
		}
		caller, err := s.store.Authenticate(ctx, token)
		if err != nil || s.store.RevokeToken(ctx, caller.Token) != nil {
			t.Fatal(err)
		}
		close(tokens.quiet)
		if got := <-end; !strings.Contains(got, "unauthenticated") {
			t.Errorf("%s: %q", name, got)
		}
		cancel()
		running.Wait()
	}
}
