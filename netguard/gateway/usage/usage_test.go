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
		`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":12,"cache_write_tokens":3}}}`,
		`{"message":{"usage":{"input_tokens":1,"cache_read_input_tokens":1099511627775,"cache_creation_input_tokens":2,"cache_creation":{"ephemeral_1h_input_tokens":7}}}}`,
		`[{"usageMetadata":{"promptTokenCount":1}},{"usageMetadata":{"promptTokenCount":-2e9}}]`,
		`{"a":"\\\"{","usage":{"input_tokens":18446744073709551616}}}}}]]`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100) + `{"eval_count":3}`,
		strings.Repeat(`{"a":`, 20) + `"x"`,
		"\"unfinished\n{\"eval_count\":3}",
		`{"a":"` + strings.Repeat("x", searchLimit-1) + `\"` + strings.Repeat("y", 2*searchLimit) + `\\","usage":{"input_tokens":5},"eval_count":3}`,
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
		c := whole.Counts()
		if c.Input < 0 || c.Output < 0 || c.CacheRead < 0 || c.CacheWrite < 0 || c.CacheRead+c.CacheWrite > c.Input || c.CacheWriteLong > c.CacheWrite {
			t.Errorf("the parts do not fit into the whole: %+v", c)
		}
		if len(whole.scanner.levels) > depthLimit || cap(whole.scanner.token) > 2*tokenLimit {
			t.Errorf("memory: %d levels, %d bytes", len(whole.scanner.levels), cap(whole.scanner.token))
		}
	})
}

func TestCountingResumesAfterAMalformedLine(t *testing.T) {
	u := New(schema.OpenAI, schema.ChatCompletions)
	_, _ = u.Write([]byte("data: {\"x\":\"broken\n\ndata: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\n"))
	if got := u.Counts(); got != (Counts{Input: 4, Output: 2}) {
		t.Errorf("%+v", got)
	}
}

// Otherwise the time for a string with many escapes would grow with the square of its length.
func TestAStringIsNotSearchedToItsEndAfterEachEscape(t *testing.T) {
	u := New(schema.OpenAI, schema.ChatCompletions)
	_, _ = u.Write([]byte(`{"a":"`))
	if n := u.scanner.inString([]byte(strings.Repeat("x", 1<<20) + `"`)); n > searchLimit {
		t.Errorf("%d bytes at once", n)
	}
	for _, text := range []string{strings.Repeat(`\n`, 1<<19), strings.Repeat(`\"`, 1<<19)} {
		_, _ = u.Write([]byte(text))
	}
	_, _ = u.Write([]byte(`","usage":{"prompt_tokens":4,"completion_tokens":2}}`))
	if got := u.Counts(); got != (Counts{Input: 4, Output: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestTokensAreCountedInEveryDialectWholeAndStreamed(t *testing.T) {
	for name, test := range map[string]struct {
		dialect schema.Dialect
		api     schema.Endpoint
		answer  string
		want    Counts
	}{
		"chat": {
			schema.OpenAI, schema.ChatCompletions,
			`{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":5}}}`,
			Counts{Input: 100, CacheRead: 60, Output: 20},
		},
		"chat stream": {
			schema.OpenAI, schema.ChatCompletions,
			"data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":4,\"cache_write_tokens\":1}}}\n\ndata: [DONE]\n\n",
			Counts{Input: 7, CacheRead: 4, CacheWrite: 1, Output: 2},
		},
		"chat of xAI": {
			schema.OpenAI, schema.ChatCompletions,
			`{"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":{"reasoning_tokens":94}}}`,
			Counts{Input: 32, CacheRead: 6, Output: 103},
		},
		"chat stream of Gemini": {
			schema.OpenAI, schema.ChatCompletions,
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":424,\"total_tokens\":1016}}\n\n",
			Counts{Input: 20, Output: 996},
		},
		"embeddings": {
			schema.OpenAI, schema.Embeddings,
			`{"usage":{"prompt_tokens":8,"total_tokens":8}}`,
			Counts{Input: 8},
		},
		"embeddings with only a total": {
			schema.OpenAI, schema.Embeddings,
			`{"usage":{"total_tokens":10}}`,
			Counts{Input: 10},
		},
		"DeepSeek": {
			schema.OpenAI, schema.ChatCompletions,
			`{"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}}`,
			Counts{Input: 10, CacheRead: 8, Output: 1},
		},
		"responses": {
			schema.OpenAI, schema.Responses,
			`{"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":30},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}`,
			Counts{Input: 50, CacheRead: 30, Output: 9},
		},
		"responses stream": {
			schema.OpenAI, schema.Responses,
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":50,\"input_tokens_details\":{\"cached_tokens\":30},\"output_tokens\":9}}}\n\n",
			Counts{Input: 50, CacheRead: 30, Output: 9},
		},
		"messages": {
			schema.Anthropic, schema.Messages,
			`{"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":150,"ephemeral_1h_input_tokens":50},"output_tokens":40}}`,
			Counts{Input: 3210, CacheRead: 3000, CacheWrite: 200, CacheWriteLong: 50, Output: 40},
		},
		"messages stream": {
			schema.Anthropic, schema.Messages,
			"event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":200,\"cache_read_input_tokens\":3000,\"cache_creation\":{\"ephemeral_1h_input_tokens\":50},\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":40}}\n\n",
			Counts{Input: 3210, CacheRead: 3000, CacheWrite: 200, CacheWriteLong: 50, Output: 40},
		},
		"messages with a compaction": {
			schema.Anthropic, schema.Messages,
			`{"usage":{"input_tokens":23,"cache_creation_input_tokens":2,"output_tokens":10,"iterations":[{"type":"compaction","input_tokens":180,"output_tokens":35,"cache_read_input_tokens":7},` +
				`{"type":"message","input_tokens":23,"cache_creation_input_tokens":2,"output_tokens":10,"cache_creation":{"ephemeral_1h_input_tokens":2}}]}}`,
			Counts{Input: 212, CacheRead: 7, CacheWrite: 2, CacheWriteLong: 2, Output: 45},
		},
		"messages stream with a compaction": {
			schema.Anthropic, schema.Messages,
			"data: {\"message\":{\"usage\":{\"input_tokens\":23,\"output_tokens\":1,\"iterations\":[{\"input_tokens\":180,\"output_tokens\":1}]}}}\n\n" +
				"data: {\"usage\":{\"output_tokens\":10,\"iterations\":[{\"input_tokens\":180,\"output_tokens\":35},{\"input_tokens\":23,\"output_tokens\":10}]}}\n\n",
			Counts{Input: 203, Output: 45},
		},
		"iterations in the model's words": {
			schema.Anthropic, schema.Messages,
			`{"content":[{"type":"tool_use","input":{"usage":{"iterations":[{"input_tokens":99}]}}}],"usage":{"input_tokens":10,"output_tokens":2}}`,
			Counts{Input: 10, Output: 2},
		},
		"Gemini": {
			schema.Gemini, schema.GenerateContent,
			`{"usageMetadata":{"promptTokenCount":90,"cachedContentTokenCount":70,"toolUsePromptTokenCount":5,"candidatesTokenCount":8,"thoughtsTokenCount":12,"totalTokenCount":115}}`,
			Counts{Input: 95, CacheRead: 70, Output: 20},
		},
		"Gemini stream": {
			schema.Gemini, schema.GenerateContent,
			"data: {\"usageMetadata\":{\"promptTokenCount\":90}}\r\n\r\ndata: {\"usageMetadata\":{\"promptTokenCount\":90,\"candidatesTokenCount\":8}}\r\n\r\n",
			Counts{Input: 90, Output: 8},
		},
		"Ollama": {
			schema.Ollama, schema.OllamaChat,
			"{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true,\"prompt_eval_count\":26,\"eval_count\":3}\n",
			Counts{Input: 26, Output: 3},
		},
		"a cache larger than the input": {
			schema.OpenAI, schema.ChatCompletions,
			`{"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9999}}}`,
			Counts{Input: 10, CacheRead: 10, Output: 1},
		},
		"a count in the model's words": {
			schema.OpenAI, schema.ChatCompletions,
			`{"choices":[{"message":{"usage":{"prompt_tokens":1}}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`,
			Counts{Input: 10, Output: 2},
		},
	} {
		u := New(test.dialect, test.api)
		_, _ = u.Write([]byte(test.answer))
		if got := u.Counts(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
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
