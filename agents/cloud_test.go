package agents

import (
	"strings"
	"testing"

	"aibox/agents/spec"
)

// A run with the vendor's cloud does not mention the gateway, and has no model unless the
// user names one.
func TestAgentsInTheirOwnCloudAreNotSentToTheGateway(t *testing.T) {
	for _, agent := range Builtin().All() {
		info := agent.Info()
		if !info.HasCloud {
			continue
		}
		for _, model := range []string{"", "chosen-model"} {
			for _, interactive := range []bool{false, true} {
				inv, err := agent.Command(Task{Prompt: "fix it", Interactive: interactive, Workdir: "/w", Inference: Inference{Cloud: true, Model: model}})
				if err != nil {
					t.Errorf("%s: %v", info.Name, err)
					continue
				}
				words := strings.Join(inv.Argv, "\n") + "\n" + strings.Join(inv.Env, "\n")
				for _, file := range inv.Files {
					words += "\n" + string(file.Data)
				}
				for _, trace := range []string{"base_url", "BASE_URL", "10.200.200.1", "API_KEY=", "model_provider"} {
					if strings.Contains(words, trace) {
						t.Errorf("%s: %q in\n%s", info.Name, trace, words)
					}
				}
				if strings.Contains(words, "chosen-model") != (model != "") || strings.Contains(words, "--model\n\n") || strings.Contains(words, "-m\n\n") {
					t.Errorf("%s: the model %q in\n%s", info.Name, model, words)
				}
			}
		}
		if spec.Defaults(Options(agent)) != nil || info.CheckCloud() != nil || !info.UsesCloud(Cloud) || info.UsesCloud("auto") {
			t.Errorf("%s cannot use its cloud", info.Name)
		}
	}
}
