package dashboard

import (
	"testing"

	"aibox/netguard"
	"aibox/session"
)

func TestTheModelIsNamedInWords(t *testing.T) {
	for _, c := range []struct {
		spec session.Spec
		want string
	}{
		{session.Spec{Network: netguard.Local, Inference: "auto"}, "model chosen by itself"},
		{session.Spec{Network: netguard.Local}, "model chosen by itself"},
		{session.Spec{Network: netguard.Local, Inference: "auto", Model: "qwen3"}, "model qwen3"},
		{session.Spec{Network: netguard.Local, Inference: "ollama"}, "model chosen at ollama"},
		{session.Spec{Network: netguard.Local, Inference: "scripted"}, "scripted model"},
		{session.Spec{Network: netguard.Local, Inference: "scripted:/tasks/one.json", Model: "any"}, "scripted model"},
		{session.Spec{Network: netguard.None, Inference: "auto"}, ""},
	} {
		if got := modelOf(&c.spec); got != c.want {
			t.Errorf("%q with %q at %q is %q, not %q", c.spec.Network, c.spec.Model, c.spec.Inference, got, c.want)
		}
	}
}
