package agents

import (
	"encoding/json"
	"fmt"

	"aibox/agents/conversation"
	"aibox/internal/secret"
)

// Amp is Sourcegraph's agent. Its loop runs on its maker's servers, which choose
// the models.
type Amp struct {
	Mode           string       `label:"Mode" help:"The agent's effort, which selects its models and tools" flag:"--mode" choices:"low medium high ultra" group:"Model"`
	Fast           bool         `label:"Fast" help:"Serve new threads faster, at a premium" flag:"--fast" group:"Model"`
	Visibility     string       `label:"Visibility" help:"Who may read the thread on Amp's servers" flag:"--visibility" choices:"private unlisted workspace group"`
	StreamJSON     bool         `label:"JSON events" help:"Print every event as a line of JSON" flag:"--stream-json" mode:"headless" group:"Output"`
	StreamThinking bool         `label:"Thinking" help:"Print the model's thinking among the events" flag:"--stream-json-thinking" mode:"headless" when:"stream-json" group:"Output"`
	Title          string       `label:"Title" help:"Name of the thread" flag:"--title" mode:"headless" group:"Advanced"`
	Label          []string     `label:"Labels" help:"Labels of the thread" flag:"--label" group:"Advanced"`
	MCPConfig      string       `label:"MCP servers" help:"MCP servers to add: JSON, or a file in the sandbox" flag:"--mcp-config" group:"Tools"`
	LogLevel       string       `label:"Log level" help:"What Amp writes to its own log" flag:"--log-level" choices:"error warn info debug audit" group:"Advanced"`
	AmpURL         string       `label:"Server" help:"Address of an Amp server of your own" env:"AMP_URL" group:"Account"`
	AmpAPIKey      secret.Value `label:"API key" help:"Access token of your Amp account, in place of that of aibox login" env:"AMP_API_KEY" secret:"true" group:"Account"`
}

// Info describes Amp.
func (*Amp) Info() Info {
	return Info{
		Name:        "amp",
		Title:       "Amp",
		Summary:     "Sourcegraph's agent, which runs on its maker's servers",
		Homepage:    "https://ampcode.com",
		Image:       "amp",
		Version:     "0.0.1790142911-g7618fb",
		OwnCloud:    true,
		Account:     Account{Variable: "AMP_API_KEY", Page: "https://ampcode.com/settings"},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Claude, Option: "stream-json", Value: "true", OnRequest: true},
		StateDirs:   []string{"~/.local/share/amp"},
		Hosts:       []string{"ampcode.com"},
		Notes: []string{
			"Talks only to its maker's cloud, so you cannot use your own model.",
			"Conversations are stored on Amp's servers and resumed from there.",
		},
	}
}

const (
	ampSettings     = Home + "/.config/amp/settings.json"
	ampInstructions = "~/.config/amp/AGENTS.md"
)

// Command is `amp --execute` for a headless task and `amp` for an interactive one.
func (a *Amp) Command(task Task) (Invocation, error) {
	if err := task.check(a.Info()); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(a, task)
	if err != nil {
		return Invocation{}, err
	}
	settings, err := json.Marshal(map[string]any{
		"amp.dangerouslyAllowAll": true,
		"amp.updates.mode":        "disabled",
		// On a terminal, notifications show the session that Amp waits for the user.
		"amp.notifications.enabled": task.Interactive,
		// The user, who accepts the commits, is their only author.
		"amp.git.commit.coauthor.enabled":  false,
		"amp.git.commit.ampThread.enabled": false,
	})
	if err != nil {
		return Invocation{}, fmt.Errorf("writing Amp's settings: %w", err)
	}
	argv := []string{"amp"}
	if task.Resume {
		argv = append(argv, "threads", "continue", "--last")
	}
	argv = append(argv, "--settings-file", ampSettings, "--no-ide", "--no-remote-control-terminal")
	argv = append(append(argv, extra...), task.Args...)
	files := append(task.instructionsFile(ampInstructions), File{Path: ampSettings, Mode: 0o600, Data: settings})
	if !task.Interactive {
		argv, env = append(argv, "--no-notifications", "--no-color", "--execute"), append(env, "NO_COLOR=1")
	}
	inv := Invocation{Argv: argv, Env: env, Files: files}
	if task.Prompt != "" {
		// On a terminal, too, Amp takes its first message from its standard input and
		// opens the terminal itself.
		var prompt []File
		inv.Argv, prompt = withPrompt(argv, task.Prompt)
		inv.Files = append(files, prompt...)
	}
	return inv, nil
}
