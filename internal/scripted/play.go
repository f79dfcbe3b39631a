package scripted

import (
	"path"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/shellquote"
)

// play returns the next turn of conversation c, by the script in its prompts or else by
// script.
func play(script Script, c Conversation) (Turn, error) {
	if own, ok, err := promptScript(c.Prompts); err != nil {
		return Turn{}, err
	} else if ok {
		script = own
	}
	script = script.fillExpect(c)
	if len(c.Tools) == 0 || isHelperRequest(c) {
		return script.withoutTools(c), nil
	}
	done, running := c.finished()
	if running != "" {
		session, _ := strconv.Atoi(running)
		if call := c.call(pollRole, session, ""); call != nil {
			return Turn{Call: call}, nil
		}
	}
	return script.next(c, done), nil
}

// next returns the turn after done tool results. It joins the texts of steps without a
// call with the text of the next step.
func (s Script) next(c Conversation, done int) Turn {
	var said []string
	var slow *Slow
	for _, step := range s.Steps {
		if step.Slow != nil {
			slow = step.Slow
		}
		calls := step.calls(c)
		total := len(calls) * max(1, step.Loop)
		if step.Loop == -1 && len(calls) > 0 {
			total = done + 1
		}
		if done >= total && total > 0 {
			done -= total
			said, slow = nil, nil
			continue
		}
		// A text belongs to the first call of its step.
		if step.Say != "" && (total == 0 || done == 0) {
			said = append(said, step.Say)
		}
		switch {
		case step.Fail != nil:
			return Turn{Fail: step.Fail}
		case total > 0:
			return Turn{Text: c.fill(said), Call: calls[done%len(calls)], Slow: slow}
		}
	}
	if s.Done != "" || len(said) == 0 {
		said = append(said, strings.TrimSpace(s.end()))
	}
	return Turn{Text: c.fill(said), Slow: slow}
}

func (s Script) end() string {
	if s.Done == "" {
		return "Done."
	}
	return s.Done
}

// fill joins texts and replaces {agent}, {model}, {tools}, {result} and {received:TEXT}.
// The output of the agent's tools is inserted last, so that no placeholder in it is
// replaced.
func (c Conversation) fill(texts []string) string {
	text := strings.ReplaceAll(strings.Join(texts, "\n"), "{tools}", c.toolNames())
	text = receivedPattern.ReplaceAllStringFunc(text, func(mark string) string {
		return c.wasSent(receivedPattern.FindStringSubmatch(mark)[1])
	})
	return strings.NewReplacer("{agent}", c.Agent, "{model}", c.Model, "{result}", c.lastLine()).Replace(text)
}

// calls returns the tool calls of one round of the step: none if the step has no action
// or the agent has no tool for it, two if a file must be read before it is edited.
func (s Step) calls(c Conversation) []*Call {
	var calls []*Call
	switch {
	case s.Write != nil:
		content := c.fill([]string{s.Write.Content})
		if s.Via != "shell" {
			calls = s.writeCalls(c, content)
		}
		if len(calls) == 0 {
			calls = callList(c.call(shellRole, writeCommand(s.Write.Path, content)))
		}
	case s.Edit != nil:
		if s.Via != "shell" {
			calls = s.editCalls(c)
		}
		if len(calls) == 0 {
			calls = callList(c.call(shellRole, editCommand(*s.Edit)))
		}
	case s.Run != "":
		calls = callList(c.call(shellRole, c.fill([]string{s.Run})))
	case s.Reach != "":
		calls = callList(c.call(shellRole, reachCommand(s.Reach)))
	case s.Use != nil:
		calls = callList(c.use(*s.Use))
	}
	return calls
}

// writeCalls uses the agent's own tool to write. Copilot's tool creates no folders.
func (s Step) writeCalls(c Conversation, content string) []*Call {
	write := c.call(writeRole, c.within(s.Write.Path), content)
	dir := path.Dir(s.Write.Path)
	if write == nil || strings.ToLower(write.Name) != "create" || dir == "." || dir == "/" {
		return callList(write)
	}
	return append(callList(c.call(shellRole, "mkdir -p -- "+shellquote.Quote(dir)+" && echo made "+shellquote.Quote(dir))), write)
}

// editCalls uses the agent's own tool to edit. Most agents refuse to edit a file that
// they have not read.
func (s Step) editCalls(c Conversation) []*Call {
	name := c.within(s.Edit.Path)
	edit := c.call(editRole, name, s.Edit.Old, s.Edit.New)
	if edit == nil {
		return nil
	}
	return append(callList(c.call(readRole, name)), edit)
}

func callList(call *Call) []*Call {
	if call == nil {
		return nil
	}
	return []*Call{call}
}

// isHelperRequest reports whether the request comes from a helper of the agent, not from
// its main loop. A helper that extracts memories would play the script a second time.
func isHelperRequest(c Conversation) bool { return memoryHelper.MatchString(c.System) }

var memoryHelper = lazyregexp.New(`(?i)memory[ -]extract|extract\w*[^.\n]{0,60}memor`)

var (
	scriptName  = lazyregexp.New(`\[\[script ([a-z0-9-]{1,40})\]\]`)
	scriptBlock = lazyregexp.New("(?s)```aibox-script[ \\t]*\\n(.*?)\\n?```")
)

// promptScript returns the script that the last marker in prompts selects.
func promptScript(prompts []string) (Script, bool, error) {
	for i := len(prompts) - 1; i >= 0; i-- {
		names := scriptName.FindAllStringSubmatchIndex(prompts[i], -1)
		blocks := scriptBlock.FindAllStringSubmatchIndex(prompts[i], -1)
		if len(names)+len(blocks) == 0 {
			continue
		}
		if len(blocks) > 0 && (len(names) == 0 || blocks[len(blocks)-1][0] > names[len(names)-1][0]) {
			block := blocks[len(blocks)-1]
			script, err := Parse([]byte(prompts[i][block[2]:block[3]]))
			if err != nil {
				return Script{}, false, fault.New(fault.Usage, "the script in the prompt: %w", err)
			}
			return script, true, nil
		}
		name := names[len(names)-1]
		script, err := Builtin(prompts[i][name[2]:name[3]])
		return script, err == nil, err
	}
	return Script{}, false, nil
}
