package run

import (
	"context"
	"errors"
	"testing"

	"aibox/agents"
	"aibox/config"
)

// modelsFunc implements Models with a function.
type modelsFunc func(agent, inference, model string) error

func (f modelsFunc) CheckModel(_ context.Context, agent agents.Info, inference, model string) error {
	return f(agent.Name, inference, model)
}

func TestAModelIsCheckedAsTheStartWouldChooseItAndOnlyIfTheAgentNeedsOne(t *testing.T) {
	for name, c := range map[string]struct {
		request  Request
		settings map[string]string
		want     string // the requested agent, server and model; empty for none
	}{
		"from the settings":         {Request{Agent: "codex"}, nil, "codex auto m1"},
		"from the request":          {Request{Agent: "codex"}, map[string]string{"inference": "openai", "model": "gpt"}, "codex openai gpt"},
		"without a network":         {Request{Agent: "codex"}, map[string]string{"network": "none"}, ""},
		"an agent that needs none":  {Request{Agent: "shell", Args: []string{"true"}}, nil, ""},
		"an agent that is unknown":  {Request{Agent: "nobody"}, nil, ""},
		"an option that is unknown": {Request{Agent: "codex", Options: map[string]string{"nosuch": "x"}}, nil, ""},
	} {
		asked := ""
		r := runner(&world{user: userOf(t, `model = "m1"`)})
		r.Models = modelsFunc(func(agent, inference, model string) error {
			asked = agent + " " + inference + " " + model
			return errors.New("no model")
		})
		request := c.request
		request.Settings = config.RunOverrides{}
		for key, text := range c.settings {
			if err := request.Settings.Set(key, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.CheckModel(t.Context(), request); asked != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: asked for %q, %v", name, asked, err)
		}
	}
}
