package price

import (
	"math"
	"testing"

	"aibox/netguard/gateway/usage"
)

func TestCostFollowsThePartsOfAnAnswer(t *testing.T) {
	p := Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, CacheWriteLong: 6, LongFrom: 5000, Long: 2, LongOutput: 1.5}
	for _, test := range []struct {
		counts usage.Counts
		want   float64 // in millionths of a dollar
	}{
		{usage.Counts{}, 0},
		{usage.Counts{Input: 1000, Output: 100}, 3000 + 1500},
		{usage.Counts{Input: 4000, CacheRead: 2000, CacheWrite: 1000, CacheWriteLong: 400, Output: 10}, 1000*3 + 2000*0.3 + 600*3.75 + 400*6 + 150},
		{usage.Counts{Input: 5000}, 15000},
		{usage.Counts{Input: 5001, Output: 100}, 5001*3*2 + 1500*1.5},
	} {
		if got := p.Cost(test.counts) * 1e6; math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%+v: %g, want %g", test.counts, got, test.want)
		}
	}
}

func TestPriceIsFoundByName(t *testing.T) {
	table := New("", map[string]map[string]Price{"anthropic": {"claude-sonnet-4-5": {Input: 3}, "claude-sonnet-4-5-20250929": {Input: 4}}, Any: {"x": {}}})
	for _, test := range []struct {
		model, provider string
		want            float64 // -1 for none
	}{
		{"claude-sonnet-4-5", "anthropic", 3},
		{"claude-sonnet-4-5-20250929", "anthropic", 4},
		{"claude-sonnet-4-5-20991231", "anthropic", 3},
		{"claude-sonnet-4-5@20991231", "anthropic", 3},
		{"claude-sonnet-4-5-2099-12-31", "anthropic", 3},
		{"claude-sonnet-4-5-latest[1m]", "anthropic", 3},
		{"models/claude-sonnet-4-5", "anthropic", 3},
		{"claude-sonnet", "anthropic", -1},
		{"claude-sonnet-4-5-x", "anthropic", -1},
		{"", "anthropic", -1},
		{"claude-sonnet-4-5", "bedrock", -1},
		{"x", "bedrock", 0},
		{"x", "", 0},
	} {
		if p, ok := table.Find(test.model, test.provider, Any); ok != (test.want >= 0) || ok && p.Input != test.want {
			t.Errorf("%s of %s: %+v, %t", test.model, test.provider, p, ok)
		}
	}
	if _, ok := (Table{}).Find("x", Any); ok {
		t.Error("an empty table has a price")
	}
}

func TestAResoldModelHasItsVendorsPrice(t *testing.T) {
	table := New("", map[string]map[string]Price{
		"anthropic": {"claude-sonnet-4-5": {Input: 3}}, "openai": {"gpt-5.4": {Input: 2}, "gpt-5-4": {Input: 9}, "gpt-oss": {Input: 8}}, "gemini": {"gemini-3.5-flash": {Input: 1}}, Any: {"x": {}},
	})
	for model, want := range map[string]float64{ // -1 for none
		"anthropic/claude-sonnet-4.5":          3,
		"anthropic/claude-sonnet-4-5":          3,
		"anthropic/claude-sonnet-4.5-20250929": 3,
		"openai/gpt-5.4":                       2,
		"google/gemini-3.5-flash":              1,
		"openai/gpt-5.5":                       -1,
		"openai/gpt-oss:free":                  -1,
		"openai/gpt-oss@preset/x":              -1,
		"~openai/gpt-oss":                      -1,
		"google/claude-sonnet-4.5":             -1,
		"gemini/gemini-3.5-flash":              -1,
		"any/x":                                -1,
		"x":                                    -1,
		"gpt-5.4":                              -1,
		"anthropic/":                           -1,
		"openai/models/gpt-5.4":                -1,
		"":                                     -1,
	} {
		if p, ok := table.Resold(model); ok != (want >= 0) || ok && p.Input != want {
			t.Errorf("%s: %+v, %t", model, p, ok)
		}
	}
}
