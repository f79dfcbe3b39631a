package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"aibox/netguard"
)

// attack is a request that makes a model's server do more than answer. CANARY marks the
// place of the attack.
type attack struct {
	name, path, body string
	without          bool // the rest of the request still goes upstream
	why              string
}

const (
	ownModel = `"model":"m"`
	asks     = `,"messages":[{"role":"user","content":"hi"}]`
	chat     = "/v1/chat/completions"
	response = "/v1/responses"
	messages = "/v1/messages"
	generate = "/v1beta/models/m:generateContent"
	stream   = "/v1beta/models/m:streamGenerateContent"
	part     = `{"contents":[{"role":"user","parts":[%]}]}`
	block    = `{` + ownModel + `,"max_tokens":9,"messages":[{"role":"user","content":[%]}]}`
	item     = `{` + ownModel + `,"input":[{"role":"user","content":"hi"},%]}`
)

func in(template, what string) string { return strings.Replace(template, "%", what, 1) }

// attacks returns requests whose bodies try to reach the outside, by dialect.
func attacks() []attack {
	all := []attack{
		{"remote MCP server", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"mcp","server_label":"x","server_url":"https://CANARY/"}]}`, false, "mcp"},
		{"remote MCP server beside a function", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"function","name":"f"},{"server_url":"https://CANARY/","type":"mcp"}]}`, false, "mcp"},
		{"MCP connector", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"mcp","connector_id":"CANARY"}]}`, false, "mcp"},
		{"escaped name of a tool", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"\u006dcp","server_url":"https://CANARY/"}]}`, false, "mcp"},
		{"tool found by a search", response, in(item, `{"type":"tool_search_output","call_id":"c","tools":[{"type":"mcp","server_url":"https://CANARY/"}]}`), false, "mcp"},
		{"tool added on the way", response, in(item, `{"type":"additional_tools","tools":[{"type":"mcp","server_url":"https://CANARY/"}]}`), false, "mcp"},
		{"tool in a namespace", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"},{"type":"mcp","server_url":"https://CANARY/"}]}]}`, true, ""},
		{"web search", response, `{` + ownModel + `,"input":"CANARY","tools":[{"type":"web_search"}]}`, false, "web-search"},
		{"web search preview", response, `{` + ownModel + `,"input":"CANARY","tools":[{"type":"web_search_preview_2025_03_11"}]}`, false, "web-search"},
		{"web search beside a function", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"function","name":"f"},{"type":"web_search","search_context_size":"CANARY"}]}`, true, ""},
		{"file search", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"file_search","vector_store_ids":["CANARY"]}]}`, false, "file-search"},
		{"code interpreter", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"code_interpreter","container":"CANARY"}]}`, false, "code-execution"},
		{"image generation", response, `{` + ownModel + `,"input":"CANARY","tools":[{"type":"image_generation"}]}`, false, "image-generation"},
		{"computer use", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"computer_use_preview","environment":"CANARY"}]}`, false, "computer-use"},
		{"hosted shell", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto","skills":["CANARY"]}}]}`, false, "code-execution"},
		{"hosted shell beside a function", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"function","name":"f"},{"environment":{"skills":["CANARY"],"type":"container_reference"},"type":"shell"}]}`, true, ""},
		{"unknown tool", response, `{` + ownModel + `,"input":"hi","tools":[{"type":"function","name":"f"},{"type":"teleport","to":"CANARY"}]}`, true, ""},
		{"earlier answer of the account", response, `{` + ownModel + `,"input":"hi","previous_response_id":"resp_CANARY"}`, false, "not name an answer of this session"},
		{"conversation of the account", response, `{` + ownModel + `,"input":"hi","conversation":{"id":"conv_CANARY"}}`, false, "stores"},
		{"stored item", response, in(item, `{"type":"item_reference","id":"msg_CANARY"}`), false, "stores"},
		{"stored item without a type", response, in(item, `{"id":"msg_CANARY"}`), false, "role"},
		{"stored item as a message", response, in(item, `{"type":"message","id":"msg_CANARY"}`), false, "role"},
		{"stored item by its ID", response, in(item, `{"type":"reasoning","id":"rs_CANARY","summary":[]}`), true, ""},
		{"stored prompt", response, `{` + ownModel + `,"prompt":{"id":"pmpt_CANARY"}}`, false, "stores"},
		{"answer in the background", response, `{` + ownModel + `,"input":"CANARY","background":true}`, false, "background"},
		{"picture by URL", response, in(item, `{"role":"user","content":[{"type":"input_image","image_url":"http://169.254.169.254/CANARY"}]}`), false, "data: URL"},
		{"picture of the account", response, in(item, `{"role":"user","content":[{"type":"input_image","file_id":"CANARY"}]}`), false, "stores"},
		{"file by URL", response, in(item, `{"role":"user","content":[{"type":"input_file","file_url":"http://127.0.0.1/CANARY"}]}`), false, "URL"},
		{"picture in a tool's output", response, in(item, `{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"file:///etc/CANARY"}]}`), false, "data: URL"},
		{"approval of an MCP call", response, in(item, `{"type":"mcp_approval_response","approve":true,"approval_request_id":"CANARY"}`), false, "mcp"},
		{"another model", response, `{"model":"CANARY","input":"hi"}`, false, "not one of this session's"},
		{"stored answer", response, `{` + ownModel + `,"input":"hi","store":true,"metadata":null}`, true, ""},

		{"picture by URL", chat, in(block, `{"type":"image_url","image_url":{"url":"http://127.0.0.1:11434/CANARY"}}`), false, "data: URL"},
		{"picture by URL as text", chat, in(block, `{"type":"image_url","image_url":"https://CANARY/"}`), false, "data: URL"},
		{"picture by path", chat, in(block, `{"type":"image_url","image_url":{"url":"file:///CANARY"}}`), false, "data: URL"},
		{"picture that refers to others", chat, in(block, `{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,CANARY"}}`), false, "data: URL"},
		{"picture that only begins as data", chat, in(block, `{"type":"image_url","image_url":{"url":"data:image/png;base64,http://CANARY/"}}`), false, "data: URL"},
		{"film by URL", chat, in(block, `{"type":"video_url","video_url":{"url":"http://CANARY/"}}`), false, "data: URL"},
		{"sound by URL", chat, in(block, `{"type":"audio_url","audio_url":{"url":"http://CANARY/"}}`), false, "data: URL"},
		{"document by URL", chat, in(block, `{"type":"document_url","document_url":"http://CANARY/"}`), false, "data: URL"},
		{"stored file", chat, in(block, `{"type":"file","file":{"file_id":"CANARY"}}`), false, "stores"},
		{"file by URL", chat, in(block, `{"type":"file","file":{"file_data":"http://CANARY/x"}}`), false, "neither"},
		{"picture in a tool's result", chat, `{` + ownModel + `,"messages":[{"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"http://CANARY/"}}]}]}`, false, "data: URL"},
		{"unknown content", chat, in(block, `{"type":"text","text":"hi"},{"type":"page","url":"http://CANARY/"}`), true, ""},
		{"web search", chat, `{` + ownModel + asks + `,"web_search_options":{"user_location":"CANARY"}}`, false, "web-search"},
		{"plug-ins", chat, `{` + ownModel + asks + `,"plugins":[{"id":"web","search_prompt":"CANARY"}]}`, false, "web-search"},
		{"xAI's search", chat, `{` + ownModel + asks + `,"search_parameters":{"mode":"on","sources":["CANARY"]}}`, false, "web-search"},
		{"model that searches the web", chat, `{"model":"m:online"` + asks + `,"x":"CANARY"}`, false, "web-search"},
		{"other models to fall back to", chat, `{` + ownModel + asks + `,"models":["m","CANARY"]}`, false, "not one of this session's"},
		{"another model", chat, `{"model":"CANARY"` + asks + `}`, false, "not one of this session's"},
		{"another model behind its own", chat, `{"model":"m","model":"CANARY"` + asks + `}`, false, "twice"},
		{"another model in other letters", chat, `{"model":"m","Model":"CANARY"` + asks + `}`, true, ""},
		{"no model", chat, `{"CANARY":1` + asks + `}`, false, "no model"},
		{"preset", chat, `{` + ownModel + asks + `,"preset":"CANARY"}`, false, "preset"},
		{"remote MCP server", chat, `{` + ownModel + asks + `,"tools":[{"type":"mcp","server_url":"https://CANARY/"}]}`, false, "mcp"},
		{"template of the server", chat, `{` + ownModel + asks + `,"chat_template":"CANARY","chat_template_kwargs":{"chat_template":"CANARY","thinking":true}}`, true, ""},
		{"code of the server", chat, `{` + ownModel + asks + `,"logits_processors":["CANARY"],"mm_processor_kwargs":{"x":"CANARY"}}`, true, ""},
		{"slots and adapters of the server", chat, `{` + ownModel + asks + `,"id_slot":"CANARY","lora":["CANARY"]}`, true, ""},
		{"schema of another document", chat, `{` + ownModel + asks + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"$ref":"http://CANARY/"}}}}}]}`, false, "another document"},
		{"schema of the answer", chat, `{` + ownModel + asks + `,"response_format":{"type":"json_schema","json_schema":{"schema":{"items":[{"$dynamicRef":"file:///CANARY"}]}}}}`, false, "another document"},
		{"settings of the server", "/v1/completions", `{` + ownModel + `,"prompt":"hi","prompt_embeds":"CANARY"}`, true, ""},
		{"another model", "/v1/completions", `{"model":"CANARY","prompt":"hi"}`, false, "not one of this session's"},
		{"another model", "/v1/embeddings", `{"model":"CANARY","input":"hi"}`, false, "not one of this session's"},
		{"earlier answer", "/v1/responses/compact", `{` + ownModel + `,"previous_response_id":"resp_CANARY"}`, false, "not name an answer"},
		{"earlier answer", "/v1/responses/input_tokens", `{` + ownModel + `,"previous_response_id":"resp_CANARY"}`, false, "not name an answer"},

		{"MCP servers", messages, `{` + ownModel + asks + `,"mcp_servers":[{"type":"url","url":"https://CANARY/","name":"x"}]}`, false, "mcp"},
		{"MCP tools", messages, `{` + ownModel + asks + `,"tools":[{"name":"f","input_schema":{}},{"type":"mcp_toolset","mcp_server_name":"CANARY"}]}`, false, "mcp"},
		{"web search", messages, `{` + ownModel + asks + `,"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["CANARY"]}]}`, false, "web-search"},
		{"web fetch", messages, `{` + ownModel + asks + `,"tools":[{"type":"web_fetch_20250910","name":"web_fetch","allowed_domains":["CANARY"]}]}`, false, "web-fetch"},
		{"code execution", messages, `{` + ownModel + asks + `,"tools":[{"type":"code_execution_20250825","name":"CANARY"}]}`, false, "code-execution"},
		{"computer use", messages, `{` + ownModel + asks + `,"tools":[{"type":"computer_20250124","name":"CANARY"}]}`, false, "computer-use"},
		{"tool added on the way", messages, in(block, `{"type":"tool_addition","tool":{"type":"mcp_toolset","mcp_server_name":"CANARY"}}`), false, "mcp"},
		{"call that the server goes on with", messages, in(block, `{"type":"text","text":"hi"},{"type":"server_tool_use","id":"s","name":"web_fetch","input":{"url":"http://CANARY/"}}`), true, ""},
		{"container", messages, `{` + ownModel + asks + `,"container":"container_CANARY"}`, false, "container"},
		{"skills", messages, `{` + ownModel + asks + `,"container":{"skills":[{"skill_id":"CANARY"}]}}`, false, "container"},
		{"other models to fall back to", messages, `{` + ownModel + asks + `,"fallbacks":[{"model":"CANARY"}]}`, false, "another model"},
		{"picture by URL", messages, in(block, `{"type":"image","source":{"type":"url","url":"http://CANARY/"}}`), false, "URL"},
		{"document by URL", messages, in(block, `{"type":"document","source":{"type":"url","url":"http://CANARY/"}}`), false, "URL"},
		{"stored document", messages, in(block, `{"type":"document","source":{"type":"file","file_id":"CANARY"}}`), false, "stores"},
		{"picture in a document", messages, in(block, `{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"http://CANARY/"}}]}}`), false, "URL"},
		{"picture in a tool's result", messages, in(block, `{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"url":"http://CANARY/","type":"url"}}]}`), false, "URL"},
		{"upload", messages, in(block, `{"type":"container_upload","file_id":"CANARY"}`), false, "stores"},
		{"another model", messages, `{"model":"CANARY"` + asks + `}`, false, "not one of this session's"},
		{"another model", "/v1/messages/count_tokens", `{"model":"CANARY"` + asks + `}`, false, "not one of this session's"},

		{"Google's search", generate, `{"contents":[],"tools":[{"googleSearch":{"x":"CANARY"}}]}`, false, "web-search"},
		{"Google's search in snake case", generate, `{"contents":[],"tools":[{"google_search":{"x":"CANARY"}}]}`, false, "web-search"},
		{"Google's search beside functions", generate, `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}],"google_search":{"x":"CANARY"}}]}`, true, ""},
		{"old search", stream, `{"contents":[],"tools":[{"googleSearchRetrieval":{"x":"CANARY"}}]}`, false, "web-search"},
		{"maps", generate, `{"contents":[],"tools":[{"google_maps":{"x":"CANARY"}}]}`, false, "web-search"},
		{"pages", stream, `{"contents":[],"tools":[{"url_context":{"x":"CANARY"}}]}`, false, "web-fetch"},
		{"code execution", generate, `{"contents":[],"tools":[{"codeExecution":{"x":"CANARY"}}]}`, false, "code-execution"},
		{"file search", generate, `{"contents":[],"tools":[{"file_search":{"file_search_store_names":["CANARY"]}}]}`, false, "file-search"},
		{"MCP servers", generate, `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}],"mcp_servers":[{"url":"CANARY"}]}]}`, false, "mcp"},
		{"file by URL", generate, in(part, `{"fileData":{"fileUri":"https://CANARY/"}}`), false, "file or URL"},
		{"file by URL in snake case", generate, in(part, `{"file_data":{"file_uri":"gs://CANARY/"}}`), false, "file or URL"},
		{"file in two spellings", generate, in(part, `{"inline_data":{"data":""},"inlineData":{"data":"CANARY"}}`), false, "twice"},
		{"file in a function's response", generate, in(part, `{"functionResponse":{"name":"f","parts":[{"file_data":{"file_uri":"https://CANARY/"}}]}}`), false, "URL"},
		{"file in the instructions", generate, `{"contents":[],"system_instruction":{"parts":[{"file_data":{"file_uri":"https://CANARY/"}}]}}`, false, "file or URL"},
		{"stored content", generate, `{"contents":[],"cached_content":"cachedContents/CANARY"}`, false, "stores"},
		{"another model", "/v1beta/models/CANARY:generateContent", `{"contents":[]}`, false, "not one of this session's"},
		{"tuned model", "/v1beta/tunedModels/CANARY:generateContent", `{"contents":[]}`, false, "not one of this session's"},
		{"tuned model that ends as the session's", "/v1beta/tunedModels/CANARY/models/m:generateContent", `{"contents":[]}`, false, "not one of this session's"},
		{"another model inside", "/v1beta/models/m:countTokens", `{"generateContentRequest":{"model":"models/CANARY"}}`, false, "not one of this session's"},
		{"file in what is counted", "/v1beta/models/m:countTokens", `{"generate_content_request":{"model":"m","contents":[{"parts":[{"file_data":{"file_uri":"https://CANARY/"}}]}]}}`, false, "file or URL"},
		{"another model inside", "/v1beta/models/m:batchEmbedContents", `{"requests":[{"model":"models/CANARY","content":{}}]}`, false, "not one of this session's"},
		{"file to embed", "/v1beta/models/m:embedContent", `{"content":{"parts":[{"fileData":{"fileUri":"CANARY"}}]}}`, false, "file or URL"},

		{"another model", "/api/chat", `{"model":"CANARY-cloud"` + asks + `}`, false, "not one of this session's"},
		{"another model", "/api/generate", `{"model":"CANARY:cloud","prompt":"hi"}`, false, "not one of this session's"},
		{"another model", "/api/embed", `{"model":"CANARY","input":"hi"}`, false, "not one of this session's"},
		{"another model", "/api/embeddings", `{"model":"CANARY","prompt":"hi"}`, false, "not one of this session's"},
		{"another model", "/api/show", `{"name":"CANARY"}`, false, "not one of this session's"},
		{"another model in other letters", "/api/chat", `{` + ownModel + asks + `,"MODEL":"CANARY"}`, true, ""},
		{"picture by URL", "/api/chat", `{` + ownModel + `,"messages":[{"role":"user","content":"hi","images":["http://CANARY/"]}]}`, false, "picture"},
		{"picture by path", "/api/generate", `{` + ownModel + `,"prompt":"hi","images":["/etc/CANARY"]}`, false, "picture"},
		{"memory of the server", "/api/chat", `{` + ownModel + asks + `,"keep_alive":"CANARY","options":{"num_ctx":"CANARY","num_gpu":"CANARY","num_thread":"CANARY","use_mmap":"CANARY","main_gpu":"CANARY","seed":1}}`, true, ""},
		{"memory of the server", "/api/generate", `{` + ownModel + `,"prompt":"hi","keep_alive":"CANARY","options":{"num_ctx":"CANARY","temperature":0}}`, true, ""},
		{"template of the server", "/api/generate", `{` + ownModel + `,"prompt":"hi","template":"CANARY"}`, true, ""},
	}
	for path, body := range map[string]string{chat: `{` + ownModel + asks + `}`, response: `{` + ownModel + `,"input":"hi"}`, messages: `{` + ownModel + asks + `}`, generate: `{"contents":[]}`, "/api/chat": `{` + ownModel + asks + `}`} {
		all = append(all,
			attack{"text after the body", path, body + ` "CANARY"`, false, "data after"},
			attack{"second body", path, body + body + `{"CANARY":1}`, false, "data after"},
			attack{"name twice", path, strings.TrimSuffix(body, "}") + `,"x":1,"x":"CANARY"}`, false, "twice"},
			attack{"name twice, once escaped", path, strings.TrimSuffix(body, "}") + `,"x":1,"\u0078":"CANARY"}`, false, "twice"},
			attack{"invalid UTF-8", path, strings.TrimSuffix(body, "}") + `,"CANARY":"` + "\xff" + `"}`, false, "UTF-8"},
			attack{"half a surrogate", path, strings.TrimSuffix(body, "}") + `,"CANARY":"\ud800"}`, false, "not valid"},
			attack{"too deep", path, strings.TrimSuffix(body, "}") + `,"CANARY":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, false, "deep"},
			attack{"broken off", path, strings.TrimSuffix(body, "}") + `,"CANARY":1`, false, "ends in the middle"},
			attack{"list", path, `[` + body + `,"CANARY"]`, false, "not a JSON object"},
			attack{"comments", path, `{/*CANARY*/` + body[1:], false, "not valid JSON"},
			attack{"byte order mark", path, "\ufeff" + body + "CANARY", false, "not valid JSON"},
			attack{"unknown field", path, strings.TrimSuffix(body, "}") + `,"new_field":{"a":"CANARY"}}`, true, ""},
		)
	}
	return all
}

// Features of a model's API beyond answers must not give a sandbox access to the outside.
func TestNoRequestReachesBeyondTheModel(t *testing.T) {
	var mu sync.Mutex
	var got []string
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, r.URL.Path+" "+string(body))
		mu.Unlock()
		_, _ = io.WriteString(w, `{}`)
	}, func(c *Config) { c.Models = func() []string { return []string{"m"} } })
	for _, a := range attacks() {
		t.Run(strings.Trim(a.path, "/")+" "+a.name, func(t *testing.T) {
			got = nil
			answer := b.send(t, "POST", a.path, a.body, "Content-Type", "application/json")
			reply := text(t, answer)
			arrived := strings.Join(got, "\n")
			if strings.Contains(arrived, "CANARY") || strings.Contains(arrived, ":online") {
				t.Errorf("it reached the model's server: %s", arrived)
			}
			switch {
			case a.without && (answer.StatusCode != 200 || len(got) != 1):
				t.Errorf("the rest did not pass: %d %s", answer.StatusCode, reply)
			case !a.without && (answer.StatusCode < 400 || answer.StatusCode > 404 || len(got) != 0):
				t.Errorf("it was not refused: %d %s %s", answer.StatusCode, reply, arrived)
			case !a.without && !strings.Contains(reply, a.why):
				t.Errorf("the refusal does not say why: %s", reply)
			}
			if strings.Contains(reply, "CANARY") && !strings.Contains(reply, "not one of this session's") {
				t.Errorf("the refusal repeats the body: %s", reply)
			}
		})
	}
}

// A kind that the user has opened passes, with the fields in its table.
func TestAllowedServerToolPasses(t *testing.T) {
	var got string
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
	}, func(c *Config) {
		c.Models = func() []string { return []string{"m"} }
		c.ServerTools = []netguard.ServerTool{netguard.WebSearch}
	})
	for path, body := range map[string]string{
		response: `{"model":"m","input":"hi","tools":[{"type":"web_search","search_context_size":"low"}],"store":false}`,
		messages: `{"model":"m","messages":[],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}]}`,
		generate: `{"contents":[],"tools":[{"googleSearch":{}}]}`,
		chat:     `{"model":"m","messages":[],"web_search_options":{}}`,
	} {
		got = ""
		if answer := b.send(t, "POST", path, body, "Content-Type", "application/json"); answer.StatusCode != 200 || got != body {
			t.Errorf("%s: %d %s, and what came is %s", path, answer.StatusCode, text(t, answer), got)
		}
	}
	if answer := b.send(t, "POST", response, `{"model":"m","input":"hi","tools":[{"type":"mcp","server_url":"https://x/"}]}`, "Content-Type", "application/json"); answer.StatusCode == 200 {
		t.Error("another kind passes too")
	}
}

// The gateway reports fields that it leaves out once in a session.
func TestDroppedFieldsAreLoggedOnce(t *testing.T) {
	b := newBench(t, echo, func(c *Config) { c.Models = func() []string { return []string{"m"} } })
	body := `{"model":"m","messages":[],"brand_new":1,"options":{"num_ctx":4096}}`
	for i, want := range []string{`["anthropic-beta=files-api-2025-04-14","brand_new","options"]`, `null`} {
		b.events = nil
		b.send(t, "POST", "/v1/messages", body, "Content-Type", "application/json", "Anthropic-Beta", "claude-code-20250219,files-api-2025-04-14")
		if left, _ := json.Marshal(b.last(t).LeftOut); string(left) != want {
			t.Errorf("request %d: %s, want %s", i, left, want)
		}
	}
}

// Beta headers turn on features of the server.
func TestBetaHeaderHasOnlyListedValues(t *testing.T) {
	var got http.Header
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header }, func(c *Config) {
		c.Models = func() []string { return []string{"m"} }
	})
	for sent, want := range map[string]string{
		"claude-code-20250219,interleaved-thinking-2025-05-14, files-api-2025-04-14": "claude-code-20250219,interleaved-thinking-2025-05-14",
		"mcp-client-2025-11-20":                          "",
		"web-fetch-2025-09-10,code-execution-2025-08-25": "",
		"skills-2025-10-02,computer-use-2025-01-24":      "",
		"effort-2025-11-24":                              "effort-2025-11-24",
	} {
		b.send(t, "POST", messages, `{"model":"m","messages":[]}`, "Content-Type", "application/json", "Anthropic-Beta", sent)
		if beta := strings.Join(got["Anthropic-Beta"], "|"); beta != want {
			t.Errorf("%q became %q, want %q", sent, beta, want)
		}
	}
	b.send(t, "POST", chat, `{"model":"m","messages":[]}`, "Content-Type", "application/json", "Openai-Beta", "assistants=v2")
	if beta := got["Openai-Beta"]; beta != nil {
		t.Errorf("OpenAI's beta header passed as %q", beta)
	}
}

// A body that another parser could read differently does not pass.
func TestBodyThatIsNotPlainJSONIsRejected(t *testing.T) {
	b := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, func(c *Config) {
		c.Models = func() []string { return []string{"m"} }
	})
	for _, header := range [][2]string{
		{"Content-Encoding", "gzip"},
		{"Content-Encoding", "zstd"},
		{"Content-Type", "multipart/form-data; boundary=x"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "text/plain"},
		{"Content-Type", "application/json; charset=utf-16"},
	} {
		answer := b.send(t, "POST", chat, `{"model":"m","messages":[]}`, header[0], header[1])
		if answer.StatusCode != 400 {
			t.Errorf("%v: %d %s", header, answer.StatusCode, text(t, answer))
		}
	}
}

// Paths that name a model pass only for the session's models.
func TestModelInAPathMustBelongToTheSession(t *testing.T) {
	var got string
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path }, func(c *Config) {
		c.Models = func() []string { return []string{"org/model-7b:free"} }
	})
	for path, status := range map[string]int{
		"/v1/models/org/model-7b:free":                          200,
		"/v1beta/models/org/model-7b:free:generateContent":      200,
		"/v1/models/org":                                        404,
		"/v1/models/a/b/c":                                      404,
		"/v1/models/org/model-7b:free/slots":                    404,
		"/v1beta/models/org/model-7b:generateContent":           404,
		"/v1beta/models/org/model-7b:free:x:generateContent":    404,
		"/v1beta/tunedModels/org/model-7b:free:generateContent": 404,
		"/gemini/v1beta/models/other":                           404,
	} {
		got = ""
		method, body := "GET", ""
		if strings.HasSuffix(path, "Content") {
			method, body = "POST", `{"contents":[]}`
		}
		if answer := b.send(t, method, path, body, "Content-Type", "application/json"); answer.StatusCode != status || (got != "") != (status == 200) {
			t.Errorf("%s: %d, and what arrived is %q", path, answer.StatusCode, got)
		}
	}
}

func TestSessionWithoutAModelRequestsNone(t *testing.T) {
	for _, models := range []func() []string{nil, func() []string { return nil }, func() []string { return []string{""} }} {
		b := newBench(t, echo, func(c *Config) { c.Models = models })
		for _, body := range []string{`{"model":"m"}`, `{"model":""}`, `{}`} {
			if status := b.send(t, "POST", chat, body).StatusCode; status != 404 && status != 400 {
				t.Errorf("%s: %d", body, status)
			}
		}
	}
}
