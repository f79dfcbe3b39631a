package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"aibox/netguard/gateway/schema"
	"aibox/netguard/gateway/usage"
)

func ask(size int) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", size) + `"}]}`
}

func TestSessionSendsNoMoreThanItsLimit(t *testing.T) {
	got := 0
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got += len(body)
	}, func(c *Config) { c.UploadLimit = 1100 })
	for i, status := range []int{200, 200, 403, 403} {
		b.events = nil
		answer := b.send(t, "POST", chat, ask(400))
		event := b.last(t)
		if answer.StatusCode != status || (event.Limit == UploadLimit) != (status == 403) || event.Sent > 0 != (status == 200) {
			t.Errorf("request %d: %d %+v", i, answer.StatusCode, event)
		}
		if status == 403 && (!strings.Contains(text(t, answer), "1100 bytes") || answer.Header.Get("X-Should-Retry") != "false" || event.Outcome != Refused) {
			t.Errorf("request %d: %+v", i, event)
		}
	}
	if b.send(t, "POST", chat, ask(10)).StatusCode != 200 || got > 1100 {
		t.Errorf("%d bytes went upstream", got)
	}
}

func TestSessionUsesNoMoreTokensThanItsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter)
		allowed int // requests that are answered
	}{
		"what the server says": {func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":20}}`)
		}, 2},
		"a server that does not say": {func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("word", 50)) }, 2},
		"a stream without a count": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 40 {
				fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"index\":0}],\"x\":1}\n\n")
			}
		}, 2},
		"failures cost nothing": {func(w http.ResponseWriter) { w.WriteHeader(500); fmt.Fprint(w, strings.Repeat("word", 500)) }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w) }, func(c *Config) { c.TokenLimit = 100 })
			allowed := 0
			for range 9 {
				b.events = nil
				answer := b.send(t, "POST", chat, ask(1))
				_ = text(t, answer)
				if event := b.last(t); event.Limit != TokenLimit {
					allowed++
				} else if answer.StatusCode != 403 || event.Outcome != Refused {
					t.Errorf("%d %+v", answer.StatusCode, event)
				}
			}
			if allowed != c.allowed {
				t.Errorf("%d requests were answered, want %d", allowed, c.allowed)
			}
			if b.send(t, "GET", "/v1/models", "").StatusCode == 403 {
				t.Error("the list of models counts")
			}
		})
	}
}

// A server embeds texts with any model, also with the session's own. The vectors are no tokens.
func TestEmbeddingsCountTowardTheLimits(t *testing.T) {
	vectors := strings.Repeat("0.125,", 5000) + "0.5"
	for path, c := range map[string]struct{ request, answer string }{
		"/openai/v1/embeddings":                      {`{"model":"m","input":"x"}`, `{"data":[{"embedding":[` + vectors + `]}],"usage":{"prompt_tokens":40,"total_tokens":40}}`},
		"/openai/v1/embeddings?total":                {`{"model":"m","input":"` + strings.Repeat("x", 140) + `"}`, `{"data":[],"usage":{"total_tokens":40}}`},
		"/openai/v1/embeddings?":                     {`{"model":"m","input":"` + strings.Repeat("x", 140) + `"}`, `{"data":[{"embedding":[` + vectors + `]}]}`},
		"/ollama/api/embed":                          {`{"model":"m","input":"x"}`, `{"embeddings":[[` + vectors + `]],"prompt_eval_count":40}`},
		"/ollama/api/embeddings":                     {`{"model":"m","prompt":"x"}`, `{"embedding":[` + vectors + `],"prompt_eval_count":40}`},
		"/gemini/v1beta/models/m:embedContent":       {`{"content":{"parts":[{"text":"x"}]}}`, `{"embedding":{"values":[` + vectors + `]},"usageMetadata":{"promptTokenCount":40}}`},
		"/gemini/v1beta/models/m:batchEmbedContents": {`{"requests":[]}`, `{"embeddings":[],"usageMetadata":{"promptTokenCount":40}}`},
	} {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.answer) }, func(c *Config) { c.TokenLimit = 100 })
		for i, status := range []int{200, 200, 200, 403} {
			b.events = nil
			answer := b.send(t, "POST", path, c.request)
			body := text(t, answer)
			if event := b.last(t); answer.StatusCode != status || (event.Limit == TokenLimit) != (status == 403) || event.Generates || !event.Spends {
				t.Errorf("%s, request %d: %d %.200s %+v", path, i, answer.StatusCode, body, event)
			}
		}
		limited := newBench(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.answer) }, func(config *Config) { config.Price, config.CostLimit = testPrice, 40*2/1e6 })
		for i, status := range []int{200, 403} {
			limited.events = nil
			answer := limited.send(t, "POST", path, c.request)
			body := text(t, answer)
			if event := limited.last(t); answer.StatusCode != status || (event.Cost > 0) != (status == 200 && event.InputTokens > 0) {
				t.Errorf("%s, request %d with a limit of cost: %d %.200s %+v", path, i, answer.StatusCode, body, event)
			}
		}
	}
}

// An agent that disconnects before the count arrives does not evade the limit.
func TestUnreadAnswerCountsTowardTheLimit(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 1000)); err != nil || r.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}, func(c *Config) { c.TokenLimit = 1000 })
	limit := Limit(0)
	for range 10 {
		b.events = nil
		answer := b.send(t, "POST", chat, ask(1))
		_, _ = io.ReadFull(answer.Body, make([]byte, 50_000))
		answer.Body.Close()
		if limit = b.last(t).Limit; limit != Limit(0) {
			break
		}
	}
	if limit != TokenLimit {
		t.Error("the limit is never reached")
	}
}

// The server has read such a request, and works on it, so it costs.
func TestARequestThatIsGivenUpBeforeItsAnswerCountsTowardTheLimit(t *testing.T) {
	arrived := make(chan struct{})
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	}, func(c *Config) { c.TokenLimit = 1000 })
	for n := range 5 {
		b.events = nil
		gone := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+chat, strings.NewReader(ask(1000)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+placeholder)
		go func() {
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
			if err == nil {
				response.Body.Close()
			}
			gone <- err
		}()
		select {
		case <-arrived:
			if n == 4 {
				t.Error("the limit is never reached")
			}
		case err := <-gone:
			cancel()
			if limit := b.last(t).Limit; n < 3 || err != nil || limit != TokenLimit {
				t.Errorf("request %d: %v, limit %v", n, err, limit)
			}
			return
		}
		cancel()
		if err := <-gone; err == nil {
			t.Errorf("request %d: it was answered", n)
		}
		if event := b.last(t); event.Outcome != GivenUp || event.InputTokens != 0 {
			t.Errorf("request %d: %+v", n, event)
		}
	}
}

func TestOutputOfARequestThatIsGivenUpIsEstimatedByItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		ago     time.Duration
		output  int64 // the request's own limit
		choices int64
		media   int64 // tokens of pictures
		streams bool
		path    string
		broken  bool
		want    int64 // tokens, with the 100 of the input
	}{
		"a minute":              {ago: time.Minute, want: 6100},
		"with a limit":          {ago: time.Minute, output: 50, want: 150},
		"for hours":             {ago: 24 * time.Hour, want: 100 + longestOutput},
		"of several choices":    {ago: time.Minute, choices: 3, want: 100 + 3*6000},
		"of pictures":           {ago: time.Minute, media: 4000, output: 50, want: 4150},
		"a stream":              {ago: time.Minute, streams: true, want: 100},
		"a stream of Gemini's":  {ago: time.Minute, path: "/v1beta/models/g:streamGenerateContent", want: 100},
		"dropped by the server": {ago: time.Minute, broken: true, want: 6100},
		"not sent":              {},
	} {
		g := &Gateway{ledger: newLedger()}
		one := &call{usage: usage.New(schema.OpenAI, schema.ChatCompletions), body: &outgoingBody{}, sent: 400, output: c.output, choices: c.choices, mediaTokens: c.media, streams: c.streams, path: c.path}
		one.event = Event{Generates: true, Status: 499, Outcome: GivenUp}
		if c.ago > 0 {
			one.body.read = time.Now().Add(-c.ago)
		}
		if c.broken {
			one.event.Status, one.event.Outcome = http.StatusBadGateway, Broken
			one.connected.Store(true)
		}
		g.spend(one)
		if got := g.ledger.tokens; got < c.want || got > c.want+c.want/2 {
			t.Errorf("%s: %d tokens", name, got)
		}
	}
}

func TestARequestThatTheServerDropsCountsTowardTheLimit(t *testing.T) {
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}, func(c *Config) { c.TokenLimit = 1000 })
	for n, want := range []int{502, 502, 502, 502, 403} {
		b.events = nil
		if status := b.send(t, "POST", chat, ask(1000)).StatusCode; status != want {
			t.Errorf("request %d: %d %+v", n, status, b.last(t))
		}
		b.last(t)
	}
}

// An agent that disconnects while it receives an answer does not evade the limit: not by reading
// so slowly that the answer ends at a write, nor while the model thinks without sending anything.
func TestOutputOfAnAnswerThatTheAgentLeavesIsEstimatedByItsTime(t *testing.T) {
	const begin = `data: {"message":{"usage":{"input_tokens":100,"output_tokens":1}}}` + "\n\n"
	const end = `data: {"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}` + "\n\n"
	for name, c := range map[string]struct {
		answer  string
		length  int64 // that the server has announced; -1 for none
		ended   error // that the agent reads; nil if it leaves before
		output  int64 // the request's own limit
		choices int64
		want    int64
	}{
		"before the first piece": {begin, -1, nil, 0, 0, 100 + 6000},
		"with a limit":           {begin, -1, nil, 500, 0, 100 + 500},
		"of several choices":     {begin, -1, nil, 0, 3, 100 + 3*6000},
		"after its last piece":   {begin + end, -1, nil, 0, 0, 100 + 40},
		"with its length":        {begin, int64(len(begin)), nil, 0, 0, 100 + 1},
		"not at all":             {begin, -1, io.EOF, 0, 0, 100 + 1},
		"after the last line":    {begin + "data: [DONE]\n\n", -1, nil, 0, 0, 100 + 1},
		"after a text like it":   {begin + `data: {"delta":{"text":"data: [DONE]"}}`, -1, nil, 0, 0, 100 + 6000},
		"by the server":          {begin, -1, io.ErrUnexpectedEOF, 0, 0, 100 + 6000},
	} {
		g := &Gateway{ledger: newLedger()}
		one := &call{usage: usage.New(schema.Anthropic, schema.Messages), body: &outgoingBody{read: time.Now().Add(-time.Minute)}, sent: 400, output: c.output, choices: c.choices}
		one.event = Event{Generates: true, Dialect: schema.Anthropic, Status: 200}
		one.header, one.onAnswer = http.Header{}, func() {}
		response := &http.Response{StatusCode: 200, ContentLength: c.length, Request: (&http.Request{}).WithContext(t.Context())}
		answer := io.MultiReader(strings.NewReader(c.answer), iotest.ErrReader(c.ended))
		body := &countedBody{ReadCloser: io.NopCloser(answer), response: response, call: one}
		if _, err := io.ReadFull(iotest.OneByteReader(body), make([]byte, len(c.answer))); err != nil {
			t.Fatal(err)
		}
		if c.ended != nil {
			_, _ = body.Read(make([]byte, 1))
		}
		_ = body.Close()
		g.spend(one)
		if got := g.ledger.tokens; got < c.want || got > c.want+c.want/2 {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}

// The received bytes say nothing about the tokens of such an answer.
func TestOutputOfAnAnswerInAnotherFormIsEstimatedByItsTime(t *testing.T) {
	g := &Gateway{ledger: newLedger()}
	one := &call{usage: usage.New(schema.Gemini, schema.GenerateContent), body: &outgoingBody{read: time.Now().Add(-time.Minute)}, sent: 400, header: http.Header{}, received: 40}
	one.event = Event{Generates: true, Dialect: schema.Gemini, Status: 200, Outcome: NoAnswer}
	g.spend(one)
	if got := g.ledger.tokens; got < 6100 || got > 7000 {
		t.Errorf("%d tokens", got)
	}
	counted := &call{usage: usage.New(schema.Gemini, schema.GenerateContent), body: one.body, sent: 400, header: http.Header{}, received: 40, event: one.event}
	_, _ = counted.usage.Write([]byte(`{"candidates":[],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":0}}`))
	before := g.ledger.tokens
	g.spend(counted)
	if got := g.ledger.tokens - before; got > 100 {
		t.Errorf("%d tokens of an answer whose server reported them", got)
	}
}

// A session may refer to answers that it received.
func TestReferenceToAnAnswerOfTheSessionPasses(t *testing.T) {
	for name, answer := range map[string]string{
		"whole":  `{"id":"resp_1","output":[{"id":"resp_2"}]}`,
		"stream": "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"output\":[{\"id\":\"resp_2\"}]}}\n\n",
	} {
		var got string
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = string(body)
			fmt.Fprint(w, answer)
		}, nil)
		for i, c := range []struct {
			id     string
			status int
		}{{"resp_1", 400}, {"", 200}, {"resp_1", 200}, {"resp_2", 400}, {"resp_3", 400}} {
			b.events = nil
			response := b.send(t, "POST", "/v1/responses", `{"model":"m","input":"hi","previous_response_id":"`+c.id+`"}`)
			if body := text(t, response); response.StatusCode != c.status {
				t.Errorf("%s: request %d: %d %s", name, i, response.StatusCode, body)
			}
			if c.status == 200 && c.id != "" && !strings.Contains(got, `"previous_response_id":"resp_1"`) {
				t.Errorf("%s: it does not go upstream: %s", name, got)
			}
			b.last(t) // the ID is known from then on
		}
	}
}

func TestItemAliasesAreStableAndUnique(t *testing.T) {
	one, other := newLedger(), newLedger()
	for id, prefix := range map[string]string{"rs_secret": "rs_", "msg_01a2-x": "msg_", "plain": "", "no kind_x": "", "": ""} {
		alias := one.alias(id)
		if alias != one.alias(id) || alias == other.alias(id) || !strings.HasPrefix(alias, prefix) || strings.Contains(alias, "secret") || len(alias) > 64 {
			t.Errorf("%q became %q", id, alias)
		}
	}
	if one.alias("rs_1") == one.alias("rs_2") {
		t.Error("two items have one alias")
	}
}

func TestFullLedgerForgetsItsOldestAnswers(t *testing.T) {
	l := newLedger()
	for i := range answersLimit + 10 {
		l.answer(fmt.Sprint("resp_", i))
	}
	l.answer(strings.Repeat("x", idLimit+1))
	if l.answered("resp_9") || !l.answered("resp_10") || !l.answered(fmt.Sprint("resp_", answersLimit+9)) || len(l.answers) != answersLimit || len(l.oldest) != answersLimit {
		t.Errorf("%d answers are known", len(l.answers))
	}
}

// Bodies in memory are bounded for the whole session, and their memory is freed again.
func TestManyLargeBodiesAreRejectedAndTheirMemoryIsFreed(t *testing.T) {
	reached, release := make(chan struct{}, 64), make(chan struct{})
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-release
		_, _ = io.Copy(io.Discard, r.Body)
	}, nil)
	const size = 24 << 20
	body := ask(size)
	statuses := make(chan int, 8)
	var wait sync.WaitGroup
	send := func() {
		wait.Go(func() { statuses <- b.send(t, "POST", chat, body).StatusCode })
	}
	send()
	<-reached
	send()
	<-reached
	send() // the third does not fit
	if status := <-statuses; status != http.StatusTooManyRequests {
		t.Errorf("it got %d", status)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if held := memory.HeapAlloc >> 20; held > 160 { // the test itself holds 24 MiB and what its sockets buffer
		t.Errorf("%d MiB are held", held)
	}
	close(release)
	wait.Wait()
	for range 2 {
		if status := <-statuses; status != 200 {
			t.Errorf("a body that fits got %d", status)
		}
	}
	if status := b.send(t, "POST", chat, body).StatusCode; status != 200 {
		t.Errorf("after all have ended: %d", status)
	}
}

// Small parts of a body are copied. If another part is not, the body is held, too.
func TestCopiedPartsOfABodyCountTowardItsMemory(t *testing.T) {
	const small = 4000
	message := `{"role":"user","content":"` + strings.Repeat("x", small) + `"}`
	many := strings.Repeat(message+",", (24<<20)/len(message))
	for name, c := range map[string]struct {
		last   string
		second int // status of a second request
	}{
		"only small parts":      {message, 200},
		"one part is not small": {strings.Replace(message, "x", strings.Repeat("x", small), 1), 429},
	} {
		t.Run(name, func(t *testing.T) {
			reached, release := make(chan struct{}, 2), make(chan struct{})
			b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
				reached <- struct{}{}
				<-release
				_, _ = io.Copy(io.Discard, r.Body)
			}, nil)
			body := `{"model":"m","messages":[` + many + c.last + `]}`
			statuses := make(chan int, 2)
			var wait sync.WaitGroup
			send := func() {
				wait.Go(func() { statuses <- b.send(t, "POST", chat, body).StatusCode })
			}
			send()
			<-reached
			send()
			second := 200
			select {
			case second = <-statuses:
			case <-reached:
			}
			close(release)
			wait.Wait()
			if status := <-statuses; status != 200 || second != c.second {
				t.Errorf("the first request got %d, the second %d", status, second)
			}
			if status := b.send(t, "POST", chat, body).StatusCode; status != 200 {
				t.Errorf("after all have ended: %d", status)
			}
		})
	}
}

func TestRejectedBodiesAreNotKept(t *testing.T) {
	b := newBench(t, echo, nil)
	for range 20 { // together more than may be held
		if status := b.send(t, "POST", chat, ask(6<<20)+"x").StatusCode; status != 400 {
			t.Fatal(status)
		}
	}
	for range 20 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 30000000\r\n\r\n%s", placeholder, strings.Repeat(" ", 6<<20))
		conn.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for b.send(t, "POST", chat, ask(30<<20)).StatusCode != 200 { // until the server has noticed that they disconnected
		if time.Now().After(deadline) {
			t.Fatal("what broken requests held is never free again")
		}
	}
}

func TestLargeBodyIsForwardedWholeWithItsLength(t *testing.T) {
	var length int64
	var sum any
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		length = r.ContentLength
		_ = json.NewDecoder(r.Body).Decode(&sum)
	}, nil)
	body := ask(20 << 20)
	if status := b.send(t, "POST", chat, body).StatusCode; status != 200 || length != int64(len(body)) || sum == nil {
		t.Errorf("%d, %d of %d bytes", status, length, len(body))
	}
}
