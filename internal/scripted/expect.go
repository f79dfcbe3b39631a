package scripted

import (
	"slices"
	"strconv"
	"strings"
)

// receivedMark is replaced by the result of comparing the prompts with Expect.
const receivedMark = "{received}"

// fillExpect returns the script with {received} replaced for a conversation.
func (s Script) fillExpect(c Conversation) Script {
	if s.Expect == "" {
		return s
	}
	received := strings.NewReplacer(receivedMark, c.matchExpect(s.Expect))
	s.Done, s.Steps = received.Replace(s.Done), slices.Clone(s.Steps)
	for i, step := range s.Steps {
		s.Steps[i].Say, s.Steps[i].Run = received.Replace(step.Say), received.Replace(step.Run)
		if step.Write != nil {
			s.Steps[i].Write = &Write{Path: step.Write.Path, Content: received.Replace(step.Write.Content)}
		}
	}
	return s
}

// matchExpect returns "yes" if a prompt contains expect byte for byte. Otherwise it
// returns the end of the last prompt, quoted in plain ASCII.
func (c Conversation) matchExpect(expect string) string {
	last := ""
	for _, text := range append([]string{c.System}, c.Prompts...) {
		if strings.Contains(text, expect) {
			return "yes"
		}
		if !isFrame(text) {
			last = text
		}
	}
	most := len([]rune(expect)) + 40 // agents put their own text before a task
	if runes := []rune(last); len(runes) > most {
		last = string(runes[len(runes)-most:])
	}
	return strconv.QuoteToASCII(last)
}
