package failure

import (
	"strings"
	"testing"
	"unicode/utf8"

	"aibox/internal/redact"
	"aibox/internal/secret"
)

const realKey = "sk-real-CANARY-0123456789abcdef"

func TestServerMessageIsFoundInEveryShape(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"openai":         {`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, "Incorrect API key provided"},
		"anthropic":      {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, "Overloaded"},
		"gemini":         {`{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[]}}`, "API key not valid."},
		"gemini, listed": {`[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, "The model is overloaded."},
		"ollama":         {`{"error":"model \"x\" not found, try pulling it first"}`, `model "x" not found, try pulling it first`},
		"vllm":           {`{"object":"error","message":"The model does not exist.","type":"NotFoundError","code":404}`, "The model does not exist."},
		"fastapi":        {`{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}`, "field required"},
		"an event":       {"event: error\ndata: {\"error\":{\"message\":\"out\"}}\n\n", "out"},
		"a page":         {"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "502 Bad Gateway"},
		"a page only":    {"<html><body>no</body></html>", ""},
		"plain text":     {"upstream connect error\r\n or disconnect", "upstream connect error or disconnect"},
		"nothing":        {"", ""},
		"null":           {`{"error":null}`, ""},
		"cut off":        {`{"error":{"message":"the beginning of \"it\" \`, `the beginning of "it" `},
		"broken":         {`{"error":{"message":"said",,}}`, "said"},
		"escapes":        {`{"error":"\u001b]52;c;x\u0007 a\u202eb"}`, `\x1b]52;c;x\x07 a\u202eb`},
		"the key":        {`{"error":"bad key sk\u002dreal-CANARY-0123456789abcdef"}`, "bad key " + strings.Repeat("*", len(realKey))},
		"a long one":     {`{"error":"` + strings.Repeat("ä", 400) + `"}`, strings.Repeat("ä", 148) + "…"},
	} {
		if got := strings.TrimSpace(Reason(strings.NewReader(test.body), redact.New(secret.New(realKey)))); got != strings.TrimSpace(test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzReasonIsOneBoundedPrintableLine(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"x","code":1}}`))
	f.Add([]byte("data: [{\"error\":\"\\u001b\"}]"))
	f.Add([]byte("<title>\xff</title>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		reason := Reason(strings.NewReader(string(data)), redact.New(secret.New(realKey)))
		if len(reason) > lineLimit || !utf8.ValidString(reason) || strings.ContainsAny(reason, "\n\r\t\x1b\x00") || strings.Contains(reason, realKey) {
			t.Errorf("%q", reason)
		}
	})
}
