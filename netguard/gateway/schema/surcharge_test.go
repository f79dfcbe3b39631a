package schema

import "testing"

func TestWhatCanCostMoreThanTheModelsPriceIsRead(t *testing.T) {
	for _, c := range []struct {
		endpoint Endpoint
		body     string
		want     string
	}{
		{ChatCompletions, `{"model":"m","service_tier":"priority"}`, "service_tier=priority"},
		{ChatCompletions, `{"model":"m","service_tier":"p\u0072iority"}`, "service_tier=priority"},
		{ChatCompletions, `{"model":"m","service_tier":"PRIORITY"}`, "service_tier=PRIORITY"},
		{ChatCompletions, `{"model":"m","service_tier":1}`, "service_tier=1"},
		{ChatCompletions, `{"model":"m","service_tier":"default"}`, ""},
		{ChatCompletions, `{"model":"m","service_tier":null}`, ""},
		{ChatCompletions, `{"model":"m","service_tier":["priority"]}`, ""}, // is left out
		{ChatCompletions, `{"model":"m","models":["m"]}`, ""},
		{ChatCompletions, `{"models":["team-model"],"model":"m"}`, "model"},
		{ChatCompletions, `{"model":"m","models":["m","team-model"]}`, "models[]"},
		{Responses, `{"model":"m","service_tier":"fast"}`, "service_tier=fast"},
		{Responses, `{"model":"m","service_tier":"flex"}`, ""},
		{Messages, `{"model":"m","speed":"fast"}`, "speed=fast"},
		{Messages, `{"model":"m","speed":"standard","service_tier":"standard_only"}`, ""},
		{GenerateContent, `{"service_tier":"priority"}`, "serviceTier=priority"},
		{GenerateContent, `{"serviceTier":"standard"}`, ""},
		{GenerateContent, `{"serviceTier":"SERVICE_TIER_UNSPECIFIED"}`, ""},
		{GenerateContent, `{"serviceTier":"SERVICE_TIER_PRIORITY"}`, "serviceTier=SERVICE_TIER_PRIORITY"},
		{ChatCompletions, `{"model":"m","service_tier":"on_demand"}`, ""},
	} {
		result, err := Filter(c.endpoint, []byte(c.body), policyOfTests())
		if err != nil || result.Surcharge != c.want {
			t.Errorf("%s: %q %v", c.body, result.Surcharge, err)
		}
	}
}
