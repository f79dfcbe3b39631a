package agents

import (
	"strings"
	"testing"
)

func TestAgentTrustsTheSubfolderAndTheTop(t *testing.T) {
	for _, agent := range []Agent{&Claude{}, &Codex{}, &Copilot{}} {
		name := agent.Info().Name
		inv, err := agent.Command(Task{
			Interactive: true, Workdir: "/workspace/sub", Root: "/workspace",
			Inference: Inference{BaseURL: "http://10.200.200.1:1", Key: "key", Model: "m"},
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		given := strings.Join(inv.Argv, "\n")
		for _, file := range inv.Files {
			given += "\n" + string(file.Data)
		}
		for _, folder := range []string{`"/workspace/sub"`, `"/workspace"`} {
			if !strings.Contains(given, folder) {
				t.Errorf("%s does not get to trust %s:\n%s", name, folder, given)
			}
		}
	}
}
