package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/netguard"
)

// A new table must not break an agent: their requests pass completely, except for known
// parts.
func TestAgentRequestsPassWhole(t *testing.T) {
	missing := map[string][]string{
		"Responses-codex": {"tools[]=web-search"}, // only while its command line leaves it on
	}
	for name, body := range requests(t) {
		result, err := Filter(endpointNamed(name), body, policyOfTests())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(result.LeftOut, missing[name]) {
			t.Errorf("%s: left out %q", name, result.LeftOut)
		}
		var sent, want any
		if err := errors.Join(json.Unmarshal(bytes.Join(result.Body, nil), &sent), json.Unmarshal(body, &want)); err != nil {
			t.Fatal(err)
		}
		if missing[name] == nil {
			if diff := cmp.Diff(aliased(want, ""), sent); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// aliased returns a request with the aliases of its items.
func aliased(value any, under string) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = aliased(value[i], under)
		}
	case map[string]any:
		if id, ok := value["id"].(string); ok && under == "input" {
			value["id"] = "alias-" + id
		}
		for _, name := range slices.Collect(maps.Keys(value)) {
			value[name] = aliased(value[name], name)
		}
	}
	return value
}

func filtered(t *testing.T, endpoint Endpoint, body string, open ...netguard.ServerTool) string {
	t.Helper()
	result, err := Filter(endpoint, []byte(body), policyOfTests(open...))
	if err != nil {
		return "refused: " + err.Error()
	}
	return string(bytes.Join(result.Body, nil))
}

func TestBodyIsRebuiltFromItsListedParts(t *testing.T) {
	long := strings.Repeat("long text ", 30_000)
	for name, c := range map[string]struct {
		endpoint   Endpoint
		body, want string
	}{
		"order and white space":        {ChatCompletions, "\n{ \"stream\" : true ,\t\"model\":\"m\" }\n", `{"stream":true,"model":"m"}`},
		"first member left out":        {ChatCompletions, `{"x":1,"model":"m"}`, `{"model":"m"}`},
		"last member left out":         {ChatCompletions, `{"model":"m","x":{"y":[1,{"z":2}]}}`, `{"model":"m"}`},
		"a member in between":          {ChatCompletions, `{"model":"m","x":[],"seed":1}`, `{"model":"m","seed":1}`},
		"elements left out":            {Responses, `{"model":"m","input":[{"type":"x"},{"role":"user","content":"a"},{"type":"y"}]}`, `{"model":"m","input":[{"role":"user","content":"a"}],"store":false}`},
		"an element with nothing left": {ChatCompletions, `{"model":"m","messages":[{"x":1},{"role":"user"}]}`, `{"model":"m","messages":[{"role":"user"}]}`},
		"a list with nothing left":     {ChatCompletions, `{"model":"m","tools":[{"type":"x"}]}`, `{"model":"m"}`},
		"an empty list":                {ChatCompletions, `{"model":"m","tools":[]}`, `{"model":"m","tools":[]}`},
		"an empty object":              {Messages, `{"model":"m","metadata":{}}`, `{"model":"m","metadata":{}}`},
		"null":                         {ChatCompletions, `{"model":"m","tools":null,"stop":null,"web_search_options":null}`, `{"model":"m","tools":null,"stop":null}`},
		"the wrong kind":               {ChatCompletions, `{"model":"m","messages":"hi","seed":{},"stream_options":[]}`, `{"model":"m"}`},
		"escaped names":                {ChatCompletions, `{"\u006dodel":"\u006d"}`, `{"model":"m"}`},
		"the kind behind the rest":     {Responses, `{"model":"m","tools":[{"name":"f","parameters":{},"type":"function"}]}`, `{"model":"m","tools":[{"name":"f","parameters":{},"type":"function"}],"store":false}`},
		"both spellings of Gemini":     {GenerateContent, `{"system_instruction":{"parts":[{"text":"a"}]},"generation_config":{"top_p":1}}`, `{"systemInstruction":{"parts":[{"text":"a"}]},"generationConfig":{"topP":1}}`},
		"store":                        {Responses, `{"store":true,"model":"m"}`, `{"model":"m","store":false}`},
		"an answer of the session":     {Responses, `{"model":"m","previous_response_id":"resp_own"}`, `{"model":"m","previous_response_id":"resp_own","store":false}`},
		"nothing that is refused":      {Responses, `{"model":"m","conversation":null,"background":false,"prompt":{}}`, `{"model":"m","store":false}`},
		"a tool beside another":        {Responses, `{"model":"m","tools":[{"type":"web_search"},{"type":"local_shell"}]}`, `{"model":"m","tools":[{"type":"local_shell"}],"store":false}`},
		"a shell of the agent":         {Responses, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local","skills":[]}}]}`, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}}],"store":false}`},
		"a shell without a place":      {Responses, `{"model":"m","tools":[{"type":"shell"}]}`, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}}],"store":false}`},
		"a shell in no known place":    {Responses, `{"model":"m","tools":[{"environment":null,"type":"shell"}]}`, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}}],"store":false}`},
		"long text":                    {ChatCompletions, `{"model":"m","messages":[{"role":"user","content":"` + long + `"},{"x":"` + long + `"}],"y":"` + long + `","seed":1}`, `{"model":"m","messages":[{"role":"user","content":"` + long + `"}],"seed":1}`},
		"a schema's own definitions":   {ChatCompletions, `{"model":"m","functions":[{"name":"f","parameters":{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/a","$defs":{"a":{"properties":{"$ref":{"type":"string"}}}}}}]}`, `{"model":"m","functions":[{"name":"f","parameters":{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/a","$defs":{"a":{"properties":{"$ref":{"type":"string"}}}}}}]}`},
	} {
		if got := filtered(t, c.endpoint, c.body); got != c.want {
			t.Errorf("%s:\n%.500s\nwant\n%.500s", name, got, c.want)
		}
	}
}

func TestWhatReachesBeyondTheModelIsRefusedOrLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint   Endpoint
		body, want string
	}{
		"a second body":                 {ChatCompletions, `{"model":"m"} {}`, "refused: the request's body has data after its JSON"},
		"a list":                        {ChatCompletions, `[{"model":"m"}]`, "refused: the request's body is not a JSON object"},
		"no model":                      {ChatCompletions, `{"seed":1}`, "refused: the request has no model"},
		"a member in two spellings":     {GenerateContent, `{"generationConfig":{"topP":1,"top_p":2}}`, "refused: the request has generationConfig.topP twice"},
		"a schema of another document":  {ChatCompletions, `{"model":"m","functions":[{"name":"f","parameters":{"$ref":"http://127.0.0.1/"}}]}`, "refused: aibox lets no JSON schema through that refers to another document"},
		"a schema by a dynamic address": {ChatCompletions, `{"model":"m","functions":[{"name":"f","parameters":{"a":[{"$dynamicRef":"x.json#"}]}}]}`, "refused: aibox lets no JSON schema through that refers to another document"},
		"a stored conversation":         {Responses, `{"model":"m","conversation":"conv_1"}`, "refused: aibox refused the request because of conversation: "},
		"servers of MCP":                {Messages, `{"model":"m","mcp_servers":[{"type":"url","url":"http://127.0.0.1/"}]}`, "refused: aibox refused the request because mcp_servers asks the model's server for "},
		"nothing but a closed tool":     {Messages, `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "refused: aibox refused the request because tools"},
		"a shell in a container":        {Responses, `{"model":"m","tools":[{"environment":{"x":{},"type":"container_auto"},"type":"shell"}]}`, "refused: aibox refused the request because tools"},
		"the result of a closed tool":   {GenerateContent, `{"contents":[{"parts":[{"text":"a"},{"executableCode":{"code":"x"}}]}]}`, `{"contents":[{"parts":[{"text":"a"}]}]}`},
		"a part of an unlisted kind":    {Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"unknown","url":"http://127.0.0.1/"}]}]}`, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`},
	} {
		if got := filtered(t, c.endpoint, c.body); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestAShellToolRunsWhereTheSettingsAllow(t *testing.T) {
	const hosted = `{"model":"m","tools":[{"type":"shell","environment":{"type":"container_auto","memory_limit":"4g","file_ids":["x"]}}]}`
	const bare = `{"model":"m","tools":[{"type":"shell"},{"type":"local_shell"}]}`
	for name, c := range map[string]struct {
		body   string
		policy Policy
		want   string
	}{
		"a container that is open":            {hosted, policyOfTests(netguard.CodeExecution), `{"model":"m","tools":[{"type":"shell","environment":{"type":"container_auto","memory_limit":"4g"}}],"store":false}`},
		"none, where containers are open":     {bare, policyOfTests(netguard.CodeExecution), `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}},{"type":"local_shell"}],"store":false}`},
		"a server with only containers":       {bare, Policy{Model: policyOfTests().Model, HostsShells: true}, `{"model":"m","tools":[{"type":"local_shell"}],"store":false}`},
		"a server with only containers, open": {bare, Policy{Model: policyOfTests().Model, HostsShells: true, Open: []netguard.ServerTool{netguard.CodeExecution}}, `{"model":"m","tools":[{"type":"shell"},{"type":"local_shell"}],"store":false}`},
	} {
		result, err := Filter(Responses, []byte(c.body), c.policy)
		if got := string(bytes.Join(result.Body, nil)); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestTheListOfLeftOutPlacesIsBounded(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"model":"m"`)
	for i := range 2 * leftOutLimit {
		body.WriteString(`,"` + strings.Repeat("x", placeLimit) + jsonNumber(i) + `":0,"y` + jsonNumber(i) + `":0`)
	}
	result, err := Filter(ChatCompletions, []byte(body.String()+"}"), policyOfTests())
	if err != nil || len(result.LeftOut) != leftOutLimit {
		t.Fatalf("%d places, %v", len(result.LeftOut), err)
	}
	for _, place := range result.LeftOut {
		if len(place) > placeLimit {
			t.Errorf("a place of %d bytes", len(place))
		}
	}
}

func TestInlinePictureIsValidated(t *testing.T) {
	for url, want := range map[string]bool{
		"data:image/png;base64,iVBORw0KGgo=":           true,
		`data:image\/png;base64,iVBOR\/w0KGgo=`:        true,
		"data:application/pdf;base64,JVBERi0=":         true,
		"data:image/jpeg;name=a.jpg;base64,AAAA":       true,
		"data:audio/x-wav;base64,UklGRg==":             true,
		"data:video/quicktime;base64,AAAA":             true,
		"data:audio/mpegurl;base64,I0VYVE0zVQo=":       false,
		"data:video/x-mpegurl;base64,I0VYVE0zVQo=":     false,
		"data:video/vnd.mpeg.dash.mpd;base64,PE1QRD4=": false,
		"data:image/svg+xml;base64,PHN2Zz4=":           false,
		"data:text/html;base64,PHN2Zz4=":               false,
		"data:image/png,http://127.0.0.1/":             false,
		"data:image/png;base64,http://127.0.0.1/":      false,
		"data:image/png;base64,AAAA http://127.0.0.1/": false,
		"DATA:image/png;base64,AAAA":                   false,
		" data:image/png;base64,AAAA":                  false,
		`\u0064ata:image/png;base64,AAAA`:              false,
		"data:;base64,AAAA":                            false,
		"data:image/png;x=\\u002c;base64,AAAA":         false,
		"http://127.0.0.1/data:image/png;base64,AAAA":  false,
		"//127.0.0.1/x":                                false,
		"iVBORw0KGgo=":                                 false,
		"":                                             false,
	} {
		body := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]}`
		if got := filtered(t, ChatCompletions, body); (got == body) != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}

func TestTooComplexJSONIsRejected(t *testing.T) {
	var members strings.Builder
	for i := range memberLimit + 1 {
		members.WriteString(`,"a` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + jsonNumber(i) + `":0`)
	}
	for body, want := range map[string]string{
		`{"model":"m","metadata":{"b":0` + members.String() + `}}`:                                                 "too many members",
		`{"model":"m","x":{"b":0` + members.String() + `}}`:                                                        "too many members",
		`{"model":"m"` + members.String() + `}`:                                                                    "too many members",
		`{"model":"m","metadata":` + strings.Repeat(`{"a":`, depthLimit) + `1` + strings.Repeat("}", depthLimit+1): "too deeply",
	} {
		if got := filtered(t, ChatCompletions, body); !strings.Contains(got, want) {
			t.Errorf("%.100s: %.200s", body, got)
		}
	}
}

func jsonNumber(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}

func TestNoModelBelongsToASessionWithoutAPolicy(t *testing.T) {
	for _, body := range []string{`{"model":"m"}`, `{"model":"m","previous_response_id":"resp_own"}`} {
		_, err := Filter(Responses, []byte(body), Policy{})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != NotOurs {
			t.Errorf("%s: %v", body, err)
		}
	}
	result, err := Filter(0, []byte(`{}`), policyOfTests())
	if err == nil || result.Body != nil {
		t.Error("a call without a table passes")
	}
}

// The tables of a call have hundreds of rules, many more than a short request needs memory for.
func TestNoTableIsMadeForARequest(t *testing.T) {
	policy := policyOfTests()
	policy.ModelInPath, policy.StoresChats, policy.StreamUsage = true, true, true
	for endpoint := ChatCompletions; endpoint <= OllamaShow; endpoint++ {
		body := []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		if allocs := testing.AllocsPerRun(10, func() { _, _ = Filter(endpoint, body, policy) }); allocs > 200 {
			t.Errorf("%d: %v allocations", endpoint, allocs)
		}
	}
}

// A long conversation has the same names in each message.
func TestNamesOfMembersAreNotCopiedForEachMessage(t *testing.T) {
	body := []byte(`{"model":"m","messages":[` + strings.Repeat(`{"role":"user","na\u006de":"x","content":"hi"},`, 1999) + `{"role":"user","content":"hi"}]}`)
	policy := policyOfTests()
	result, err := Filter(ChatCompletions, body, policy)
	if got := bytes.Join(result.Body, nil); err != nil || !bytes.Equal(got, bytes.ReplaceAll(body, []byte(`\u006d`), []byte("m"))) {
		t.Errorf("it became %.200s, %v", got, err)
	}
	if allocs := testing.AllocsPerRun(3, func() { _, _ = Filter(ChatCompletions, body, policy) }); allocs > 4*2000 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestAChatIsNotStoredByAServerThatStoresByDefault(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m"}`:                              `{"model":"m","store":false}`,
		`{"store":true,"model":"m"}`:                 `{"model":"m","store":false}`,
		`{"model":"m","stream":true,"store":"true"}`: `{"model":"m","stream":true,"store":false,"stream_options":{"include_usage":true}}`,
	} {
		policy := policyOfTests()
		policy.StoresChats, policy.StreamUsage = true, true
		result, err := Filter(ChatCompletions, []byte(body), policy)
		if got := string(bytes.Join(result.Body, nil)); err != nil || got != want {
			t.Errorf("%s became %s, %v", body, got, err)
		}
		policy.StoresChats = false
		if result, err := Filter(ChatCompletions, []byte(body), policy); err != nil || bytes.Contains(bytes.Join(result.Body, nil), []byte("store")) {
			t.Errorf("for another server, %s became %s, %v", body, bytes.Join(result.Body, nil), err)
		}
		policy.StoresChats = true
		if result, err := Filter(Completions, []byte(body), policy); err != nil || bytes.Contains(bytes.Join(result.Body, nil), []byte("store")) {
			t.Errorf("for completions without a chat, %s became %s, %v", body, bytes.Join(result.Body, nil), err)
		}
	}
}

func TestWhetherAnAnswerIsStreamedIsKnownInEveryAPI(t *testing.T) {
	for endpoint, byDefault := range map[Endpoint]bool{
		ChatCompletions: false, Completions: false, Responses: false, Messages: false, OllamaChat: true, OllamaGenerate: true,
	} {
		for stream, want := range map[string]bool{"": byDefault, `,"stream":null`: byDefault, `,"stream":true`: true, `,"stream":false`: false} {
			result, err := Filter(endpoint, []byte(`{"model":"m"`+stream+`}`), policyOfTests())
			if err != nil || result.Streams != want {
				t.Errorf("%d with %q: %t, %v", endpoint, stream, result.Streams, err)
			}
		}
	}
}

// Without its usage a streamed answer's tokens would be unknown.
func TestStreamedAnswerIsAskedForItsUsage(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m","stream":true}`: `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
		`{"stream":true,"stream_options":{"include_usage":false,"include_obfuscation":false},"model":"m"}`: `{"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true},"model":"m"}`,
		`{"model":"m","stream_options":null,"stream":true}`:                                                `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","stream_options":[1],"stream":true}`:                                                 `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","stream":false}`:                                                                     `{"model":"m","stream":false}`,
		`{"model":"m"}`:                                                                                    `{"model":"m"}`,
	} {
		policy := policyOfTests()
		policy.StreamUsage = true
		for _, endpoint := range []Endpoint{ChatCompletions, Completions} {
			result, err := Filter(endpoint, []byte(body), policy)
			if got := string(bytes.Join(result.Body, nil)); err != nil || got != want || result.Size != int64(len(want)) {
				t.Errorf("%s became %s, %v", body, got, err)
			}
		}
	}
	if result, err := Filter(Messages, []byte(`{"model":"m","stream":true}`), Policy{Model: policyOfTests().Model, StreamUsage: true}); err != nil || string(bytes.Join(result.Body, nil)) != `{"model":"m","stream":true}` {
		t.Errorf("%s, %v", bytes.Join(result.Body, nil), err)
	}
}
