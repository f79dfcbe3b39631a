package agents

import (
	"strings"

	"aibox/agents/conversation"
	"aibox/internal/lazyregexp"
	"aibox/internal/secret"
)

// Cursor is the command line of the editor Cursor. It talks to its maker's servers
// only, which choose and bill the model.
//
// Its flags are those of https://cursor.com/docs/cli/reference/parameters and of the help
// of version 2026.09.28. In earlier versions, such as 2026.06.16, the help says that
// --trust "only works with --print/headless mode", and other modes end with an error.
type Cursor struct {
	Model         string       `label:"Model" help:"One of Cursor's models; defaults to the account's default" flag:"--model" type:"model" group:"Model"`
	Mode          string       `label:"Mode" help:"What the agent can do: plan and ask change nothing" flag:"--mode" choices:"plan ask"`
	OutputFormat  string       `label:"Output format" help:"Plain text, one JSON object at the end, or every event as a line of JSON" flag:"--output-format" choices:"text json stream-json" mode:"headless" group:"Output"`
	StreamPartial bool         `label:"Stream pieces" help:"Print answers in pieces as they arrive" flag:"--stream-partial-output" mode:"headless" when:"output-format=stream-json" group:"Output"`
	AutoReview    bool         `label:"Auto-review" help:"Let Cursor's servers decide which tools run without asking, instead of running all" flag:"--auto-review" group:"Tools"`
	ApproveMCPs   bool         `label:"Approve MCP servers" help:"Start the MCP servers that the repository defines" flag:"--approve-mcps" group:"Tools"`
	AddDir        []string     `label:"More folders" help:"More folders in the sandbox to work in" flag:"--add-dir=" group:"Prompt"`
	PluginDir     []string     `label:"Plugins" help:"Folders in the sandbox with plugins to load" flag:"--plugin-dir=" group:"Tools"`
	Endpoint      string       `label:"Endpoint" help:"Address of your company's own Cursor servers" flag:"--endpoint=" group:"Account"`
	Header        []string     `label:"Headers" help:"Headers for Cursor's servers, as Name: value" flag:"--header" group:"Advanced"`
	CursorAPIKey  secret.Value `label:"API key" help:"Key of your Cursor account, in place of that of aibox login" env:"CURSOR_API_KEY" secret:"true" group:"Account"`
	ResumeChat    string       `label:"Chat" help:"Continue this chat of your account" flag:"--resume" group:"Advanced"`
}

// Info describes Cursor.
func (*Cursor) Info() Info {
	return Info{
		Name:        "cursor",
		Title:       "Cursor CLI",
		Summary:     "Cursor's agent, with the models of its maker's cloud",
		Homepage:    "https://cursor.com/cli",
		Image:       "cursor",
		Version:     "2026.09.10-fd3934a",
		OwnCloud:    true,
		Account:     Account{Variable: "CURSOR_API_KEY", Page: "https://cursor.com/dashboard"},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Cursor, Option: "output-format", Value: "stream-json", OnRequest: true},
		StateDirs:   []string{"~/.cursor/chats"},
		Hosts:       []string{"cursor.com", "api2.cursor.sh", "*.cursor.sh"},
		Notes: []string{
			"Talks only to its maker's cloud, so you cannot use your own model.",
			"Its own sandbox is off, because aibox provides one. It runs every tool without asking unless --auto-review is given.",
			"Its recipe follows its documentation and has not been tested.",
		},
	}
}

// Command is `cursor-agent -p` for a headless task and `cursor-agent` for an interactive
// one. Its instructions come before the prompt: it reads only those of the repository.
func (c *Cursor) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task)
	if err != nil {
		return Invocation{}, err
	}
	argv := []string{"cursor-agent", "--sandbox", "disabled", "--workspace", task.Workdir}
	if !c.AutoReview {
		argv = append(argv, "--force")
	}
	if task.Resume && c.ResumeChat == "" {
		argv = append(argv, "--continue")
	}
	var files []File
	if task.Interactive {
		files = append(files, cursorTrust(task.Workdir))
	} else {
		argv = append(argv, "--print", "--trust")
	}
	task.Prompt = task.instructedPrompt()
	inv := Invocation{Argv: append(append(argv, extra...), task.Args...), Env: append(env, "NO_OPEN_BROWSER=1"), Files: files}
	return inv.addPrompt(task, "--"), nil
}

var notAlphanumeric = lazyregexp.New(`[^A-Za-z0-9]+`)

// cursorTrust returns the file in which Cursor remembers that a folder is trusted. Without
// it, Cursor asks on a terminal, where it does not accept --trust.
func cursorTrust(workdir string) File {
	name := strings.Trim(notAlphanumeric.ReplaceAllString(workdir, "-"), "-")
	return File{
		Path: "~/.cursor/projects/" + name + "/.workspace-trusted", Mode: 0o600,
		Data: encode(map[string]any{"trustedAt": "2026-01-01T00:00:00.000Z", "workspacePath": workdir}),
	}
}
