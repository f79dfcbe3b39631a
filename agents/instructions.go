package agents

// instructionsFile returns the task's standing instructions as a file at path, absolute
// or "~/…"; nothing when there are none.
func (t Task) instructionsFile(path string) []File {
	if t.Instructions == "" {
		return nil
	}
	return []File{{Path: path, Mode: 0o600, Data: []byte(t.Instructions)}}
}

// instructedPrompt returns the prompt for an agent that reads standing instructions
// nowhere else: they come before it, above a separator line.
func (t Task) instructedPrompt() string {
	if t.Instructions == "" || t.Prompt == "" {
		return t.Prompt
	}
	return t.Instructions + "\n\n---\n\n" + t.Prompt
}
