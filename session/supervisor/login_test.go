package supervisor

import (
	"slices"
	"testing"

	"aibox/agents"
	"aibox/session"
)

func TestOnlyAnAgentInItsVendorsCloudGetsTheKeyOfALogin(t *testing.T) {
	const login = "ANTHROPIC_API_KEY=canary"
	for _, c := range []struct {
		agent     agents.Agent
		inference string
		want      bool
	}{
		{&agents.Claude{}, agents.Cloud, true},
		{&agents.Claude{}, "auto", false},
		{&agents.Cursor{}, "auto", true},
		{&agents.Shell{}, agents.Cloud, false},
		{&agents.None{}, agents.Cloud, false},
	} {
		asked := session.Spec{}
		asked.Inference = c.inference
		s := &sandbox{preparation: &preparation{modelWatch: &modelWatch{run: &run{launch: session.Launch{Spec: asked, Login: login}}}}}
		got := s.loginEnv(&resources{agent: c.agent})
		if slices.Contains(got, login) != c.want || len(got) > 1 {
			t.Errorf("%T with %s: %q", c.agent, c.inference, got)
		}
		s.launch.Login = ""
		if got := s.loginEnv(&resources{agent: c.agent}); got != nil {
			t.Errorf("%T without a login: %q", c.agent, got)
		}
	}
}
