package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hang never answers.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// A server that answers 200 without an answer answers at once, so an agent can ask it
// hundreds of times.
func TestARunWhoseModelAnswersWithoutAnAnswerEndsSoon(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester("while :; do ask; sleep 0.2; done")
	for name, test := range map[string]struct{ body, want string }{
		"an empty body":   {"", "it sent nothing"},
		"an empty value":  {"{}", "its JSON holds nothing that the openai API has for one"},
		"a page":          {"<html><title>Sign in</title>", "it sent a web page, “Sign in”"},
		"another API":     {`{"message":{"role":"assistant","content":"hi"},"done":true}`, "its JSON holds nothing that the openai API has for one"},
		"an empty stream": {"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: [DONE]\n\n", "its stream holds nothing that the openai API has for one"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			url, since := failing(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				answering(200, test.body)(w, r)
			})
			o := m.aibox(1, "run", "tester", "--image", image, "--repo", m.repo(strings.ReplaceAll(name, " ", "-"), nil), "--inference", url, "--model", "gpt-oss-20b", "--prompt", "go", "--json")
			took, r := since(), m.ended(o).result()
			want := "the model server answered 200 without an answer: " + test.want
			if f := r.Fault; f == nil || f.Kind != "agent-failed" || f.Message != want+", and tester did not get over it" {
				t.Errorf("the fault is %+v", f)
			}
			if !strings.Contains(o.stderr, "! "+want) || r.ModelFailures == nil || r.ModelFailures.Message != want {
				t.Errorf("the output is %+v\n%s", r.ModelFailures, o)
			}
			if took > 5*time.Minute || asked.Load() > 100 {
				t.Errorf("%d requests in %v", asked.Load(), took)
			}
		})
	}
}

func TestARunWhoseModelHangsIsReportedAndEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester("echo begun > work.txt; ask")
	url, _ := failing(t, hang)
	o := m.aibox(1, "run", "tester", "--image", image, "--repo", m.repo("p", nil), "--inference", url, "--model", "gpt-oss-20b", "--model-timeout", "4s", "--prompt", "go", "--json")
	r := m.ended(o).result()
	if !strings.Contains(o.stderr, "! no answer from the model for 2 s; after 4 s the run is ended (--model-timeout)") {
		t.Errorf("the output is\n%s", o)
	}
	if f := r.Fault; f == nil || f.Kind != "agent-failed" || f.Message != "no answer from the model for 4 s" || !strings.Contains(fmt.Sprint(f.Hints), "--model-timeout") {
		t.Errorf("the fault is %+v", f)
	}
	if r.ModelFailures == nil || !strings.Contains(o.stdout, `"model_silence_seconds": 4`) || !r.Changed {
		t.Errorf("the result is %s", o.stdout)
	}
	if logs := m.aibox(0, "logs", m.stored()[0].ID); !strings.Contains(logs.stderr, "no answer from the model for 2 s") {
		t.Errorf("the record has\n%s", logs)
	}
}

// Each piece of an answer shows that the model is alive.
func TestAModelThatStreamsSlowlyIsNotEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester("ask && echo done > work.txt")
	url, since := failing(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(700 * time.Millisecond)
		defer tick.Stop()
		for range 8 {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	o := m.aibox(0, "run", "tester", "--image", image, "--repo", m.repo("p", nil), "--inference", url, "--model", "gpt-oss-20b", "--model-timeout", "4s", "--prompt", "go", "--json")
	if took := since(); !m.ended(o).result().Changed || took < 5*time.Second || strings.Contains(o.stderr, "no answer") {
		t.Errorf("after %v:\n%s", took, o)
	}
}

// A real agent has its own timeouts; the run still ends.
func TestARealAgentsRunEndsWhenItsModelGivesNoAnswer(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"codex", "claude"} {
		for name, test := range map[string]struct {
			fail http.HandlerFunc
			want string
		}{
			"nothing": {answering(200, "{}"), "without an answer: its JSON holds nothing"},
			"a hang":  {hang, "no answer from the model for 8 s"},
		} {
			t.Run(agent+" "+name, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t)
				url, since := failing(t, test.fail)
				o := m.aibox(1, "run", agent, "--repo", m.repo("p", nil), "--inference", url, "--model", "gpt-oss-20b", "--model-timeout", "8s", "--prompt", "go", "--json")
				took := since()
				if f := m.ended(o).result().Fault; f == nil || !strings.Contains(f.Message, test.want) || took > 5*time.Minute {
					t.Errorf("after %v: %+v\n%s", took, f, o)
				}
				t.Logf("%v", took)
			})
		}
	}
}

// Code never leaves the machine because its own server starts slowly.
func TestAutoWaitsForAServerThatStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	image := m.tester("ask && echo done > work.txt")
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) <= 3 {
			answering(503, `{"error":{"message":"Loading model"}}`)(w, r)
			return
		}
		switch r.URL.Path {
		case "/api/version":
			fmt.Fprint(w, `{"version":"0.31.0"}`)
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"qwen3","model":"qwen3"}]}`)
		case "/api/show", "/api/ps":
			fmt.Fprint(w, `{}`)
		default:
			fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	m.env = append(m.env, "OLLAMA_HOST="+strings.TrimPrefix(server.URL, "http://"), "ANTHROPIC_API_KEY=canary-5566ff77")
	o := m.aibox(0, "run", "tester", "--image", image, "--repo", m.repo("p", nil), "--inference", "auto", "--prompt", "go", "--json")
	if !strings.Contains(o.stderr, "is still loading its model; waiting for it, 10 min at most") || strings.Contains(o.stderr, "anthropic") || !m.ended(o).result().Changed {
		t.Errorf("the output is\n%s", o)
	}
}
