package modelserver

import (
	"testing"

	"aibox/netguard/gateway/schema"
)

func TestOllamaVersionIsParsedOrUnknown(t *testing.T) {
	ollama := func(answer string) Server {
		return Server{Kind: OllamaHost, URL: answers(t, map[string]string{"/api/version": answer}), Dialects: []schema.Dialect{schema.OpenAI, schema.Ollama}}
	}
	for answer, want := range map[string]Version{
		`{"version":"0.13.3"}`:     {0, 13, 3},
		`{"version":"0.14.0-rc2"}`: {0, 14, 0},
		`{"version":"1.2"}`:        {},
		`{"version":"0.0.0"}`:      {},
		`{"version":"-1.2.3"}`:     {},
		`{"version":7}`:            {},
		`no`:                       {},
	} {
		if got := askVersion(t.Context(), ollama(answer)); got != want {
			t.Errorf("%s: %v", answer, got)
		}
	}
	other := ollama(`{"version":"0.13.3"}`)
	other.Kind = Compatible
	if got := OllamaVersion(t.Context(), other); got != (Version{}) {
		t.Errorf("another server has the version %v", got)
	}
	for _, test := range []struct {
		v, other Version
		want     bool
	}{
		{Version{0, 13, 2}, Version{0, 13, 3}, true},
		{Version{0, 13, 3}, Version{0, 13, 3}, false},
		{Version{1, 0, 0}, Version{0, 13, 3}, false},
		{Version{0, 9, 99}, Version{0, 13, 3}, true},
		{Version{}, Version{0, 13, 3}, false},
	} {
		if got := test.v.Older(test.other); got != test.want {
			t.Errorf("%v before %v: %v", test.v, test.other, got)
		}
	}
}
