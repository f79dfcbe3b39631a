package scripted

import "strings"

// withoutTools answers a request without tools: a title, a router's question, Aider
// (which writes files from fenced text), or a plain chat.
func (s Script) withoutTools(c Conversation) Turn {
	if len(s.Steps) > 0 && s.Steps[0].Fail != nil {
		return Turn{Fail: s.Steps[0].Fail}
	}
	all := c.System + "\n" + strings.Join(c.Prompts, "\n")
	switch {
	case c.Schema != nil:
		return Turn{Text: string(encode(sampleValue(*c.Schema, 0)))}
	case strings.Contains(all, "*file listing*"):
		return Turn{Text: s.listing(c, wholeFile), Slow: s.slow()}
	case strings.Contains(all, "*SEARCH/REPLACE block*"):
		return Turn{Text: s.listing(c, searchReplace), Slow: s.slow()}
	}
	var said []string
	for _, step := range s.Steps {
		if !step.hasAction() {
			said = append(said, step.Say)
		}
	}
	if len(said) == 0 {
		return Turn{Text: "Scripted task: " + s.Name}
	}
	return Turn{Text: c.fill(said), Slow: s.slow()}
}

// slow is how slowly the last step without an action that has this is said, nil if there is none.
func (s Script) slow() *Slow {
	var slow *Slow
	for _, step := range s.Steps {
		if !step.hasAction() && step.Slow != nil {
			slow = step.Slow
		}
	}
	return slow
}

// hasAction reports whether the step has more than a text.
func (s Step) hasAction() bool {
	return s.Write != nil || s.Edit != nil || s.Run != "" || s.Reach != "" || s.Fail != nil
}

// listing returns all writes, edits and texts of the script in one answer, in Aider's format.
func (s Script) listing(c Conversation, form func(name, old, text string) string) string {
	var parts []string
	for _, step := range s.Steps {
		switch {
		case step.Write != nil:
			parts = append(parts, step.Say, form(step.Write.Path, "", c.fill([]string{step.Write.Content})))
		case step.Edit != nil:
			parts = append(parts, step.Say, searchReplace(step.Edit.Path, step.Edit.Old, step.Edit.New))
		case !step.hasAction():
			parts = append(parts, step.Say)
		}
	}
	return c.fill(append(parts, s.end()))
}

func wholeFile(name, _, text string) string {
	return name + "\n```\n" + line(text) + "```\n"
}

func searchReplace(name, old, text string) string {
	return name + "\n```\n<<<<<<< SEARCH\n" + line(old) + "=======\n" + line(text) + ">>>>>>> REPLACE\n```\n"
}

// line ends text with a newline, if there is text.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
