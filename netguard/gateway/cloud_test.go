package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"aibox/netguard/gateway/modelserver"
)

// cloudRequest is a request as a cloud got it.
type cloudRequest struct {
	method, path, query, body string
	header                    http.Header
}

// newCloud returns a gateway in front of a provider whose URL is that of a server of the test.
func newCloud(t *testing.T, p modelserver.Provider, env map[string]string, answer func(http.ResponseWriter, cloudRequest)) (*bench, *[]cloudRequest) {
	t.Helper()
	var all []cloudRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := cloudRequest{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header.Clone()}
		all = append(all, got)
		answer(w, got)
	}))
	t.Cleanup(server.Close)
	if p.URL == "" {
		p.URL = server.URL
	} else {
		p.URL = server.URL + p.URL
	}
	upstream, err := modelserver.Parse(p.Name, func(name string) (string, bool) { value, ok := env[name]; return value, ok }, p)
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, nil, func(c *Config) {
		c.Upstream = upstream
		c.Models = func() []string {
			return []string{"m", "claude-sonnet-4-5@20250929", "gemini-2.5-pro", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "openai.gpt-oss-120b-1:0"}
		}
	}), &all
}

func fine(w http.ResponseWriter, _ cloudRequest) {
	fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"}}],"content":[{"type":"text","text":"hi"}]}`)
}

// The forms of requests are those of the providers' documentation, which the doc comments
// of package modelserver name.
func TestEachCloudGetsRequestsInItsForm(t *testing.T) {
	const (
		azureKey = "azure-CANARY-0123456789"
		entra    = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJjYW5hcnkifQ.c2lnbmF0dXJl"
		token    = "ya29.CANARY-0123456789"
		bearer   = "bedrock-api-key-CANARY-0123456789"
	)
	printed := func(text string) []string { return []string{"printf", "%s\n", text} }
	vertex := modelserver.Provider{Name: "vertex", Region: "europe-west1", Project: "my-project", KeyCommand: printed(token)}
	aws := map[string]string{"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": bearer}
	for name, c := range map[string]struct {
		provider        modelserver.Provider
		env             map[string]string
		path, body      string // of the agent's request
		wantPath, query string
		wantBody        string
		header          string
		value           string
	}{
		"Azure": {
			modelserver.Provider{Name: "azure"},
			map[string]string{"AZURE_OPENAI_API_KEY": azureKey},
			"/openai/v1/chat/completions", `{"model":"m"}`, "/openai/v1/chat/completions", "", `{"model":"m"}`, "Api-Key", azureKey,
		},
		"Azure by the URL of its documentation": {
			modelserver.Provider{Name: "work", Kind: "azure", URL: "/openai/v1/", KeyEnv: "WORK_KEY"},
			map[string]string{"WORK_KEY": azureKey},
			"/openai/v1/responses", `{"model":"m"}`, "/openai/v1/responses", "", `{"model":"m","store":false}`, "Api-Key", azureKey,
		},
		"Azure's preview": {
			modelserver.Provider{Name: "azure", APIVersion: "preview"},
			map[string]string{"AZURE_OPENAI_API_KEY": azureKey},
			"/openai/v1/responses", `{"model":"m"}`, "/openai/v1/responses", "api-version=preview", `{"model":"m","store":false}`, "Api-Key", azureKey,
		},
		"Azure's deployments": {
			modelserver.Provider{Name: "azure", APIVersion: "2024-10-21"},
			map[string]string{"AZURE_OPENAI_API_KEY": azureKey},
			"/openai/v1/chat/completions", `{"model":"m"}`, "/openai/deployments/m/chat/completions", "api-version=2024-10-21", `{"model":"m"}`, "Api-Key", azureKey,
		},
		"Azure with a token of Entra": {
			modelserver.Provider{Name: "azure", KeyCommand: printed(entra)},
			nil,
			"/openai/v1/chat/completions", `{"model":"m"}`, "/openai/v1/chat/completions", "", `{"model":"m"}`, "Authorization", "Bearer " + entra,
		},
		"Claude on Azure": {
			modelserver.Provider{Name: "azure", Dialects: []string{"anthropic"}},
			map[string]string{"AZURE_OPENAI_API_KEY": azureKey},
			"/anthropic/v1/messages", `{"model":"m"}`, "/anthropic/v1/messages", "", `{"model":"m"}`, "X-Api-Key", azureKey,
		},
		"Gemini on Vertex": {
			vertex, nil,
			"/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			"/v1/projects/my-project/locations/europe-west1/publishers/google/models/gemini-2.5-pro:streamGenerateContent", "alt=sse",
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, "Authorization", "Bearer " + token,
		},
		"Claude on Vertex": {
			vertex, nil,
			"/anthropic/v1/messages", `{"model":"claude-sonnet-4-5@20250929","max_tokens":9}`,
			"/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict", "",
			`{"max_tokens":9,"anthropic_version":"vertex-2023-10-16"}`, "Authorization", "Bearer " + token,
		},
		"Claude on Vertex, streamed": {
			vertex, nil,
			"/anthropic/v1/messages?beta=true", `{"max_tokens":9,"stream":true,"model":"claude-sonnet-4-5@20250929"}`,
			"/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", "beta=true",
			`{"max_tokens":9,"stream":true,"anthropic_version":"vertex-2023-10-16"}`, "Authorization", "Bearer " + token,
		},
		"counting on Vertex": {
			vertex, nil,
			"/anthropic/v1/messages/count_tokens", `{"model":"claude-sonnet-4-5@20250929"}`,
			"/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/count-tokens:rawPredict", "",
			`{"model":"claude-sonnet-4-5@20250929","anthropic_version":"vertex-2023-10-16"}`, "Authorization", "Bearer " + token,
		},
		"Claude on Bedrock": {
			modelserver.Provider{Name: "bedrock"},
			aws,
			"/anthropic/v1/messages", `{"model":"us.anthropic.claude-sonnet-4-5-20250929-v1:0"}`, "/anthropic/v1/messages", "",
			`{"model":"us.anthropic.claude-sonnet-4-5-20250929-v1:0"}`, "Authorization", "Bearer " + bearer,
		},
		"OpenAI on Bedrock": {
			modelserver.Provider{Name: "bedrock"},
			aws,
			"/openai/v1/chat/completions", `{"model":"openai.gpt-oss-120b-1:0"}`, "/openai/v1/chat/completions", "",
			`{"model":"openai.gpt-oss-120b-1:0"}`, "Authorization", "Bearer " + bearer,
		},
		"OpenRouter's Messages API": {
			modelserver.Provider{Name: "openrouter", URL: "/api"},
			map[string]string{"OPENROUTER_API_KEY": azureKey},
			"/anthropic/v1/messages", `{"model":"m"}`, "/api/v1/messages", "", `{"model":"m"}`, "Authorization", "Bearer " + azureKey,
		},
		"a server that speaks Anthropic's": {
			modelserver.Provider{Name: "mine", URL: "/team/v1", Dialects: []string{"anthropic"}, KeyEnv: "WORK_KEY"},
			map[string]string{"WORK_KEY": azureKey},
			"/anthropic/v1/messages", `{"model":"m"}`, "/team/v1/messages", "", `{"model":"m"}`, "X-Api-Key", azureKey,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, all := newCloud(t, c.provider, c.env, fine)
			answer := b.send(t, "POST", c.path, c.body)
			if body := text(t, answer); answer.StatusCode != 200 || len(*all) != 1 {
				t.Fatalf("%d %s after %d requests", answer.StatusCode, body, len(*all))
			}
			got := (*all)[0]
			if got.method != "POST" || got.path != c.wantPath || got.query != c.query || got.body != c.wantBody || got.header.Get(c.header) != c.value {
				t.Errorf("%+v", got)
			}
			for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
				if text := got.header.Get(name); strings.Contains(text, placeholder) || name != c.header && text != "" && c.provider.Kind != "" {
					t.Errorf("%s: %s", name, text)
				}
			}
		})
	}
}

func TestCloudRefusesCallsThatItHasNothingFor(t *testing.T) {
	vertex := modelserver.Provider{Name: "vertex", Project: "p", KeyCommand: []string{"echo", "ya29.CANARY-0123"}}
	bedrock := modelserver.Provider{Name: "bedrock", Region: "us-east-1"}
	for _, c := range []struct {
		provider     modelserver.Provider
		method, path string
		body         string
		status       int
	}{
		{vertex, "POST", "/openai/v1/chat/completions", `{"model":"m"}`, 404},
		{vertex, "GET", "/gemini/v1beta/models", "", 404},
		{vertex, "POST", "/gemini/v1beta/models/gemini-2.5-pro:embedContent", `{"content":{}}`, 404},
		{vertex, "POST", "/anthropic/v1/messages", `{"max_tokens":1}`, 400},
		{bedrock, "POST", "/openai/v1/embeddings", `{"model":"m"}`, 404},
		{bedrock, "GET", "/openai/v1/models", "", 404},
		{bedrock, "POST", "/gemini/v1beta/models/m:generateContent", `{}`, 404},
	} {
		b, all := newCloud(t, c.provider, map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-CANARY"}, fine)
		answer := b.send(t, c.method, c.path, c.body)
		if body := text(t, answer); answer.StatusCode != c.status || len(*all) != 0 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s %s: %d %s, %d requests", c.method, c.path, answer.StatusCode, body, len(*all))
		}
		if event := b.last(t); event.Outcome != Refused {
			t.Errorf("%+v", event)
		}
	}
}

// The test checks the parts of the signature that a verifier needs: the scope and the
// signed headers. The library's own tests check that it is correct.
func TestBedrockRequestIsSignedWithTheKeysOfAnAccount(t *testing.T) {
	const secretKey, session = "wJalrCANARYsecretKEY0123456789", "session-CANARY-0123456789"
	b, all := newCloud(t, modelserver.Provider{Name: "bedrock"}, map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIACANARY0123456789", "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": session,
	}, fine)
	if answer := b.send(t, "POST", "/anthropic/v1/messages", `{"model":"us.anthropic.claude-sonnet-4-5-20250929-v1:0"}`); answer.StatusCode != 200 || len(*all) != 1 {
		t.Fatal(answer.StatusCode, text(t, answer))
	}
	got := (*all)[0].header
	form := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIACANARY0123456789/\d{8}/eu-central-1/bedrock/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$`)
	if !form.MatchString(got.Get("Authorization")) || got.Get("X-Amz-Security-Token") != session || got.Get("X-Amz-Date") == "" {
		t.Errorf("%v", got)
	}
	if strings.Contains(fmt.Sprint(got), secretKey) {
		t.Error("the secret key was sent")
	}
}

// keyScript returns a command that prints another key each time.
func keyScript(t *testing.T, lines ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for i, line := range lines {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "key")
	body := "#!/bin/sh\ncd " + dir + "\nn=$(ls used 2>/dev/null | wc -l)\nmkdir -p used\ntouch used/$n\ncat $n\n"
	if err := os.WriteFile(script, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{script}
}

func runs(t *testing.T, script []string) int {
	t.Helper()
	used, _ := os.ReadDir(filepath.Join(filepath.Dir(script[0]), "used"))
	return len(used)
}

func TestRefusedKeyIsRenewedOnce(t *testing.T) {
	const first, second = "key-one-CANARY-0123456789", "key-two-CANARY-0123456789"
	for name, c := range map[string]struct {
		lines    []string
		taken    string
		status   int
		requests int
		runs     int
	}{
		"a new key":                   {[]string{first, second}, second, 200, 2, 2},
		"the same key again":          {[]string{first, first}, second, 401, 1, 2},
		"a new key that is not taken": {[]string{first, second, second}, "none", 401, 2, 2},
		"a key that is taken":         {[]string{first}, first, 200, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			script := keyScript(t, c.lines...)
			b, all := newCloud(t, modelserver.Provider{Name: "mine", KeyCommand: script}, nil, func(w http.ResponseWriter, got cloudRequest) {
				if got.header.Get("Authorization") != "Bearer "+c.taken {
					w.WriteHeader(401)
					fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, got.header.Get("Authorization"))
					return
				}
				fmt.Fprintf(w, `{"choices":[{"message":{"content":"your key is %s"}}]}`, c.taken)
			})
			answer := b.send(t, "POST", chat, ask(10))
			body := text(t, answer)
			if answer.StatusCode != c.status || len(*all) != c.requests || runs(t, script) != c.runs {
				t.Errorf("%d after %d requests and %d runs: %s", answer.StatusCode, len(*all), runs(t, script), body)
			}
			for _, got := range *all {
				if got.body != (*all)[0].body || !strings.Contains(got.body, "xxxx") {
					t.Errorf("another body: %s", got.body)
				}
			}
			if shown := body + fmt.Sprintf("%+v", b.last(t)); strings.Contains(shown, first) || strings.Contains(shown, second) {
				t.Errorf("a key reached the agent or the log: %s", shown)
			}
			_ = text(t, b.send(t, "POST", chat, ask(10)))
			if runs(t, script) != c.runs {
				t.Error("the command runs again for the next request")
			}
		})
	}
}

// Otherwise their bodies would fill the memory that a session's requests may hold.
func TestRequestsWithARefusedKeyFreeTheirMemory(t *testing.T) {
	b, _ := newCloud(t, modelserver.Provider{Name: "mine", KeyCommand: keyScript(t, "key-one-0123456789", "key-one-0123456789")}, nil,
		func(w http.ResponseWriter, _ cloudRequest) { w.WriteHeader(http.StatusUnauthorized) })
	body := ask(heldLimit / 8)
	for i := range 10 {
		if answer := b.send(t, "POST", chat, body); answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("request %d: %d %s", i, answer.StatusCode, text(t, answer))
		}
	}
}

// A password manager asks its user, which takes longer than some agents wait.
func TestAKeyCommandOutlivesTheRequestThatNeedsIt(t *testing.T) {
	script := keyScript(t, "key-one-0123456789", "key-one-0123456789")
	pipes := map[string]*os.File{}
	for _, name := range []string{"asked", "answer"} {
		path := filepath.Join(t.TempDir(), name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		pipe, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		pipes[name] = pipe
	}
	slow := []string{"sh", "-c", `key=$("$0"); echo >"$1"; read answer <"$2"; echo "$key"`, script[0], pipes["asked"].Name(), pipes["answer"].Name()}
	b, _ := newCloud(t, modelserver.Provider{Name: "mine", KeyCommand: slow}, nil, fine)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+chat, strings.NewReader(ask(1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+placeholder)
	go func() {
		_, _ = pipes["asked"].Read(make([]byte, 1))
		giveUp()
	}()
	if response, err := http.DefaultClient.Do(r); err == nil {
		response.Body.Close()
		t.Fatal(response.Status)
	}
	if _, err := io.WriteString(pipes["answer"], "yes\n"); err != nil {
		t.Fatal(err)
	}
	if second := b.send(t, "POST", chat, ask(1)); second.StatusCode != http.StatusOK || runs(t, script) != 1 {
		t.Errorf("%d %s after %d runs", second.StatusCode, text(t, second), runs(t, script))
	}
}

func TestKeyCommandThatFailsIsExplained(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"no-such-program-anywhere"}, "cannot be run"},
		{[]string{"sh", "-c", "echo not in the store >&2; exit 3"}, "failed: not in the store"},
		{[]string{"true"}, "printed nothing"},
		{[]string{"printf", "one\\ntwo\\n"}, "more than one line"},
		{[]string{"sh", "-c", "yes CANARY-0123456789 | head -c 100000"}, "printed more than"},
		{[]string{"echo", "{CANARY-0123456789"}, "cannot be read"},
		{[]string{"echo", "short"}, "has 5 characters"},
	} {
		b, all := newCloud(t, modelserver.Provider{Name: "mine", KeyCommand: c.argv}, nil, fine)
		answer := b.send(t, "POST", chat, ask(1))
		if body := text(t, answer); answer.StatusCode != 502 || len(*all) != 0 || !strings.Contains(body, c.want) || strings.Contains(body, "CANARY") {
			t.Errorf("%q: %d %s", c.argv, answer.StatusCode, body)
		}
	}
}
