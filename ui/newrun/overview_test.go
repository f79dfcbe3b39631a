package newrun

import (
	"testing"

	"aibox/app/firstrun"
	"aibox/config"
	"aibox/session"
)

func TestTheOverviewNamesTheModelThatTheNetworkPolicyPermits(t *testing.T) {
	for _, c := range []struct {
		inference, model, network, want string
	}{
		{"auto", "", "local", "chosen automatically"},
		{"auto", "qwen3", "public", "qwen3"},
		{"ollama", "", "local", "chosen at ollama"},
		{"ollama", "qwen3", "local", "qwen3 of ollama"},
		{firstrun.Scripted, "", "local", "none; a built-in script plays a fixed example"},
		{"auto", "qwen3", "none", "none; the network policy none has no model server"},
	} {
		settings := config.Defaults()
		settings.Inference, settings.Model, settings.Network = c.inference, c.model, c.network
		if got := modelOf(&settings, &session.Spec{Run: settings.Run}); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.inference, c.network, got, c.want)
		}
	}
}
