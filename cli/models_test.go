package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway"
	"aibox/session"
)

// listing is a model server that counts how often its list is asked for.
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

func TestAServersModelIsChosenOrTheChoiceIsExplained(t *testing.T) {
	local, err := gateway.ParseUpstream("http://127.0.0.1:8000/v1", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	list := func(ids ...string) []gateway.Model {
		models := []gateway.Model{}
		for _, id := range ids {
			models = append(models, gateway.Model{ID: id})
		}
		return models
	}
	for _, test := range []struct {
		u     gateway.Upstream
		list  []gateway.Model
		asked string
		id    string
		kind  fault.Kind
		text  string
	}{
		{local, list("one"), "", "one", 0, ""},
		{local, list("one", "two"), "two", "two", 0, ""},
		{local, nil, "any", "any", 0, ""},
		{local, list("one", "two"), "", "", fault.Usage, "has 2 models and none was chosen --model one"},
		{local, list(), "", "", fault.Environment, "has no model"},
		{local, nil, "", "", fault.Usage, "does not list its models"},
		{local, list("qwen3-coder-30b", "a", "b", "c", "d", "e", "f"), "qwen3-coder-30", "", fault.Usage, `no model "qwen3-coder-30" did you mean --model qwen3-coder-30b? aibox models --inference VALUE qwen3-coder-30b, a, b, c, d and 2 more`},
		{ollama, list("one:latest"), "one", "one:latest", 0, ""},
		{ollama, list("one:latest"), "gpt-x", "", fault.Usage, "ollama pull gpt-x"},
	} {
		model, err := inference{upstream: test.u, value: "VALUE"}.choose(test.list, test.asked)
		if model.ID != test.id || (err == nil) != (test.text == "") || err != nil && fault.KindOf(err) != test.kind {
			t.Errorf("%s of %v: %+v, %v", test.asked, test.list, model, err)
		}
		said := ""
		if err != nil {
			said = err.Error() + " " + strings.ReplaceAll(strings.Join(fault.Hints(err), " "), "`", "")
		}
		for word := range strings.FieldsSeq(test.text) {
			if !strings.Contains(said, word) {
				t.Errorf("%q: %q is not in %q", test.asked, word, said)
			}
		}
	}
}

func TestASmallContextIsWarnedOf(t *testing.T) {
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	local, _ := gateway.ParseUpstream("http://127.0.0.1:1234", os.LookupEnv)
	for _, test := range []struct {
		u     gateway.Upstream
		model gateway.Model
		want  string
	}{
		{ollama, gateway.Model{ID: "m", Context: 4096, Limit: 262144}, "4096 tokens of context, which is too few"},
		{ollama, gateway.Model{ID: "m", Limit: 262144}, "as few as 4096"},
		{ollama, gateway.Model{ID: "m", Context: 65536}, ""},
		{local, gateway.Model{ID: "m", Context: 8192}, "8192 tokens"},
		{local, gateway.Model{ID: "m"}, ""},
	} {
		if got := (inference{upstream: test.u}).tightness(test.model); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q", test.model, got)
		}
	}
}

func TestWhatAServerSpeaksIsWhatTheGatewayLetsThrough(t *testing.T) {
	env := func(string) (string, bool) { return "key-12345678", true }
	for value, want := range map[string]string{
		"anthropic": "[anthropic]", "openai": "[openai-chat openai-responses]", "gemini": "[gemini]",
		"http://127.0.0.1:1/v1": "[openai-chat openai-responses anthropic]", "scripted": "[openai-chat openai-responses anthropic gemini]",
	} {
		u, err := gateway.ParseUpstream(value, env)
		if got := fmt.Sprint(inference{upstream: u}.Speaks()); got != want || err != nil {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	for version, want := range map[gateway.Version]string{
		{}: "[openai-chat openai-responses anthropic]", {0, 31, 0}: "[openai-chat openai-responses anthropic]",
		{0, 13, 3}: "[openai-chat openai-responses]", {0, 13, 2}: "[openai-chat]",
	} {
		if got := fmt.Sprint(inference{upstream: ollama, version: version}.Speaks()); got != want {
			t.Errorf("Ollama %v: %s", version, got)
		}
	}
	// So that no agent's only dialect is forgotten here.
	all := inference{upstream: gateway.Upstream{Dialects: []gateway.Dialect{gateway.OpenAI, gateway.Anthropic, gateway.Gemini, gateway.Ollama}}}.Speaks()
	for _, agent := range agents.Builtin().All() {
		if _, err := agent.Info().Spoken(all); err != nil {
			t.Error(err)
		}
	}
}

func TestAListIsKeptForAWhileAndHoldsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = io.WriteString(w, `{"data":[{"id":"one","max_model_len":7}]}`)
		})
		u := gateway.Upstream{Kind: gateway.Scripted, Name: "x", Dialects: []gateway.Dialect{gateway.OpenAI}, Handler: handler, Key: secret.New("canary-0123456789")}
		cache := modelCache{filepath.Join(t.TempDir(), "models")}
		for i, step := range []struct {
			wait   time.Duration
			always bool
			asked  int
		}{{0, false, 1}, {time.Minute, false, 1}, {0, true, 2}, {modelsFresh - time.Second, false, 2}, {2 * time.Second, false, 3}, {-time.Hour, false, 3}} {
			time.Sleep(step.wait)
			list, err := cache.ask(context.Background(), u, step.always)
			if err != nil || len(list.Models) != 1 || list.Models[0].ID != "one" || list.Models[0].Context != 7 || asked != step.asked {
				t.Errorf("step %d: %+v, %v, asked %d times", i, list, err, asked)
			}
		}
		without := u
		without.Key = secret.Value{}
		if _, ok := cache.load(without); ok {
			t.Error("an answer to a key is taken without one")
		}
		data, err := os.ReadFile(cache.file(u))
		info, _ := os.Stat(cache.file(u))
		if err != nil || bytes.Contains(data, []byte("canary")) || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %s %v", info.Mode(), data, err)
		}
	})
}

func TestABadFileOfTheCacheCountsAsNone(t *testing.T) {
	u := gateway.Upstream{Kind: gateway.Scripted, Name: "x"}
	for name, spoil := range map[string]func(file string) error{
		"text":    func(file string) error { return os.WriteFile(file, []byte("not JSON"), 0o600) },
		"other":   func(file string) error { return os.WriteFile(file, []byte(`{"server":"y"}`), 0o600) },
		"huge":    func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte(" "), maxModels+1), 0o600) },
		"folder":  func(file string) error { return os.Mkdir(file, 0o700) },
		"symlink": func(file string) error { return os.Symlink("/dev/zero", file) },
	} {
		cache := modelCache{t.TempDir()}
		if err := spoil(cache.file(u)); err != nil {
			t.Fatal(err)
		}
		if list, ok := cache.load(u); ok {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestModelsAreCompletedWithoutMakingAPersonWait(t *testing.T) {
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
	if got := complete("run", "codex", "--inference", url, "--model", ""); got != want {
		t.Errorf("%q", got)
	}
	stop()
	if got := complete("run", "--inference", url, "--model", ""); got != want || asked.Load() != 1 {
		t.Errorf("from the cache: %q, asked %d times", got, asked.Load())
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	begin := time.Now()
	if got := complete("run", "codex", "--inference", silent.URL, "--model", ""); got != ":4\n" || time.Since(begin) > 2*time.Second {
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

func TestModelsPrintsWhatTheServerSaysFitForATerminal(t *testing.T) {
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

// The agent must neither forge a notice unseen nor make one unreadable.
func TestANoticeStandsOnALineOfItsOwnInPlainColors(t *testing.T) {
	var out, errOut bytes.Buffer
	output := newAgentOutput(&out, &errOut, terminal{}, terminal{interactive: true, color: true})
	show, flush := output.show, output.close
	for _, chunk := range []session.Chunk{
		{Stream: session.Stdout, Data: []byte("half a line \x1b[8m")},
		{Stream: session.Notice, Data: []byte("the model server answered 500: a \\x1b \x1b[2J b\n")},
		{Stream: session.Notice, Data: []byte("two\nlines\n")},
		{Stream: session.Stdout, Data: []byte("the rest\n")},
		{Stream: session.Notice, Data: []byte("three\n")},
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
	if err := rawChunks(&raw)(session.Chunk{Stream: session.Notice, Data: []byte("x")}); err != nil || raw.Len() > 0 {
		t.Errorf("%q, %v", raw.String(), err)
	}
}

// Nobody chose that the code leaves this machine, so it is said where it goes.
func TestWhereAutoSendsCodeIsSaidAndOnlyThere(t *testing.T) {
	root, err := url.Parse("https://api.openai.com")
	if err != nil {
		t.Fatal(err)
	}
	u := gateway.Upstream{Kind: gateway.Hosted, Name: "openai", URL: root}
	if text := (inference{upstream: u}).Leaves([]string{"gpt"}); text != "" {
		t.Errorf("of one that was named: %q", text)
	}
	u.Fallback = true
	for _, models := range [][]string{{"gpt\x1b[31m"}, nil} {
		text := inference{upstream: u}.Leaves(models)
		if !strings.Contains(text, "at api.openai.com") || !strings.Contains(text, "prompts and code of this repository go there") || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%q: %q", models, text)
		}
	}
}
