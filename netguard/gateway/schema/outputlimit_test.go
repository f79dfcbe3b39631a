package schema

import "testing"

func TestTheLimitOfAnAnswersTokensIsRead(t *testing.T) {
	for _, c := range []struct {
		endpoint Endpoint
		body     string
		want     int64
	}{
		{ChatCompletions, `{"model":"m","max_tokens":7}`, 7},
		{ChatCompletions, `{"model":"m","max_tokens":7,"max_completion_tokens":9,"n":3}`, 27},
		{ChatCompletions, `{"model":"m","max_tokens":"7"}`, 7},
		{ChatCompletions, `{"model":"m","max_tokens":7e1}`, 70},
		{ChatCompletions, `{"model":"m","max_tokens":null}`, 0},
		{ChatCompletions, `{"model":"m","max_tokens":[7]}`, 0},
		{ChatCompletions, `{"model":"m","max_tokens":1e300,"n":1e300}`, (1<<31 - 1) * (1<<31 - 1)},
		{ChatCompletions, `{"model":"m","n":3}`, 0},
		{Completions, `{"model":"m","max_tokens":7,"n":2,"best_of":4}`, 28},
		{Responses, `{"model":"m","max_output_tokens":7}`, 7},
		{Messages, `{"model":"m","max_tokens":7}`, 7},
		{GenerateContent, `{"generationConfig":{"maxOutputTokens":7,"candidateCount":2}}`, 14},
		{GenerateContent, `{"generation_config":{"max_output_tokens":7}}`, 7},
		{OllamaChat, `{"model":"m","options":{"num_predict":7}}`, 7},
		{OllamaChat, `{"model":"m","options":{"num_predict":-1}}`, 0},
	} {
		result, err := Filter(c.endpoint, []byte(c.body), policyOfTests())
		if err != nil || result.MaxOutput != c.want {
			t.Errorf("%s: %d %v", c.body, result.MaxOutput, err)
		}
	}
}

func TestTheNumberOfChoicesIsRead(t *testing.T) {
	for body, want := range map[string]int64{
		`{"model":"m"}`: 1, `{"model":"m","n":0}`: 1, `{"model":"m","n":3}`: 3, `{"model":"m","n":"3"}`: 3, `{"model":"m","n":2,"max_tokens":5}`: 2,
	} {
		if result, err := Filter(ChatCompletions, []byte(body), policyOfTests()); err != nil || result.Choices != want {
			t.Errorf("%s: %d %v", body, result.Choices, err)
		}
	}
}
