package agents

import "aibox/agents/spec"

// What agents that are made outside this package share with those inside: how a
// task is refused, and how a prompt reaches a program byte for byte.

// PromptPath and InstructionsPath are where a prompt and standing instructions
// wait in the sandbox.
const (
	PromptPath       = promptPath
	InstructionsPath = instructionsPath
)

// Check refuses, as a Usage fault, what no agent with these facts can do.
func (t Task) Check(info Info) error { return t.check(info) }

// Mode returns how the task runs.
func (t Task) Mode() spec.Mode { return t.mode() }

// InstructedPrompt returns the prompt for an agent that reads standing instructions
// nowhere else: they come before it.
func (t Task) InstructedPrompt() string { return t.instructedPrompt() }

// InstructionsFile returns the task's standing instructions as a file at path, absolute
// or "~/…"; nothing when there are none.
func (t Task) InstructionsFile(path string) []File { return t.instructionsFile(path) }

// WithPrompt makes argv read the prompt from its standard input, whatever its
// size; an empty one gives an input that has ended.
func WithPrompt(argv []string, prompt string) ([]string, []File) { return withPrompt(argv, prompt) }

// PromptArgument returns the prompt as one argument: the text itself, or for a long one a
// reference to a file, which is also returned.
func PromptArgument(prompt string) (string, []File) { return promptArgument(prompt) }

// OptionWords returns the arguments and variables (NAME=VALUE) that an agent's options
// make in a mode.
func OptionWords(agent Agent, mode spec.Mode) (argv, env []string, err error) {
	return options(agent, Task{Interactive: mode == spec.Interactive})
}
