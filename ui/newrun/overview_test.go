package newrun

import (
	"testing"

	"aibox/app/firstrun"
	"aibox/config"
	"aibox/netguard"
)

func TestTheOverviewNamesTheModelThatTheNetworkPolicyPermits(t *testing.T) {
	for _, c := range []struct {
		inference, model string
		mode             netguard.Mode
		want             string
	}{
		{"auto", "", netguard.Local, "the only model of auto"},
		{"auto", "qwen3", netguard.Public, "qwen3 of auto"},
		{firstrun.Scripted, "", netguard.Local, "none; a built-in script plays a fixed example"},
		{"auto", "qwen3", netguard.None, "none; the network policy none has no model server"},
	} {
		settings := config.Defaults()
		settings.Inference, settings.Model = c.inference, c.model
		if got := modelOf(&settings, c.mode); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.inference, c.mode, got, c.want)
		}
	}
}
