package gateway

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

// hostileKey has characters that encoders write in different ways.
const hostileKey = "sk-live/Canary+0123456789_abcdef=="

// answering returns an upstream that reads a request, writes the raw pieces, each in a
// separate segment, and then closes the connection.
func answering(t *testing.T, pieces ...string) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			for _, piece := range pieces {
				_, _ = io.WriteString(conn, piece)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// received returns every byte that the agent gets for a request, and the request's event.
func received(t *testing.T, upstream *url.URL) (answer string, event Event) {
	t.Helper()
	b := newBench(t, echo, func(c *Config) { c.Upstream.URL, c.Upstream.Key = upstream, secret.New(hostileKey) })
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+placeholder+
		"\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n{\"model\":\"m\",\"messages\":[]}\n")
	data, _ := io.ReadAll(conn)
	return string(data), b.last(t)
}

// leaked searches the agent's bytes for eight bytes of the key, raw or decoded in any way
// that clients use.
func leaked(answer string) string {
	forms := []string{answer}
	if _, body, ok := strings.Cut(answer, "\r\n\r\n"); ok {
		if r, err := gzip.NewReader(strings.NewReader(body)); err == nil {
			text, _ := io.ReadAll(r)
			forms = append(forms, string(text))
		}
		text, _ := io.ReadAll(flate.NewReader(strings.NewReader(body)))
		forms = append(forms, string(text))
	}
	for range 2 {
		for _, form := range forms {
			var text string
			for _, word := range strings.FieldsFunc(form, func(r rune) bool { return r <= ' ' || r == '"' }) {
				if json.Unmarshal([]byte(`"`+word+`"`), &text) == nil && text != word {
					forms = append(forms, text)
				}
				if text, err := url.QueryUnescape(word); err == nil && text != word {
					forms = append(forms, text)
				}
				if text, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(word)); err == nil {
					forms = append(forms, string(text))
				}
				if text, err := hex.DecodeString(word); err == nil {
					forms = append(forms, string(text))
				}
			}
		}
	}
	for _, form := range forms {
		for i := 0; i+8 <= len(hostileKey); i++ {
			if strings.Contains(form, hostileKey[i:i+8]) {
				return form
			}
		}
	}
	return ""
}

func packed(t *testing.T, text, encoding string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if encoding == "deflate" {
		w, _ = flate.NewWriter(&out, flate.DefaultCompression)
	}
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", encoding, out.Len(), out.String())
}

func TestNoServerAnswerGivesTheKeyToTheAgent(t *testing.T) {
	t.Parallel()
	plain := func(head, body string) string {
		return "HTTP/1.1 " + head + fmt.Sprintf("\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	ok := plain("200 OK", `{"fine":true}`)
	key, half := hostileKey, len(hostileKey)/2
	escape := func(format string) string {
		var text strings.Builder
		for i := range len(key) {
			fmt.Fprintf(&text, format, key[i])
		}
		return text.String()
	}
	said := func(text string) string { return plain("401 Unauthorized", `{"error":{"message":" `+text+` "}}`) }
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: X-Trail\r\n\r\n"
	for name, pieces := range map[string][]string{
		"100 with a header":                {"HTTP/1.1 100 Continue\r\nX-Key: " + key + "\r\n\r\n", ok},
		"102 with a header":                {"HTTP/1.1 102 Processing\r\nX-Key: " + key + "\r\n\r\n", ok},
		"103 with a header":                {"HTTP/1.1 103 Early Hints\r\nLink: <" + key + ">\r\n\r\n", ok},
		"199 with a header":                {"HTTP/1.1 199 " + key + "\r\nX-Request-Id: " + key + "\r\n\r\n", ok},
		"101":                              {"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\nX-Key: " + key + "\r\n\r\n" + key},
		"gzip":                             {packed(t, `{"error":" `+key+` "}`, "gzip")},
		"deflate":                          {packed(t, `{"error":" `+key+` "}`, "deflate")},
		"the name of an encoding":          {plain("200 OK\r\nContent-Encoding: "+key, "{}")},
		"raw":                              {said(key)},
		"solidus escaped":                  {said(strings.ReplaceAll(key, "/", `\/`))},
		"JSON escapes":                     {said(escape(`\u%04x`))},
		"JSON in JSON":                     {said(escape(`\\u%04X`))},
		"percent escapes":                  {said(escape("%%%02x"))},
		"percent and JSON escapes":         {said(`sk\u002dlive%2FCanary%2b\u00301234567\u00389_abcdef\u003D%3D`)},
		"Base64":                           {said(base64.StdEncoding.EncodeToString([]byte(key)))},
		"Base64 of user:key":               {said(base64.StdEncoding.EncodeToString([]byte("user:" + key)))},
		"Base64 of Bearer key":             {said(base64.StdEncoding.EncodeToString([]byte("Bearer " + key)))},
		"Base64 for URLs":                  {said(base64.RawURLEncoding.EncodeToString([]byte("xy" + key)))},
		"hexadecimal":                      {said(hex.EncodeToString([]byte(key)))},
		"one byte short":                   {"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{\"error\":\"" + key[:len(key)-1]},
		"one byte short, escaped":          {"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n{\"error\":\" " + strings.TrimSuffix(escape(`\u%04x`), `\u003d`)},
		"one byte short of a chunk":        {chunked, chunk("data: " + key[:len(key)-1])},
		"split over two chunks":            {chunked, chunk("data: " + key[:half]), chunk(key[half:] + "\n\n"), "0\r\n\r\n"},
		"split over chunks of a byte":      append(append([]string{chunked}, strings.SplitAfter(escape("1\r\n%c\r\n"), "")...), "0\r\n\r\n"),
		"a trailer":                        {chunked, chunk("{}"), "0\r\nX-Trail: " + key + "\r\n\r\n"},
		"a trailer that was not announced": {chunked, chunk("{}"), "0\r\nX-Other: " + key + "\r\nX-Request-Id: " + key + "\r\n\r\n"},
		"the name of a trailer":            {strings.Replace(chunked, "X-Trail", "X-Canary+0123456789_abcdef", 1), chunk("{}"), "0\r\n\r\n"},
		"the reason of a status":           {plain("200 "+key, "{}")},
		"the reason of a failure":          {plain("599 "+key, "{}")},
		"a request id":                     {plain("200 OK\r\nX-Request-Id: "+key, "{}")},
		"two request ids":                  {plain("200 OK\r\nX-Request-Id: "+key[:half]+"\r\nRequest-Id: "+key[half:], "{}")},
		"an encoded request id":            {plain("200 OK\r\nX-Request-Id: "+base64.RawURLEncoding.EncodeToString([]byte(key)), "{}")},
		"a hexadecimal request id":         {plain("200 OK\r\nRequest-Id: "+hex.EncodeToString([]byte(key[:24])), "{}")},
		"the same header twice":            {plain("200 OK\r\nRetry-After: "+key[:half]+"\r\nRetry-After: "+key[half:], "{}")},
		"the name of a limit":              {plain("200 OK\r\nX-Ratelimit-"+strings.NewReplacer("/", "", "=", "", "+", "").Replace(key)+": 1", "{}")},
		"the value of a limit":             {plain("200 OK\r\nX-Ratelimit-Limit-Tokens: "+key[:12]+"\r\nAnthropic-Ratelimit-Tokens-Limit: "+key[12:], "{}")},
		"a media type":                     {"HTTP/1.1 200 OK\r\nContent-Type: text/" + key + "\r\nContent-Length: 2\r\n\r\n{}"},
		"a parameter of a media type":      {"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=" + key + "\r\nContent-Length: 2\r\n\r\n{}"},
		"caching":                          {plain("200 OK\r\nCache-Control: private=\""+key[:half]+"\"\r\nDate: "+key[half:], "{}")},
		"no HTTP":                          {key + "\r\n\r\n"},
		"a version that is not HTTP's":     {"HTTP/" + key + " 200 OK\r\n\r\n"},
		"a status that is no number":       {"HTTP/1.1 " + key + "\r\n\r\n"},
		"a header that is none":            {"HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n"},
		"a length that is no number":       {"HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n"},
		"an unknown transfer encoding":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n"},
		"a redirect":                       {plain("302 Found\r\nLocation: http://x/"+key, key)},
		"a proxy's refusal":                {plain("407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="+key, key)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, event := received(t, answering(t, pieces...))
			if found := leaked(answer); found != "" || !strings.HasPrefix(answer, "HTTP/1.1 ") {
				t.Errorf("the agent got\n%s\nwhich holds\n%s", answer, found)
			}
			if strings.HasPrefix(answer, "HTTP/1.1 1") {
				t.Errorf("the agent got an informational answer:\n%s", answer)
			}
			encoded, _ := json.Marshal(event)
			if found := leaked(string(encoded)); found != "" {
				t.Errorf("the event is\n%s", encoded)
			}
		})
	}
}

func TestCompressedAnswerBecomesADialectError(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"gzip", "deflate"} {
		answer, event := received(t, answering(t, packed(t, `{"fine":true}`, encoding)))
		if !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.Contains(answer, `{"error":{"code":null,"message":"test: the model server sent a compressed answer`) {
			t.Errorf("%s: %s", encoding, answer)
		}
		if event.Status != 502 || event.Outcome != Refused || !strings.Contains(event.Error, "compressed") {
			t.Errorf("%s: %+v", encoding, event)
		}
	}
	if answer, _ := received(t, answering(t, "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}")); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("identity: %s", answer)
	}
}

func TestAllowedResponseHeadersPassIfWellFormed(t *testing.T) {
	t.Parallel()
	const head = "Content-Type: text/event-stream; charset=utf-8\r\nRetry-After: 7\r\nRetry-After-Ms: 7000.5\r\nX-Should-Retry: true\r\nX-Request-Id: req_011CSHoEeqs5C35K2UUqR7Fy\r\n" +
		"X-Ratelimit-Limit-Requests: 5000\r\nX-Ratelimit-Reset-Tokens: 1m30.5s\r\nX-Ratelimit-Remaining: 3\r\nAnthropic-Ratelimit-Input-Tokens-Reset: 2026-01-01T00:00:00Z\r\n"
	answer, _ := received(t, answering(t, "HTTP/1.1 429 Too Many\r\n"+head+"X-Ratelimit-Limit-Requests-More: 1\r\nServer: x\r\nContent-Length: 2\r\n\r\n{}"))
	for line := range strings.SplitSeq(strings.TrimSpace(head), "\r\n") {
		if !strings.Contains(answer, line+"\r\n") {
			t.Errorf("%s is missing in\n%s", line, answer)
		}
	}
	if strings.Contains(answer, "More") || strings.Contains(answer, "Server") || !strings.HasSuffix(answer, "\r\n\r\n{}") {
		t.Errorf("more or less came:\n%s", answer)
	}
}

func TestAResponseHeaderOfAnotherFormIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"Retry-After: soon", "Retry-After-Ms: 7s", "X-Should-Retry: perhaps", "X-Request-Id: req 1", "Request-Id: " + strings.Repeat("a", 81),
		"X-Ratelimit-Limit-Requests: 5000 of 6000", "X-Ratelimit-Reset-Tokens: tomorrow", "Anthropic-Ratelimit-Input-Tokens-Reset: 2026-01-01",
	} {
		answer, _ := received(t, answering(t, "HTTP/1.1 429 Too Many\r\n"+line+"\r\nContent-Length: 2\r\n\r\n{}"))
		name, _, _ := strings.Cut(line, ":")
		if strings.Contains(answer, name) || !strings.HasSuffix(answer, "\r\n\r\n{}") {
			t.Errorf("%s reached the agent:\n%s", line, answer)
		}
	}
	for _, kind := range []string{"text/csv", "application/json; charset=utf-16", "text/plain; boundary=x"} {
		answer, _ := received(t, answering(t, "HTTP/1.1 200 OK\r\nContent-Type: "+kind+"\r\nContent-Length: 2\r\n\r\n{}"))
		if strings.Contains(answer, kind) || !strings.Contains(answer, "Content-Type: application/octet-stream\r\n") {
			t.Errorf("%s reached the agent:\n%s", kind, answer)
		}
	}
}

// A proxy between aibox and the server gets separate credentials, which its error pages may
// repeat.
func TestProxyCredentialsDoNotReachTheAgent(t *testing.T) {
	t.Parallel()
	sent := base64.StdEncoding.EncodeToString([]byte("joe:proxy-Canary-77"))
	for name, body := range map[string]string{
		"as they were sent": "Proxy-Authorization: Basic " + sent, "the password": "wrong password proxy-Canary-77 for joe", "in a URL": "http://joe:proxy-Canary-77@proxy/",
	} {
		proxy := answering(t, fmt.Sprintf("HTTP/1.1 503 Unavailable\r\nX-Request-Id: proxy-Canary-77\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		proxy.User = url.UserPassword("joe", "proxy-Canary-77")
		b := newBench(t, echo, func(c *Config) {
			c.Upstream.URL = &url.URL{Scheme: "http", Host: "models.invalid"}
			c.Upstream.Proxy = http.ProxyURL(proxy)
		})
		response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m","messages":[]}`)
		all := fmt.Sprint(response.Header, text(t, response))
		event, _ := json.Marshal(b.last(t))
		if response.StatusCode != 503 || strings.Contains(all+string(event), "Canary") || strings.Contains(all+string(event), sent[:20]) {
			t.Errorf("%s: %d %s\n%s", name, response.StatusCode, all, event)
		}
	}
}

func TestThePageOfAProxyThatAsksForCredentialsDoesNotReachTheAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		_, _ = io.WriteString(w, "the credentials that were sent")
	}, nil)
	response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m","messages":[]}`)
	if body := text(t, response); response.StatusCode == http.StatusProxyAuthRequired || strings.Contains(body, "that were sent") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

func TestKeyThatCannotBeRedactedIsRejected(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"short", "seven77", "with spaces in it", "line\nbreak-in-it", "schlüssel-mit-umlaut", strings.Repeat("x", 5000)} {
		env := func(name string) (string, bool) {
			return key, name == "AIBOX_INFERENCE_KEY" || name == "OPENAI_API_KEY"
		}
		for _, server := range []string{"https://models.example/v1", "http://127.0.0.1:9/v1", "openai"} {
			_, err := modelserver.Parse(server, env)
			if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "_KEY") {
				t.Errorf("%s with the key %q: %v", server, key, err)
			}
		}
		_, err := New(Config{Upstream: modelserver.Server{Kind: modelserver.Compatible, URL: &url.URL{Scheme: "http", Host: "x"}, Dialects: []schema.Dialect{schema.OpenAI}, Key: secret.New(key)}, Placeholder: secret.New(placeholder)})
		if err == nil {
			t.Errorf("a gateway took the key %q", key)
		}
	}
}

func TestModelListCannotContainTheKey(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":"` + hostileKey + `"},{"id":"` + strings.ReplaceAll(hostileKey, "/", `\/`) + `"}]}`
	root := answering(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	models, err := modelserver.Preflight(t.Context(), modelserver.Server{Kind: modelserver.Compatible, Name: "test", URL: root, Dialects: []schema.Dialect{schema.OpenAI}, Key: secret.New(hostileKey), KeyName: "K"})
	if err != nil {
		t.Fatal(err)
	}
	if found := leaked(fmt.Sprintf("%+v", models)); found != "" {
		t.Errorf("the models are %v", models)
	}
}

// net/http sends 200 instead of a status that the gateway's writer drops, and panics for others.
func TestAStatusThatHTTPDoesNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"099 x", "000", "+99", "-00"} {
		answer, event := received(t, answering(t, "HTTP/1.1 "+status+"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
		if !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.Contains(answer, "a status that HTTP does not have") {
			t.Errorf("%s: the agent got\n%s", status, answer)
		}
		if event.Status != http.StatusBadGateway || event.Outcome != Refused {
			t.Errorf("%s: %+v", status, event)
		}
	}
}
