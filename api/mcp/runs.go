package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/setting"
	"aibox/app/agentsession"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// The waiting times of wait_session.
const (
	defaultWait = 30 * time.Second // below the time after which common clients give up
	maxWait     = 10 * time.Minute
)

// describeRunAgent describes run_agent with the repositories of this server.
func (t *sessionTools) describeRunAgent() tool {
	repositories := ""
	if len(t.repositories) > 0 {
		repositories = "\nRepositories: " + strings.Join(t.repositories, ", ") + "."
	}
	return tool{
		name: "run_agent", title: "Run a coding agent", effect: adds, right: aiboxv1.Right_RIGHT_SESSIONS, open: true,
		description: `Start a coding agent on a copy of a git repository, in its own sandbox, and return its session as soon as it runs.
The copy includes uncommitted work. The repository itself does not change; the changes wait for a review.
The agent can reach a model and, unless the user allowed hosts, nothing else: no internet, no other files of this machine, no secrets. Files such as .env and private keys are hidden from it.
It ends at its time limit. Settings can only be tighter than the user's own. Over HTTP, network, allow and model need the right network.` + repositories,
	}
}

type runAgentInput struct {
	Repository string   `json:"repository" jsonschema:"absolute path of the git repository, or its URL"`
	Prompt     string   `json:"prompt" jsonschema:"the task for the agent"`
	Agent      string   `json:"agent,omitempty" jsonschema:"name of the agent, such as codex or claude; the user's default if absent"`
	Branch     string   `json:"branch,omitempty" jsonschema:"branch, tag or commit to start from; what is checked out if absent"`
	Model      string   `json:"model,omitempty" jsonschema:"model to use; the user's default if absent"`
	Timeout    string   `json:"timeout,omitempty" jsonschema:"time limit such as 20m; at most the user's own"`
	Network    string   `json:"network,omitempty" jsonschema:"what the agent can reach: none, local (the model), allowlist or public; at most the user's own"`
	Allow      []string `json:"allow,omitempty" jsonschema:"hosts that it can reach: HOST, HOST:PORT, *.DOMAIN or a preset such as npm; only hosts that the user allows"`
	MaxTokens  int      `json:"max_tokens,omitempty" jsonschema:"limit of the tokens that the session reads and writes"`
}

// settings returns the settings of a call.
func (in *runAgentInput) settings() (config.RunOverrides, error) {
	var given config.RunOverrides
	for _, setting := range [][2]string{{"model", in.Model}, {"timeout", in.Timeout}, {"network", in.Network}} {
		if setting[1] == "" {
			continue
		}
		if err := given.Set(setting[0], setting[1]); err != nil {
			return given, err
		}
	}
	if in.Allow != nil {
		if err := given.SetWords("allow", in.Allow); err != nil {
			return given, err
		}
	}
	if in.MaxTokens != 0 {
		if err := given.Set("max-tokens", fmt.Sprint(in.MaxTokens)); err != nil {
			return given, err
		}
	}
	return given, nil
}

// choosesNetwork reports whether a call chooses a model, or settings with which the agent could
// reach more.
func (in runAgentInput) choosesNetwork() bool {
	if in.Network == netguard.None.String() {
		in.Network = ""
	}
	if len(in.Allow) == 0 {
		in.Allow = nil
	}
	given, err := in.settings()
	return err != nil || setting.ChoosesNetwork(nil, given)
}

func (t *sessionTools) runAgent(ctx context.Context, c *call, in runAgentInput) (*answer, error) {
	settings, err := in.settings()
	if err != nil {
		return nil, err
	}
	if t.authorize != nil && (in.choosesNetwork() || setting.AgentChoosesNetwork(t.agents, in.Agent, nil)) {
		if err := t.authorize(ctx, c.header(), aiboxv1.Right_RIGHT_NETWORK); err != nil {
			return nil, err
		}
	}
	started, err := t.sessions.Start(ctx, agentsession.Request{
		Agent: in.Agent, Repository: in.Repository, Branch: in.Branch, Prompt: in.Prompt, Settings: settings,
	}, reportSteps(ctx, c))
	if err != nil {
		return nil, err
	}
	return answerAbout(&started), nil
}

// reportSteps returns a function that reports each stage of a start.
func reportSteps(ctx context.Context, c *call) func(session.Step) {
	return func(step session.Step) {
		text := step.Name
		if step.Detail != "" {
			text += ": " + step.Detail
		}
		c.report(ctx, text)
	}
}

var waitSessionTool = tool{
	name: "wait_session", title: "Wait for an agent", effect: reads, right: aiboxv1.Right_RIGHT_READ,
	description: `Wait until the agent of a session has ended, for at most the given time, and return the state of the session. Call it again while the agent is at work.`,
}

type waitSessionInput struct {
	Session string   `json:"session" jsonschema:"id of the session"`
	Seconds *float64 `json:"seconds,omitempty" jsonschema:"wait at most this long; 30 if absent, at most 600, 0 to return at once"`
}

func (t *sessionTools) waitSession(ctx context.Context, c *call, in waitSessionInput) (*answer, error) {
	most := defaultWait
	if in.Seconds != nil {
		if *in.Seconds < 0 || *in.Seconds > maxWait.Seconds() {
			return nil, fault.New(fault.Usage, "a call waits from 0 to %v seconds, not %v", maxWait.Seconds(), *in.Seconds).Hint("call wait_session again to wait longer")
		}
		most = time.Duration(*in.Seconds * float64(time.Second))
	}
	found, err := t.sessions.Wait(ctx, session.ID(in.Session), most, func(live session.Live) {
		c.report(ctx, fmt.Sprintf("%s, %s", amount.Of(live.Calls, "model call"), live.Tokens))
	})
	if err != nil {
		return nil, err
	}
	return answerAbout(&found), nil
}

var readOutputTool = tool{
	name: "read_output", title: "Read an agent's output", effect: reads, right: aiboxv1.Right_RIGHT_SESSIONS,
	description: `Read the conversation of a session's agent as text: its messages, commands and edits. To read on, pass the "next" of the answer as "from".`,
}

type readOutputInput struct {
	Session string `json:"session" jsonschema:"id of the session"`
	From    int64  `json:"from,omitempty" jsonschema:"where to begin: 0, or the next of an earlier answer"`
}

func (t *sessionTools) readOutput(_ context.Context, _ *call, in readOutputInput) (*answer, error) {
	if in.From < 0 {
		return nil, fault.New(fault.Usage, "from must be 0 or the next of an earlier answer, not %d", in.From)
	}
	id := session.ID(in.Session)
	found, err := t.sessions.Find(id)
	if err != nil {
		return nil, err
	}
	part, err := t.sessions.Transcript(id, in.From, maxData)
	if err != nil {
		return nil, err
	}
	made := &answer{facts: struct {
		sessionFacts
		Next int64 `json:"next"`
		Cut  bool  `json:"cut,omitempty"` // an item was too long
	}{factsOf(&found), part.Next, part.Cut}}
	if part.Text != "" {
		made.data = []block{{"the agent's output", part.Text}}
	}
	return made, nil
}
