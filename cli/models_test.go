package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session/output"
)

// listing is a model server that counts the requests for its list.
func listing(t *testing.T, body string) (url string, asked *atomic.Int64, stop func()) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			asked.Add(1)
			_, _ = io.WriteString(w, body)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked, server.Close
}

func TestCompletionOfModelsDoesNotMakeTheUserWait(t *testing.T) {
	a, out, _ := testApp(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	url, asked, stop := listing(t, `{"data":[{"id":"one","max_model_len":7},{"id":"two"}]}`)
	complete := func(words ...string) string {
		out.Reset()
		if err := a.execute(t.Context(), append([]string{"__complete"}, words...)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := "one\t7 tokens of context\ntwo\n:4\n"
	var got string
	for begin := time.Now(); got != want && time.Since(begin) < time.Minute; { // a busy server may answer too late
		got = complete("run", "codex", "--inference", url, "--model", "")
	}
	if got != want {
		t.Errorf("%q", got)
	}
	stop()
	before := asked.Load()
	if got := complete("run", "--inference", url, "--model", ""); got != want || asked.Load() != before {
		t.Errorf("from the cache: %q, asked %d times more", got, asked.Load()-before)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	begin := time.Now()
	if got := complete("run", "codex", "--inference", silent.URL, "--model", ""); got != ":4\n" || time.Since(begin) > time.Minute {
		t.Errorf("%q after %v", got, time.Since(begin))
	}
}

func TestTheSettingsNameTheModelServer(t *testing.T) {
	a, out, _ := testApp(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	url, _, _ := listing(t, `{"data":[{"id":"one"}]}`)
	err := os.MkdirAll(filepath.Join(config, "aibox"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(config, "aibox", "config.toml"), []byte("inference = \""+url+"\"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"models", "__complete run codex --model "} {
		out.Reset()
		if err := a.execute(t.Context(), strings.SplitN(line, " ", 5)); err != nil || !strings.Contains(out.String(), "one") {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
}

func TestModelsEscapesWhatTheServerReturns(t *testing.T) {
	a, out, errOut := testApp(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	url, _, _ := listing(t, `{"data":[{"id":"one","max_model_len":131072},{"id":"two","meta":{"n_ctx_train":4096,"size":2500000000}},{"id":"\u001b]0;x\u0007"}]}`)
	if err := a.execute(t.Context(), []string{"models", "--inference", url}); err != nil {
		t.Fatal(err)
	}
	if want := "MODEL  CONTEXT     SIZE\none    131072      -\ntwo    up to 4096  2.5 GB\n"; out.String() != want || !strings.Contains(errOut.String(), strings.TrimPrefix(url, "http://")) {
		t.Errorf("%s%s", out, errOut)
	}
	out.Reset()
	if err := a.execute(t.Context(), []string{"models", "--inference", url, "--json"}); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Server string
		Models []struct {
			ID      string
			Context int
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Models) != 2 || report.Models[0].Context != 131072 {
		t.Errorf("%v %s", err, out)
	}
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	if err := a.execute(t.Context(), []string{"models", "--inference", bare.URL}); fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "does not list its models") {
		t.Errorf("%v", err)
	}
}

// The agent can neither hide a forged notice nor make a real one unreadable.
func TestANoticeIsOnASeparateLineInDefaultColors(t *testing.T) {
	var out, errOut bytes.Buffer
	printer := newAgentOutput(&out, &errOut, terminal{}, terminal{interactive: true, color: true})
	show, flush := printer.show, printer.close
	for _, chunk := range []output.Chunk{
		{Stream: output.Stdout, Data: []byte("half a line \x1b[8m")},
		{Stream: output.Notice, Data: []byte("the model server answered 500: a \\x1b \x1b[2J b\n")},
		{Stream: output.Notice, Data: []byte("two\nlines\n")},
		{Stream: output.Stdout, Data: []byte("the rest\n")},
		{Stream: output.Notice, Data: []byte("three\n")},
	} {
		if err := show(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := flush(); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[0m\x1b[33m!\x1b[0m the model server answered 500: a \\x1b \\x1b[2J b\n\x1b[0m\x1b[33m!\x1b[0m two lines\n\x1b[0m\x1b[33m!\x1b[0m three\n"
	if got := errOut.String(); got != want {
		t.Errorf("%q", got)
	}
	var raw bytes.Buffer
	if err := (rawChunks{&raw}).show(output.Chunk{Stream: output.Notice, Data: []byte("x")}); err != nil || raw.Len() > 0 {
		t.Errorf("%q, %v", raw.String(), err)
	}
}
