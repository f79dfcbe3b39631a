package agents

import "aibox/internal/fault"

// Shell runs any command: a script, a test suite, an agent aibox does not know.
type Shell struct{}

// Info describes the shell agent.
func (*Shell) Info() Info {
	return Info{
		Name:    "shell",
		Title:   "Shell",
		Summary: "Any command, given after --",
		Image:   "base",

		NeedsCommand: true,
		Notes: []string{
			"Runs the command after -- unchanged; with -i and no command, an interactive bash.",
			"The prompt, if there is one, is in $AIBOX_PROMPT_FILE, and the sandbox's instructions are in $AIBOX_INSTRUCTIONS_FILE.",
			"The model is in OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, " +
				"GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY and OLLAMA_HOST.",
		},
	}
}

// Command returns the command after "--" unchanged.
func (*Shell) Command(task Task) (Invocation, error) {
	inv := Invocation{Argv: task.Args, Env: modelEnv(task.Inference)}
	if len(task.Args) == 0 {
		if !task.Interactive {
			return Invocation{}, ErrNoCommand
		}
		inv.Argv = []string{"/bin/bash"}
	}
	if task.Instructions != "" {
		inv.Files = append(inv.Files, File{Path: instructionsPath, Mode: 0o600, Data: []byte(task.Instructions)})
		inv.Env = append(inv.Env, "AIBOX_INSTRUCTIONS_FILE="+instructionsPath)
	}
	if task.Prompt != "" {
		inv.Files = append(inv.Files, File{Path: promptPath, Mode: 0o600, Data: []byte(task.Prompt)})
		inv.Env = append(inv.Env, "AIBOX_PROMPT_FILE="+promptPath)
	}
	return inv, nil
}

// ErrNoCommand reports that an agent that runs a command did not get one.
var ErrNoCommand = fault.New(fault.Usage, "no command was given").
	Hint("put it after -- at the end, for example: -- make test").
	Hint("or use -i for an interactive shell")

// modelEnv returns the model as the variables that most clients read.
func modelEnv(model Inference) []string {
	if model.BaseURL == "" {
		return nil
	}
	return []string{
		"OPENAI_BASE_URL=" + model.OpenAI(), "OPENAI_API_KEY=" + model.Key, "OPENAI_MODEL=" + model.Model,
		"ANTHROPIC_BASE_URL=" + model.Anthropic(), "ANTHROPIC_API_KEY=" + model.Key,
		"GOOGLE_GEMINI_BASE_URL=" + model.Gemini(), "GEMINI_API_KEY=" + model.Key,
		"OLLAMA_HOST=" + model.BaseURL,
	}
}
