package scripted

import (
	"slices"
	"strconv"
	"strings"
)

// heardMark stands in a script for what became of Expect.
const heardMark = "{heard}"

// judge is the script with {heard} filled in for a conversation.
func (s Script) judge(c Conversation) Script {
	if s.Expect == "" {
		return s
	}
	heard := strings.NewReplacer(heardMark, c.heard(s.Expect))
	s.Done, s.Steps = heard.Replace(s.Done), slices.Clone(s.Steps)
	for i, step := range s.Steps {
		s.Steps[i].Say, s.Steps[i].Run = heard.Replace(step.Say), heard.Replace(step.Run)
		if step.Write != nil {
			s.Steps[i].Write = &Write{Path: step.Write.Path, Content: heard.Replace(step.Write.Content)}
		}
	}
	return s
}

// heard is "yes" when somebody told the model exactly expect, and otherwise what
// came nearest to a task, quoted, in plain ASCII.
func (c Conversation) heard(expect string) string {
	last := ""
	for _, text := range append([]string{c.System}, c.Prompts...) {
		if strings.Contains(text, expect) {
			return "yes"
		}
		if !framed(text) {
			last = text
		}
	}
	most := len([]rune(expect)) + 40 // agents put their own words before a task
	if runes := []rune(last); len(runes) > most {
		last = string(runes[len(runes)-most:])
	}
	return strconv.QuoteToASCII(last)
}
