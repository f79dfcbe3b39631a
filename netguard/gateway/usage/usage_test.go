package usage

import (
	"strings"
	"testing"

	"aibox/netguard/gateway/schema"
)

func FuzzUsageDoesNotDependOnChunking(f *testing.F) {
	for _, seed := range []string{
		`{"usage":{"prompt_tokens":11,"completion_tokens":7}}`,
		"data: {\"message\":{\"usage\":{\"input_tokens\":5}}}\n\ndata: [DONE]\n\n",
		`[{"usageMetadata":{"promptTokenCount":1}},{"usageMetadata":{"promptTokenCount":-2e9}}]`,
		`{"a":"\\\"{","usage":{"input_tokens":18446744073709551616}}}}}]]`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100) + `{"eval_count":3}`,
		strings.Repeat(`{"a":`, 20) + `"x"`,
		"\"unfinished\n{\"eval_count\":3}",
	} {
		for dialect := range byte(schema.Ollama) {
			f.Add([]byte(seed), dialect, uint(3))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, dialect byte, cut uint) {
		kind := schema.Dialect(dialect%byte(schema.Ollama)) + 1
		whole, pieces := New(kind, schema.ChatCompletions), New(kind, schema.ChatCompletions)
		_, _ = whole.Write(data)
		for rest := data; len(rest) > 0; {
			n := min(int(cut%7)+1, len(rest))
			_, _ = pieces.Write(rest[:n])
			rest = rest[n:]
		}
		if whole.fields != pieces.fields {
			t.Errorf("%v whole, %v in pieces", whole.fields, pieces.fields)
		}
		for _, n := range whole.fields {
			if n < 0 || n >= countLimit {
				t.Errorf("count %d", n)
			}
		}
		if len(whole.scanner.levels) > depthLimit || cap(whole.scanner.token) > 2*tokenLimit {
			t.Errorf("memory: %d levels, %d bytes", len(whole.scanner.levels), cap(whole.scanner.token))
		}
	})
}

func TestCountingResumesAfterAMalformedLine(t *testing.T) {
	u := New(schema.OpenAI, schema.ChatCompletions)
	_, _ = u.Write([]byte("data: {\"x\":\"broken\n\ndata: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\n"))
	if input, output := u.Tokens(); input != 4 || output != 2 {
		t.Errorf("%d, %d", input, output)
	}
}

func BenchmarkUsage(b *testing.B) {
	chunk := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" hello\"},\"finish_reason\":null}]}\n\n")
	b.SetBytes(int64(len(chunk)))
	u := New(schema.OpenAI, schema.ChatCompletions)
	for b.Loop() {
		_, _ = u.Write(chunk)
	}
}
