package custom

import (
	"io/fs"
	"slices"
	"strconv"

	"aibox/agents"
	"aibox/internal/fault"
)

// agent is a definition with its own options, for one run.
type agent struct {
	*Definition
	options any
}

// Options returns a pointer to the struct of the agent's options.
func (a *agent) Options() any { return a.options }

// Meaning returns the file's explanation of an exit code.
func (a *agent) Meaning(code int) string { return a.exits[code] }

// Command fills in the templates for a task.
func (a *agent) Command(task agents.Task) (agents.Invocation, error) {
	way := start{interactive: task.Interactive, resume: task.Resume}
	command, err := a.start(way)
	if err == nil {
		err = a.check(task, way)
	}
	if err != nil {
		return agents.Invocation{}, err
	}
	argv, optionEnv, err := agents.OptionWords(a, task.Mode())
	if err != nil {
		return agents.Invocation{}, err
	}
	f := a.fill(task, way)
	inv := agents.Invocation{
		Argv: command.expand(f.arguments, map[string][]string{"options": argv, "args": task.Args}),
	}
	for _, v := range a.env {
		if value, complete := v.value.expand(f.arguments); complete {
			inv.Env = append(inv.Env, v.name+"="+value)
		}
	}
	inv.Env = append(inv.Env, optionEnv...)
	if !task.Interactive {
		input := ""
		if a.stdin {
			input = f.prompt
		}
		var files []agents.File
		inv.Argv, files = agents.WithPrompt(inv.Argv, input)
		f.files = append(f.files, files...)
	}
	inv.Files = a.allFiles(f)
	return inv, nil
}

// start returns the command for a way of starting.
func (a *agent) start(way start) (argv, error) {
	if command := a.starts[way]; command != nil {
		return command, nil
	}
	what := "cannot be run on a terminal"
	if way.resume && a.starts[start{interactive: way.interactive}] != nil {
		what = "cannot continue a conversation"
	}
	return nil, fault.New(fault.Usage, "%s %s", a.info.Title, what).Hint("its file has no command.%s", way.key())
}

// check rejects tasks that the agent cannot do.
func (a *agent) check(task agents.Task, way start) error {
	if err := task.Check(a.info); err != nil {
		return err
	}
	if task.Prompt != "" && !(a.stdin && !way.interactive) && !a.mentions(way, "prompt", "prompt_file") {
		return fault.New(fault.Usage, "%s takes no prompt here", a.info.Title).
			Hint("drop --prompt: the command in its file has no {prompt}")
	}
	if len(task.Args) > 0 && !slices.Contains(a.starts[way].uses(), "args") {
		return fault.New(fault.Usage, "%s takes no arguments after --", a.info.Title).
			Hint("the command in its file has no {args}")
	}
	return nil
}

// filling has the values of placeholders in one run.
type filling struct {
	prompt    string            // the whole task
	arguments map[string]string // for arguments and variables, whose size the kernel limits
	files     []agents.File
}

func (a *agent) fill(task agents.Task, way start) *filling {
	model := task.Inference
	f := &filling{prompt: task.Prompt}
	values := map[string]string{"workdir": task.Workdir}
	if a.mentions(way, "instructions_file") {
		if task.Instructions != "" {
			values["instructions_file"] = agents.InstructionsPath
			f.files = task.InstructionsFile(agents.InstructionsPath)
		}
	} else {
		f.prompt = task.InstructedPrompt()
	}
	if f.prompt != "" {
		var files []agents.File
		values["prompt"], files = agents.PromptArgument(f.prompt)
		f.files = append(f.files, files...)
		if a.mentions(way, "prompt_file") {
			values["prompt_file"] = agents.PromptPath
			f.files = append(f.files, agents.File{Path: agents.PromptPath, Mode: 0o600, Data: []byte(f.prompt)})
		}
	}
	f.arguments = values
	if model.BaseURL == "" || len(a.info.Dialects) == 0 {
		return f
	}
	dialect, _ := a.info.CommonDialect(model.Speaks) // Check has verified this
	values["model"], values["key"], values["dialect"] = model.Model, model.Key, dialect.String()
	values["openai"], values["anthropic"], values["gemini"], values["ollama"] = model.OpenAI(), model.Anthropic(), model.Gemini(), model.Ollama()
	values["endpoint"] = map[agents.Dialect]string{
		agents.OpenAIChat: model.OpenAI(), agents.OpenAIResponses: model.OpenAI(),
		agents.Anthropic: model.Anthropic(), agents.Gemini: model.Gemini(),
	}[dialect]
	if model.Context > 0 {
		values["context"] = strconv.Itoa(model.Context)
	}
	return f
}

// allFiles returns the files of a run, each once.
func (a *agent) allFiles(f *filling) []agents.File {
	var all []agents.File
	add := func(file agents.File) {
		if !slices.ContainsFunc(all, func(other agents.File) bool { return other.Path == file.Path }) {
			all = append(all, file)
		}
	}
	for _, file := range f.files {
		add(file)
	}
	values := map[string]string{}
	for name, value := range f.arguments {
		values[name] = value
	}
	values["prompt"] = f.prompt // files have no size limit
	for _, file := range a.files {
		text, _ := file.text.expand(values)
		add(agents.File{Path: file.path, Mode: fs.FileMode(file.mode), Data: []byte(text)})
	}
	return all
}
