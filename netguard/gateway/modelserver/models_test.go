package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway/schema"
)

// answers returns a server that answers each path (including its query, if it has one) with
// a text, and all others with 404.
func answers(t *testing.T, texts map[string]string) *url.URL {
	t.Helper()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := texts[r.URL.RequestURI()]
		if !ok {
			text, ok = texts[r.URL.Path]
		}
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			text, ok = texts[r.URL.Path+" "+string(body)]
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(program.Close)
	root, err := url.Parse(program.URL)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// summary returns a model in one word.
func summary(models []Model) string {
	words := make([]string, 0, len(models))
	for _, m := range models {
		words = append(words, fmt.Sprintf("%s:%d/%d", m.ID, m.Context, m.Limit))
	}
	return strings.Join(words, " ")
}

// The servers' answers follow their documentation.
func TestEachServerKindListsModelsWithTheirContext(t *testing.T) {
	for _, test := range []struct {
		name     string
		kind     Kind
		dialects []schema.Dialect
		texts    map[string]string
		want     string
	}{
		{"ollama", OllamaHost, []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}, map[string]string{
			"/api/tags": `{"models":[{"name":"qwen3-coder:30b","model":"qwen3-coder:30b","modified_at":"2026-10-01T00:00:00Z","size":18556701140,"digest":"x","details":{"family":"qwen3moe"}},
				{"name":"small:latest","model":"small:latest","size":1},{"name":"loaded:8b","model":"loaded:8b","size":2},{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","size":3},
				{"name":"gpt-oss:120b-cloud","model":"gpt-oss:120b-cloud","size":4}]}`,
			`/api/show {"model":"qwen3-coder:30b"}`:         `{"parameters":"temperature 0.7\nstop \"<|im_end|>\"","model_info":{"general.architecture":"qwen3moe","qwen3moe.context_length":262144},"capabilities":["completion","tools"]}`,
			`/api/show {"model":"small:latest"}`:            `{"parameters":"num_ctx                        8192\ntop_k 20","model_info":{"llama.context_length":131072}}`,
			`/api/show {"model":"nomic-embed-text:latest"}`: `{"model_info":{"nomic-bert.context_length":2048},"capabilities":["embedding"]}`,
			`/api/show {"model":"gpt-oss:120b-cloud"}`:      `{"model_info":{"gptoss.context_length":131072}}`,
			"/api/ps": `{"models":[{"name":"loaded:8b","model":"loaded:8b","size":6591830464,"size_vram":5333539264,"context_length":4096}]}`,
		}, "qwen3-coder:30b:0/262144 small:latest:8192/131072 loaded:8b:4096/0 gpt-oss:120b-cloud:131072/131072"},
		{"lm studio", Compatible, []schema.Dialect{schema.OpenAI, schema.Anthropic}, map[string]string{
			"/v1/models": `{"data":[{"id":"qwen2-vl-7b-instruct","object":"model","owned_by":"organization_owner"},{"id":"meta-llama-3.1-8b-instruct","object":"model","owned_by":"organization_owner"},{"id":"text-embedding-nomic","object":"model","owned_by":"organization_owner"}],"object":"list"}`,
			"/api/v0/models": `{"object":"list","data":[{"id":"qwen2-vl-7b-instruct","object":"model","type":"vlm","state":"not-loaded","max_context_length":32768},
				{"id":"meta-llama-3.1-8b-instruct","object":"model","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":8192},
				{"id":"text-embedding-nomic","type":"embeddings","state":"not-loaded","max_context_length":2048}]}`,
		}, "qwen2-vl-7b-instruct:0/32768 meta-llama-3.1-8b-instruct:8192/131072"},
		{"llama.cpp", Compatible, []schema.Dialect{schema.OpenAI, schema.Anthropic}, map[string]string{
			"/v1/models": `{"models":[{"name":"m.gguf","model":"m.gguf","type":"model","size":""}],"object":"list","data":[{"id":"m.gguf","object":"model","created":1,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":262144,"n_embd":2048,"size":18}}]}`,
			"/props":     `{"default_generation_settings":{"id":0,"n_ctx":65536,"params":{}},"total_slots":4,"model_path":"m.gguf"}`,
		}, "m.gguf:65536/262144"},
		{"vllm", Compatible, []schema.Dialect{schema.OpenAI}, map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"openai/gpt-oss-20b","object":"model","created":1,"owned_by":"vllm","root":"openai/gpt-oss-20b","parent":null,"max_model_len":131072,"permission":[]}]}`,
		}, "openai/gpt-oss-20b:131072/0"},
		{"openrouter", Hosted, []schema.Dialect{schema.OpenAI, schema.Anthropic}, map[string]string{
			"/v1/models": `{"data":[{"id":"qwen/qwen3-coder","name":"Qwen: Qwen3 Coder","context_length":262144,"pricing":{"prompt":"0.000002"},"top_provider":{"context_length":262144}}]}`,
		}, "qwen/qwen3-coder:262144/0"},
		{"openai", Hosted, []schema.Dialect{schema.OpenAI}, map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"gpt-5.5","object":"model","created":1,"owned_by":"system"}]}`,
		}, "gpt-5.5:0/0"},
		{"anthropic, in two pages", Hosted, []schema.Dialect{schema.Anthropic}, map[string]string{
			"/v1/models?limit=1000":                          `{"data":[{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus 5.5","max_input_tokens":1000000,"max_tokens":128000}],"has_more":true,"first_id":"claude-opus-5-5","last_id":"claude-opus-5-5"}`,
			"/v1/models?after_id=claude-opus-5-5&limit=1000": `{"data":[{"type":"model","id":"claude-haiku-4-5-20251001"}],"has_more":false,"last_id":"claude-haiku-4-5-20251001"}`,
		}, "claude-opus-5-5:1000000/0 claude-haiku-4-5-20251001:0/0"},
		{"gemini, in two pages", Hosted, []schema.Dialect{schema.Gemini}, map[string]string{
			"/v1beta/models?pageSize=1000":                 `{"models":[{"name":"models/gemini-2.5-flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]},{"name":"models/embedding-001","inputTokenLimit":2048,"supportedGenerationMethods":["embedContent"]}],"nextPageToken":"T/1"}`,
			"/v1beta/models?pageSize=1000&pageToken=T%2F1": `{"models":[{"name":"models/gemini-2.5-pro","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]}]}`,
		}, "gemini-2.5-flash:1048576/0 gemini-2.5-pro:1048576/0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := Server{Kind: test.kind, Name: "x", URL: answers(t, test.texts), Dialects: test.dialects}
			models, err := Models(context.Background(), u)
			if got := summary(models); got != test.want || err != nil {
				t.Errorf("%s, %v", got, err)
			}
			listed, err := Preflight(context.Background(), u)
			if err != nil || len(listed) < len(models) {
				t.Fatalf("the list alone: %v, %v", listed, err)
			}
			for _, want := range models {
				for _, model := range listed {
					if got := Describe(context.Background(), u, model); model.ID == want.ID && summary([]Model{got}) != summary([]Model{want}) && test.name != "llama.cpp" {
						t.Errorf("%s asked about alone: %s", summary([]Model{want}), summary([]Model{got}))
					}
				}
			}
		})
	}
}

func TestScriptedServerIsCalledInProcess(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[{"id":"scripted"}]}`) })
	models, err := Models(context.Background(), Server{Kind: Scripted, Dialects: []schema.Dialect{schema.OpenAI}, Handler: handler})
	if summary(models) != "scripted:0/0" || err != nil {
		t.Errorf("%v %v", models, err)
	}
}

func TestHostileModelListIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want string
		ok   bool
	}{
		"ids that are none": {`{"data":[{"id":"\u001b[31mred"},{"id":"-rf"},{"id":"a\nb"},{"id":""},{"id":"` + strings.Repeat("x", 300) + `"},{"id":"\u202egood"},{"id":"good"}]}`, "good:0/0", true},
		"wrong types":       {`{"data":[7,"x",null,{"id":5},{"id":"a","max_model_len":"4096"},{"id":"b","max_model_len":-1},{"id":"c","max_model_len":1e300},{"id":"d","meta":[]}]}`, "a:4096/0 b:0/0 c:0/0 d:0/0", true},
		"no list":           {`{"data":{"a":1},"models":7}`, "", false},
		"another object":    {`{"hello":"world"}`, "", false},
		"an array":          {`[1,2,3]`, "", false},
		"cut off":           {`{"data":[{"id":"a"}`, "", false},
		"too large":         {`{"data":[` + strings.Repeat(`{"id":"`+strings.Repeat("x", 200)+`"},`, 60_000) + `{"id":"a"}]}`, "", false},
	} {
		models, err := Preflight(context.Background(), Server{Kind: Compatible, Name: "x", URL: answers(t, map[string]string{"/v1/models": test.body}), Dialects: []schema.Dialect{schema.OpenAI}})
		if summary(models) != test.want || (err == nil) != test.ok {
			t.Errorf("%s: %.100s %v", name, summary(models), err)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, 3*maxModels), ",")
	u := Server{Kind: Compatible, URL: answers(t, map[string]string{"/v1/models": `{"data":[` + many + `]}`}), Dialects: []schema.Dialect{schema.OpenAI}}
	if models, err := Preflight(context.Background(), u); len(models) != maxModels || err != nil {
		t.Errorf("%d models, %v", len(models), err)
	}
	asked := 0
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"models":[{"name":"models/m%d"}],"nextPageToken":"again"}`, asked)
	}))
	defer endless.Close()
	root, _ := url.Parse(endless.URL)
	if models, err := Preflight(context.Background(), Server{Kind: Hosted, URL: root, Dialects: []schema.Dialect{schema.Gemini}}); len(models) != maxPages || err != nil {
		t.Errorf("an endless list: %d models, %v", len(models), err)
	}
}

// The server sends one byte a second forever.
func TestSlowModelListTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		begin := time.Now()
		_, err := Preflight(t.Context(), Server{Kind: Scripted, Name: "slow", Dialects: []schema.Dialect{schema.OpenAI}, Handler: handler})
		if took := time.Since(begin); err == nil || took > askTimeout+2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestPublicModelListDoesNotProveTheKey(t *testing.T) {
	for status, want := range map[int]string{http.StatusUnauthorized: "refused the key in OPENROUTER_API_KEY", http.StatusOK: ""} {
		program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/key" {
				w.WriteHeader(status)
			}
			_, _ = io.WriteString(w, `{"data":[{"id":"a"}]}`)
		}))
		root, _ := url.Parse(program.URL + "/api")
		_, err := Preflight(context.Background(), Server{Kind: Hosted, Name: "openrouter", URL: root, Dialects: []schema.Dialect{schema.OpenAI}, Key: secret.New(realKey), KeyName: "OPENROUTER_API_KEY"})
		program.Close()
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestFailedModelListReportsTheServersMessage(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   string // "" for no error
	}{
		"wrong key":      {401, `{"error":{"message":"Incorrect API key provided: ` + realKey + `."}}`, "refused the key in SOME_KEY: Incorrect API key provided: ****"},
		"restricted key": {403, `{"error":{"message":"You have insufficient permissions for this operation. Missing scopes: api.model.read."}}`, ""},
		"no access":      {403, `{"error":{"message":"Country not supported"}}`, "refused the key in SOME_KEY: Country not supported"},
		"loading":        {503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, "x is still loading its model"},
		"busy":           {429, `{}`, ""},
	} {
		program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		root, _ := url.Parse(program.URL)
		models, err := Preflight(context.Background(), Server{Kind: Hosted, Name: "x", URL: root, Dialects: []schema.Dialect{schema.OpenAI}, Key: secret.New(realKey), KeyName: "SOME_KEY"})
		program.Close()
		if test.want == "" && (err != nil || models != nil) || test.want != "" && (fault.KindOf(err) != fault.Environment || !strings.Contains(fmt.Sprint(err), test.want)) {
			t.Errorf("%s: %v %v", name, models, err)
		}
		if strings.Contains(fmt.Sprint(err), realKey) {
			t.Errorf("%s: the key is in %v", name, err)
		}
	}
}

func TestUnknownModelIsReportedIfTheListIsComplete(t *testing.T) {
	at := func(address string) *url.URL { root, _ := url.Parse(address); return root }
	models := func(ids ...string) []Model {
		var all []Model
		for _, id := range ids {
			all = append(all, Model{ID: id, Context: 7})
		}
		return all
	}
	ollama := Server{Kind: OllamaHost, Dialects: []schema.Dialect{schema.OpenAI, schema.Ollama}}
	local := Server{Kind: Compatible, URL: at("http://127.0.0.1:1234"), Dialects: []schema.Dialect{schema.OpenAI}}
	far := Server{Kind: Compatible, URL: at("https://llm.example.com"), Dialects: []schema.Dialect{schema.OpenAI}}
	openai := Server{Kind: Hosted, Name: "openai", URL: at("https://api.openai.com"), Dialects: []schema.Dialect{schema.OpenAI}}
	anthropic := Server{Kind: Hosted, Name: "anthropic", URL: at("https://api.anthropic.com"), Dialects: []schema.Dialect{schema.Anthropic}}
	gemini := Server{Kind: Hosted, Name: "gemini", URL: at("https://generativelanguage.googleapis.com"), Dialects: []schema.Dialect{schema.Gemini}}
	openrouter := Server{Kind: Hosted, Name: "openrouter", URL: at("https://openrouter.ai/api"), Dialects: []schema.Dialect{schema.OpenAI}}
	claudes := models("claude-sonnet-4-5-20250929", "claude-opus-5-5")
	for _, test := range []struct {
		u     Server
		list  []Model
		asked string
		id    string // "" for unknown
		size  int
	}{
		{Server{Kind: Scripted}, models("scripted"), "gpt-5", "gpt-5", 0},
		{ollama, models("qwen3-coder:30b", "llama3.2:latest"), "llama3.2", "llama3.2:latest", 7},
		{ollama, models("qwen3-coder:30b"), "Qwen3-Coder:30B", "qwen3-coder:30b", 7},
		{ollama, models("hf.co/a/b:latest"), "hf.co/a/b", "hf.co/a/b:latest", 7},
		{ollama, models("qwen3-coder:30b"), "qwen3-coder", "", 0},
		{ollama, models("a:1"), "gpt-oss:120b-cloud", "gpt-oss:120b-cloud", 0},
		{local, models("one"), "one", "one", 7},
		{local, models("one"), "two", "", 0},
		{local, nil, "two", "two", 0},
		{far, models("one"), "two", "two", 0},
		{openai, models("gpt-5.5"), "gpt-5.6", "", 0},
		{anthropic, claudes, "claude-sonnet-4-5", "claude-sonnet-4-5", 7},
		{anthropic, claudes, "claude-sonnet-4-5[1m]", "claude-sonnet-4-5[1m]", 7},
		{anthropic, claudes, "claude-sonnet-4-latest", "claude-sonnet-4-latest", 7},
		{anthropic, claudes, "sonnet", "sonnet", 0},
		{anthropic, models("claude-sonnet-4-20250514"), "claude-sonnet-4-0", "claude-sonnet-4-0", 7},
		{anthropic, claudes, "claude-sonnet-4", "", 0},
		{anthropic, claudes, "gpt-5.5", "", 0},
		{gemini, models("gemini-2.5-pro"), "models/gemini-2.5-pro", "gemini-2.5-pro", 7},
		{gemini, models("gemini-2.5-pro"), "gemini-flash-latest", "gemini-flash-latest", 0},
		{gemini, models("gemini-2.5-pro"), "flash-lite", "flash-lite", 0},
		{gemini, models("gemini-2.5-pro"), "gemini-2.5-por", "", 0},
		{openrouter, models("qwen/qwen3-coder", "z/only:free"), "qwen/qwen3-coder:nitro", "qwen/qwen3-coder:nitro", 7},
		{openrouter, models("qwen/qwen3-coder", "z/only:free"), "z/only:free", "z/only:free", 7},
		{openrouter, models("qwen/qwen3-coder"), "qwen/qwen3-coder@preset/mine", "qwen/qwen3-coder@preset/mine", 7},
		{openrouter, models("qwen/qwen3-coder"), "qwen/qwen4-coder:free", "", 0},
		{openrouter, models("qwen/qwen3-coder"), "~qwen/qwen-coder-latest", "~qwen/qwen-coder-latest", 0},
	} {
		model, known := Resolve(test.u, test.list, test.asked)
		if known != (test.id != "") || known && (model.ID != test.id || model.Context != test.size) {
			t.Errorf("%s %s: %+v %v", test.u.Name, test.asked, model, known)
		}
	}
}

func FuzzModelListsAreReadWithinLimits(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"a","max_model_len":1,"meta":{"n_ctx":3}}],"models":[{"name":"models/x"}],"has_more":true}`))
	f.Add([]byte(`{"data":[[],{},7,"x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var page listing
		if !decode(strings.NewReader(string(data)), &page) {
			return
		}
		for _, model := range page.add(nil) {
			if !usableID(model.ID) || model.Context < 0 || model.Limit < 0 || model.Size < 0 {
				t.Errorf("%+v", model)
			}
			if _, err := json.Marshal(model); err != nil {
				t.Error(err)
			}
		}
	})
}
