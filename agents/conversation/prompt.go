package conversation

import "strings"

// InstructionsEnd is between standing instructions and the prompt of an agent that gets both as one text.
const InstructionsEnd = "\n\n---\n\n"

// HasPrompt reports whether a message of the user, as an agent repeats it, is the prompt, perhaps with
// standing instructions before it.
func HasPrompt(message, prompt string) bool {
	message, prompt = strings.TrimSpace(message), strings.TrimSpace(prompt)
	return message == prompt || prompt != "" && strings.HasSuffix(message, InstructionsEnd+prompt)
}
