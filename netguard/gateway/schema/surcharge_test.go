package schema

import (
	"testing"

	"aibox/netguard"
)

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

func TestOpenedToolsWithFeesAreRead(t *testing.T) {
	for _, c := range []struct {
		endpoint Endpoint
		body     string
		want     netguard.ServerTool
	}{
		{ChatCompletions, `{"model":"m","web_search_options":{}}`, netguard.WebSearch},
		{ChatCompletions, `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}]}`, 0},
		{Responses, `{"model":"m","tools":[{"type":"web_search"}]}`, netguard.WebSearch},
		{Responses, `{"model":"m","tools":[{"type":"image_generation"}]}`, netguard.ImageGeneration},
		{Responses, `{"model":"m","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, netguard.CodeExecution},
		{Responses, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}}]}`, 0},
		{Responses, `{"model":"m","tools":[{"type":"shell"}]}`, 0},
		{Responses, `{"model":"m","tools":[{"type":"mcp","server_label":"x","server_url":"https://x/"}]}`, 0},
		{Messages, `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}]}`, netguard.WebSearch},
		{Messages, `{"model":"m","tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`, 0},
		{GenerateContent, `{"tools":[{"googleSearch":{}}]}`, netguard.WebSearch},
	} {
		policy := policyOfTests()
		policy.Open = netguard.ServerTools()
		result, err := Filter(c.endpoint, []byte(c.body), policy)
		if err != nil || result.Fee != c.want {
			t.Errorf("%s: %v %v", c.body, result.Fee, err)
		}
		policy.Open = nil
		if closed, err := Filter(c.endpoint, []byte(c.body), policy); err == nil && closed.Fee != 0 {
			t.Errorf("%s, closed: %v", c.body, closed.Fee)
		}
	}
}
