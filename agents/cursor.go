package agents

import "aibox/internal/secret"

// Cursor is the command line of the editor Cursor. It talks to its maker's servers
// only, which choose and bill the model.
type Cursor struct {
	Model         string       `label:"Model" help:"One of Cursor's models; the account's default when empty" flag:"--model" type:"model" group:"Model"`
	Mode          string       `label:"Mode" help:"What the agent may do: plan and ask change nothing" flag:"--mode" choices:"plan ask"`
	OutputFormat  string       `label:"Output format" help:"Plain text, one JSON object at the end, or every event as a line of JSON" flag:"--output-format" choices:"text json stream-json" mode:"headless" group:"Output"`
	StreamPartial bool         `label:"Stream pieces" help:"Print answers piece by piece" flag:"--stream-partial-output" mode:"headless" when:"output-format=stream-json" group:"Output"`
	ApproveMCPs   bool         `label:"Approve MCP servers" help:"Start the MCP servers that the repository names" flag:"--approve-mcps" group:"Tools"`
	Header        []string     `label:"Headers" help:"Headers for Cursor's servers, as Name: value" flag:"--header" group:"Advanced"`
	CursorAPIKey  secret.Value `label:"API key" help:"Key of your Cursor account" env:"CURSOR_API_KEY" secret:"true" group:"Account"`
	ResumeChat    string       `label:"Chat" help:"Go on with this chat of your account" flag:"--resume" group:"Advanced"`
}

// Info tells facts about Cursor.
func (*Cursor) Info() Info {
	return Info{
		Name:        "cursor",
		Title:       "Cursor CLI",
		Summary:     "Cursor's agent, on the models of its maker's cloud",
		Homepage:    "https://cursor.com/cli",
		Image:       "cursor",
		Version:     "2026.09.10-fd3934a",
		OwnCloud:    true,
		NeedsPrompt: true,
		StateDirs:   []string{"~/.cursor/chats"},
		Hosts:       []string{"cursor.com", "api2.cursor.sh", "*.cursor.sh"},
		Notes: []string{
			"Talks to its maker's cloud only, so no model of yours can serve it.",
			"Its own sandbox is off, since the box is one.",
			"Its recipe follows its documentation; nobody has run it here.",
		},
	}
}

// Command is `cursor-agent -p` for a headless task and `cursor-agent` for an
// interactive one. Its instructions stand before the prompt: it reads none but
// those of the repository.
func (c *Cursor) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task.mode())
	if err != nil {
		return Invocation{}, err
	}
	argv := []string{"cursor-agent", "--force", "--trust", "--sandbox", "disabled", "--workspace", task.Workdir}
	if task.Resume && c.ResumeChat == "" {
		argv = append(argv, "--continue")
	}
	if !task.Interactive {
		argv = append(argv, "--print")
	}
	task.Prompt = task.instructedPrompt()
	inv := Invocation{Argv: append(append(argv, extra...), task.Args...), Env: append(env, "NO_OPEN_BROWSER=1")}
	return inv.told(task, "--"), nil
}
