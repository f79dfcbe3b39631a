package newrun

import (
	"strings"
	"testing"

	"aibox/app/firstrun"
	"aibox/config"
	"aibox/session"
	"aibox/ui/page"
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

func TestAnOverviewThatIsCutSaysSo(t *testing.T) {
	for command, cut := range map[string]bool{"codex exec": false, strings.Repeat("codex exec ", 200): true} {
		w := newWorld(t)
		w.command = command
		p := newUser(t, w, 80, 24, page.NewRun{})
		p.tell("mend it")
		p.Press("ctrl+s")
		if got := strings.Contains(p.View(), "more lines; a larger window shows them"); got != cut {
			t.Errorf("a command of %d characters: marked as cut: %v\n%s", len(command), got, p.View())
		}
	}
}

func TestAFlagInTheCommandIsNotBrokenAtItsHyphens(t *testing.T) {
	w := newWorld(t)
	w.command = `codex --no-daemon -c 'projects={"/workspace"={trust_level="trusted"}}' --dangerously-bypass-approvals-and-sandbox`
	p := newUser(t, w, 80, 24, page.NewRun{})
	p.tell("mend it")
	p.Press("ctrl+s")
	p.Sees("--dangerously-bypass-approvals-and-sandbox")
}
