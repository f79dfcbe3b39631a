package scripted

import (
	"slices"
	"strconv"
	"strings"
)

// heardMark is replaced by the result of comparing the prompts with Expect.
const heardMark = "{heard}"

// fillExpect returns the script with {heard} replaced for a conversation.
func (s Script) fillExpect(c Conversation) Script {
	if s.Expect == "" {
		return s
	}
	heard := strings.NewReplacer(heardMark, c.matchExpect(s.Expect))
	s.Done, s.Steps = heard.Replace(s.Done), slices.Clone(s.Steps)
	for i, step := range s.Steps {
		s.Steps[i].Say, s.Steps[i].Run = heard.Replace(step.Say), heard.Replace(step.Run)
		if step.Write != nil {
			s.Steps[i].Write = &Write{Path: step.Write.Path, Content: heard.Replace(step.Write.Content)}
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
