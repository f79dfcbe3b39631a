package agents

import "aibox/agents/spec"

// Functions for agents that are defined outside this package: checks of a task, and ways to
// pass a prompt to a program byte for byte.

// PromptPath and InstructionsPath are the files of a prompt and of standing instructions in
// the sandbox.
const (
	PromptPath       = promptPath
	InstructionsPath = instructionsPath
)

// Check returns a Usage fault for a task that an agent with these facts cannot do.
func (t Task) Check(info Info) error { return t.check(info) }

// Mode returns how the task runs.
func (t Task) Mode() spec.Mode { return t.mode() }

// InstructedPrompt returns the prompt for an agent that does not read standing instructions
// from a file: they come before the prompt.
func (t Task) InstructedPrompt() string { return t.instructedPrompt() }

// InstructionsFile returns the task's standing instructions as a file at path, absolute or
// "~/…"; nothing if there are none.
func (t Task) InstructionsFile(path string) []File { return t.instructionsFile(path) }

// WithPrompt makes argv read a prompt of any size from its standard input. For an empty
// prompt, the input is empty.
func WithPrompt(argv []string, prompt string) ([]string, []File) { return withPrompt(argv, prompt) }

// PromptArgument returns the prompt as one argument: the text itself, or for a long one a
// reference to a file, which is also returned.
func PromptArgument(prompt string) (string, []File) { return promptArgument(prompt) }

// OptionWords returns the arguments and variables (NAME=VALUE) of an agent's options in a
// mode.
func OptionWords(agent Agent, mode spec.Mode) (argv, env []string, err error) {
	return options(agent, Task{Interactive: mode == spec.Interactive})
}
