package mcp

import (
	"context"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/fault"
)

// The time limits of code and commands.
const (
	defaultRun = time.Minute
	maxRun     = 10 * time.Minute
)

// runTime returns the time limit of a call.
func runTime(seconds float64) (time.Duration, error) {
	switch {
	case seconds == 0:
		return defaultRun, nil
	case seconds < 0 || seconds > maxRun.Seconds():
		return 0, fault.New(fault.Usage, "a call runs for up to %v seconds, not %v", maxRun.Seconds(), seconds).
			Hint("start longer work in the background: sh -c 'COMMAND > log 2>&1 &'")
	default:
		// The next shorter time is 0, which would mean no limit.
		return max(time.Duration(seconds*float64(time.Second)), time.Nanosecond), nil
	}
}

var runCodeTool = tool{
	name: "run_code", title: "Run code in a sandbox", effect: replaces, open: true,
	description: `Run source text in a sandbox and return what it printed. Languages: python, javascript, ruby, bash.
Nothing is kept between calls but files. The code cannot reach anything outside of the sandbox except the hosts that were allowed. It is ended after its time limit.`,
}

type runCodeInput struct {
	Sandbox  string  `json:"sandbox" jsonschema:"id of the sandbox"`
	Language string  `json:"language" jsonschema:"python, javascript, ruby or bash"`
	Code     string  `json:"code" jsonschema:"the source text"`
	Seconds  float64 `json:"seconds,omitempty" jsonschema:"time limit; 60 if absent, at most 600"`
}

// ranFacts describes how a program ended.
type ranFacts struct {
	Sandbox  string  `json:"sandbox"`
	Status   string  `json:"status"` // completed, failed or timeout
	ExitCode *int32  `json:"exit_code,omitempty"`
	Signal   int32   `json:"signal,omitempty"`
	Seconds  float64 `json:"seconds"`
	Dropped  int64   `json:"output_bytes_left_out,omitempty"`
}

// outputs returns the blocks with a program's output.
func outputs(stdout, stderr []byte) []block {
	var blocks []block
	if len(stdout) > 0 {
		blocks = append(blocks, block{"standard output of the sandbox", string(stdout)})
	}
	if len(stderr) > 0 {
		blocks = append(blocks, block{"standard error of the sandbox", string(stderr)})
	}
	return blocks
}

func (t sandboxTools) runCode(ctx context.Context, c *call, in runCodeInput) (*answer, error) {
	limit, err := runTime(in.Seconds)
	if err != nil {
		return nil, err
	}
	ctx, api := t.api(ctx, c)
	ran, err := api.RunCode(ctx, &aiboxv1.RunCodeRequest{
		SandboxId: in.Sandbox, Language: in.Language, Code: in.Code, Timeout: client.DurationOf(limit), MaxOutputBytes: maxData,
	})
	if err != nil {
		return nil, err
	}
	made := &answer{
		facts: ranFacts{
			Sandbox: in.Sandbox, Status: shortName(ran.GetStatus().String(), "CODE_STATUS_"), ExitCode: ran.ExitCode,
			Seconds: ran.GetDuration().AsDuration().Seconds(), Dropped: ran.GetStdoutDroppedBytes() + ran.GetStderrDroppedBytes(),
		},
		data: outputs(ran.GetStdout(), ran.GetStderr()),
	}
	for _, b := range []block{{"the result of the code", ran.GetResult()}, {"the error of the code", ran.GetError()}} {
		if b.text != "" {
			made.data = append(made.data, block{b.source, bounded(b.text, maxData)})
		}
	}
	return made, nil
}

var runCommandTool = tool{
	name: "run_command", title: "Run a command in a sandbox", effect: replaces, open: true,
	description: `Run a command in a sandbox with sh, wait for its end, and return what it printed and its exit code.
The command cannot reach anything outside of the sandbox except the hosts that were allowed. It is killed after its time limit, and what it started in the background is killed when it ends; to start a server, run it with setsid and &, and wait in the same command until it answers.`,
}

type runCommandInput struct {
	Sandbox string            `json:"sandbox" jsonschema:"id of the sandbox"`
	Command string            `json:"command" jsonschema:"the command line, which sh reads"`
	Dir     string            `json:"dir,omitempty" jsonschema:"folder in which it runs"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"more variables of the environment"`
	Input   string            `json:"input,omitempty" jsonschema:"its standard input"`
	Seconds float64           `json:"seconds,omitempty" jsonschema:"time limit; 60 if absent, at most 600"`
}

func (t sandboxTools) runCommand(ctx context.Context, c *call, in runCommandInput) (*answer, error) {
	limit, err := runTime(in.Seconds)
	if err != nil {
		return nil, err
	}
	if in.Command == "" {
		return nil, fault.New(fault.Usage, "the command is empty")
	}
	ctx, api := t.api(ctx, c)
	ran, err := api.Exec(ctx, &aiboxv1.ExecRequest{
		SandboxId: in.Sandbox, Argv: []string{"/bin/sh", "-c", in.Command}, Dir: in.Dir, Env: in.Env, Stdin: []byte(in.Input),
		Timeout: client.DurationOf(limit), MaxOutputBytes: maxData,
	})
	if err != nil {
		return nil, err
	}
	exit := ran.GetExit()
	facts := ranFacts{
		Sandbox: in.Sandbox, Status: "completed", ExitCode: &exit.Code, Signal: exit.GetSignal(),
		Seconds: ran.GetDuration().AsDuration().Seconds(), Dropped: ran.GetStdoutDroppedBytes() + ran.GetStderrDroppedBytes(),
	}
	switch {
	case ran.GetTimedOut():
		facts.Status = "timeout"
	case exit.GetCode() != 0 || exit.GetSignal() != 0:
		facts.Status = "failed"
	}
	made := &answer{facts: facts, data: outputs(ran.GetStdout(), ran.GetStderr())}
	if why := exit.GetError(); why != "" { // the command printed nothing about it
		made.data = append(made.data, block{"why the command could not run or was ended", bounded(why, maxData)})
	}
	return made, nil
}
