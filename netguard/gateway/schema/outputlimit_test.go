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
		{Completions, `{"model":"m","max_tokens":7,"n":2,"prompt":["a","b","c"]}`, 42},
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

func TestTheNumberOfPromptsIsRead(t *testing.T) {
	for body, want := range map[string]int64{
		`{"model":"m","prompt":"a"}`: 1, `{"model":"m","prompt":["a"]}`: 1, `{"model":"m","prompt":["a","b"],"n":3}`: 6,
		`{"model":"m","prompt":[1,2,3]}`: 1, `{"model":"m","prompt":[[1,2],[3],[4]]}`: 3, `{"model":"m","prompt":["a",[1,2]]}`: 2,
	} {
		if result, err := Filter(Completions, []byte(body), policyOfTests()); err != nil || result.Choices != want {
			t.Errorf("%s: %d %v", body, result.Choices, err)
		}
	}
}

func TestPicturesAndDocumentsAreCounted(t *testing.T) {
	const png, pdf = "iVBORw0KGgoAAAANSUhEUgAA", "JVBERi0xLjQK"
	for _, c := range []struct {
		endpoint Endpoint
		body     string
		want     int64
	}{
		{ChatCompletions, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 0},
		{ChatCompletions, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]}]}`, 2 * tokensOfPicture},
		{ChatCompletions, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,` + pdf + `"}}]}]}`, tokensOfDocument},
		{Messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + pdf + `"}}]}]}`, tokensOfPicture + tokensOfDocument},
		{GenerateContent, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + png + `"}}]}]}`, tokensOfPicture},
		{OllamaGenerate, `{"model":"m","images":["` + png + `"]}`, tokensOfPicture},
	} {
		if result, err := Filter(c.endpoint, []byte(c.body), policyOfTests()); err != nil || result.MediaTokens != c.want {
			t.Errorf("%s: %d %v", c.body, result.MediaTokens, err)
		}
	}
}
