package agents

import "aibox/agents/conversation"

// instructionsFile returns the task's standing instructions as a file at path, absolute or
// "~/…"; nothing if there are none.
func (t Task) instructionsFile(path string) []File {
	if t.Instructions == "" {
		return nil
	}
	return []File{{Path: path, Mode: 0o600, Data: []byte(t.Instructions)}}
}

// instructedPrompt returns the prompt for an agent that does not read standing instructions
// from a file: they come before the prompt, above a separator line.
func (t Task) instructedPrompt() string {
	if t.Instructions == "" || t.Prompt == "" {
		return t.Prompt
	}
	return t.Instructions + conversation.InstructionsEnd + t.Prompt
}
