package agents

import (
	"strings"

	"aibox/internal/fault"
)

// Home is the home directory in the images, for agents that take no "~".
const Home = "/root"

// promptPath is the prompt's file in the sandbox. It is absolute, so
// that programs can open it without knowing what "~" means.
const promptPath = "/run/aibox/prompt"

// instructionsPath is the file of the instructions for an agent without a fixed place for
// them.
const instructionsPath = "/run/aibox/instructions.md"

// withPrompt makes argv read the prompt from its standard input. A prompt can thus be
// larger than the kernel's limit of 128 KiB for one argument, can begin with a dash, and
// reaches the agent byte for byte. An empty prompt gives /dev/null, because agents wait for
// a standard input that stays open.
func withPrompt(argv []string, prompt string) ([]string, []File) {
	if prompt == "" {
		return append([]string{"/bin/sh", "-c", `exec "$@" </dev/null`, "sh"}, argv...), nil
	}
	shell := []string{"/bin/sh", "-c", `exec "$@" <` + promptPath, "sh"}
	return append(shell, argv...), []File{{Path: promptPath, Mode: 0o600, Data: []byte(prompt)}}
}

// promptLimit is the size of the largest prompt that is passed as one argument, below the
// 128 KiB at which the kernel refuses to start a program.
const promptLimit = 96 << 10

// promptArgument returns the prompt for a terminal program, which reads its standard
// input from the user: the text itself, or a reference to the file of a long one.
func promptArgument(prompt string) (string, []File) {
	if len(prompt) <= promptLimit {
		return prompt, nil
	}
	file := File{Path: promptPath, Mode: 0o600, Data: []byte(prompt)}
	return "Read the file " + promptPath + " and do what it says.", []File{file}
}

// addPrompt returns inv with the task's prompt: on standard input if it is headless, on a
// terminal as the last argument after opening, which is "--" or a flag that ends in "=". A
// headless agent also gets a variable that turns off color.
func (inv Invocation) addPrompt(task Task, opening string) Invocation {
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

// refusePrompt returns a fault for a prompt on a terminal. It is for agents that accept
// prompts there only from the keyboard.
func (t Task) refusePrompt(info Info) error {
	if !t.Interactive || t.Prompt == "" {
		return nil
	}
	return fault.New(fault.Usage, "%s takes no prompt on a terminal", info.Title).
		Hint("drop --prompt and type it in the terminal, or drop -i")
}
