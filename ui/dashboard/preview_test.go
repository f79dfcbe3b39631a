package dashboard

import (
	"testing"

	"aibox/config"
	"aibox/netguard"
	"aibox/session"
)

func TestTheModelIsNamedInWords(t *testing.T) {
	for _, c := range []struct {
		spec session.Spec
		want string
	}{
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "auto"}}, "model chosen automatically"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String()}}, "model chosen automatically"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "auto", Model: "qwen3"}}, "model qwen3"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "ollama"}}, "model chosen at ollama"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "scripted"}}, "scripted model"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "scripted:/tasks/one.json", Model: "any"}}, "scripted model"},
		{session.Spec{Run: config.Run{Network: netguard.None.String(), Inference: "auto"}}, ""},
	} {
		if got := modelOf(&c.spec); got != c.want {
			t.Errorf("%q with %q at %q is %q, not %q", c.spec.Network, c.spec.Model, c.spec.Inference, got, c.want)
		}
	}
}
