package agents

import (
	"strings"

	"aibox/internal/fault"
)

// Home is the home directory in the images, for agents that take no "~".
const Home = "/root"

// promptPath is where a prompt waits for its agent in the box. It is absolute, so
// that programs can open it without knowing what "~" means.
const promptPath = "/run/aibox/prompt"

// instructionsPath is where standing instructions wait for an agent that has no
// place of its own for them.
const instructionsPath = "/run/aibox/instructions.md"

// withPrompt makes argv read the prompt from its standard input. So a prompt may
// be larger than the kernel's limit of 128 KiB for one argument, may begin with a
// dash, and reaches the agent byte for byte. An empty prompt gives /dev/null,
// because agents wait for a standard input that stays open.
func withPrompt(argv []string, prompt string) ([]string, []File) {
	if prompt == "" {
		return append([]string{"/bin/sh", "-c", `exec "$@" </dev/null`, "sh"}, argv...), nil
	}
	shell := []string{"/bin/sh", "-c", `exec "$@" <` + promptPath, "sh"}
	return append(shell, argv...), []File{{Path: promptPath, Mode: 0o600, Data: []byte(prompt)}}
}

// promptLimit is the largest prompt that goes into one argument, below the 128
// KiB at which the kernel refuses to start a program.
const promptLimit = 96 << 10

// promptArgument is the prompt for a terminal program, which keeps its standard
// input for the person: the text itself, or where a long one stands.
func promptArgument(prompt string) (string, []File) {
	if len(prompt) <= promptLimit {
		return prompt, nil
	}
	file := File{Path: promptPath, Mode: 0o600, Data: []byte(prompt)}
	return "Read the file " + promptPath + " and do what it says.", []File{file}
}

// told is inv with the task's prompt: on its standard input when it is headless;
// on a terminal as its last argument, behind opening, which is "--" or a flag that
// ends in "=". A headless agent is also asked for text without color.
func (inv Invocation) told(task Task, opening string) Invocation {
	var files []File
	switch {
	case !task.Interactive:
		inv.Argv, files = withPrompt(inv.Argv, task.Prompt)
		inv.Env = append(inv.Env, "NO_COLOR=1")
	case task.Prompt != "":
		var prompt string
		prompt, files = promptArgument(task.Prompt)
		if strings.HasSuffix(opening, "=") {
			inv.Argv = append(inv.Argv, opening+prompt)
		} else {
			inv.Argv = append(inv.Argv, opening, prompt)
		}
	}
	inv.Files = append(inv.Files, files...)
	return inv
}

// noOpening refuses a prompt on a terminal, for agents that let a person type it
// and nobody else.
func (t Task) noOpening(info Info) error {
	if !t.Interactive || t.Prompt == "" {
		return nil
	}
	return fault.New(fault.Usage, "%s takes no prompt on a terminal", info.Title).
		Hint("leave --prompt out and type it, or leave -i out")
}
