package agents

import (
	"strings"
	"testing"
)

func TestAgentsGetTheServersOfTools(t *testing.T) {
	for _, agent := range []Agent{&Codex{}, &Claude{}, &OpenCode{}, &GeminiCLI{}, &Qwen{}, &Copilot{}, &Crush{}} {
		for _, interactive := range []bool{false, true} {
			task := Task{
				Prompt: "p", Interactive: interactive, Workdir: "/workspace",
				Inference: Inference{BaseURL: "http://10.200.200.1:1", Key: "key", Model: "m"},
			}
			if _, ok := agent.(*Crush); ok && interactive {
				task.Prompt = "" // it accepts no servers
			}
			const url = "http://10.200.200.1:11436/mcp"
			given := func() string {
				inv, err := agent.Command(task)
				if err != nil {
					t.Fatalf("%s: %v", agent.Info().Name, err)
				}
				text := strings.Join(append(inv.Argv, inv.Env...), "\n")
				for _, file := range inv.Files {
					text += "\n" + string(file.Data)
				}
				return text
			}
			if text := given(); strings.Contains(strings.ToLower(text), "mcpserver") || strings.Contains(text, "mcp_servers") {
				t.Errorf("%s gets a server that nobody named:\n%s", agent.Info().Name, text)
			}
			task.MCP = []MCPServer{{Name: "aibox", URL: url}}
			if text := given(); strings.Count(text, url) != 1 {
				t.Errorf("%s gets the server %d times:\n%s", agent.Info().Name, strings.Count(text, url), text)
			}
		}
	}
}
