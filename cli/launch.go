package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/workspace"
)

// maxPrompt bounds a prompt in bytes; the start message to the sandbox holds it.
const maxPrompt = 2 << 20

// launch is what the options ask for, checked as far as it can be without
// touching anything.
func (o *runOptions) launch(set agents.Set, in *os.File) (session.Launch, error) {
	agent, err := set.Find(o.agent)
	if err != nil {
		return session.Launch{}, err
	}
	if err := agent.Info().Servable(); err != nil {
		return session.Launch{}, err
	}
	options, err := agentOptions(agent, o.set)
	if err == nil {
		err = applicable(agent, options)
	}
	if err != nil {
		return session.Launch{}, err
	}
	secrets, err := agentSecrets(agent)
	if err != nil {
		return session.Launch{}, err
	}
	needsPrompt := agent.Info().NeedsPrompt && !o.interactive && !o.talk
	prompt, err := o.readPrompt(in, needsPrompt)
	if err != nil {
		return session.Launch{}, err
	}
	if prompt == "" && needsPrompt {
		return session.Launch{}, fault.New(fault.Usage, "%s needs a task", agent.Info().Title).
			Hint("give it with --prompt or --prompt-file")
	}
	env, names, err := agentEnv(o.Env)
	if err != nil {
		return session.Launch{}, err
	}
	if o.Accept != "none" && o.acceptTarget() == nil {
		return session.Launch{}, fault.New(fault.Usage, "--accept must be none, branch or worktree, not %q", o.Accept)
	}
	if o.Timeout < 0 {
		return session.Launch{}, fault.New(fault.Usage, "--timeout cannot be negative").Hint("0 means no limit")
	}
	if o.ModelTimeout < 0 {
		return session.Launch{}, fault.New(fault.Usage, "--model-timeout cannot be negative").Hint("0 means no limit")
	}
	if o.noFeedback && o.resumes == "" {
		return session.Launch{}, fault.New(fault.Usage, "--no-feedback needs --resume").Hint("leave it out")
	}
	verifying := verifyFlags{o.Verify, time.Duration(o.VerifyTimeout)}
	if err := verifying.check(); err != nil {
		return session.Launch{}, err
	}
	o.Verify, o.VerifyTimeout = verifying.command, amount.Duration(verifying.timeout)
	if o.detach && (o.Accept != "none" || o.RequireChanges) {
		return session.Launch{}, fault.New(fault.Usage, "--detach returns before there is a result").
			Hint("drop --accept and --require-changes, and run `aibox accept` later")
	}
	hide := o.hidden
	if o.resumes == "" {
		hide = slices.Concat(workspace.DefaultHide(), o.Hide)
	}
	repo, err := repository(o.repo)
	if err != nil {
		return session.Launch{}, err
	}
	run := o.Run
	run.Hide, run.Env = hide, names
	if run.Inference, err = absoluteScript(run.Inference); err != nil {
		return session.Launch{}, err
	}
	return session.Launch{
		Env:     env,
		Keys:    app.ModelKeys(),
		Secrets: o.withTyped(secrets),
		Spec: session.Spec{
			Agent: o.agent, Options: options, Prompt: prompt, Args: o.args, Interactive: o.interactive,
			Repository: repo, Branch: o.branch, Resumes: o.resumes, NoFeedback: o.noFeedback,
			Run: run,
		},
	}, nil
}

// agentOptions checks --set and returns the options by key.
func agentOptions(agent agents.Agent, set []string) (map[string]string, error) {
	target := agents.Options(agent)
	fields, err := spec.Of(target)
	if err != nil {
		return nil, err
	}
	options := map[string]string{}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fault.New(fault.Usage, "--set %q has no value", pair).Hint("write --set key=value")
		}
		field, err := spec.Find(fields, key)
		if err != nil {
			return nil, err
		}
		if field.Type == spec.Secret {
			return nil, fault.New(fault.Usage, "%q is a secret, and other users can read command lines", key).Hint("export %s=… instead", field.Env)
		}
		if err := field.Set(target, value); err != nil {
			return nil, err
		}
		options[key] = value
	}
	if err := spec.Validate(target); err != nil {
		return nil, err
	}
	return options, nil
}

// applicable refuses an option that was set and would not reach the agent.
func applicable(agent agents.Agent, options map[string]string) error {
	target := agents.Options(agent)
	fields, err := spec.Of(target)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if _, set := options[field.Key]; !set {
			continue
		}
		if err := spec.Applies(target, field); err != nil {
			return err
		}
	}
	return nil
}

// agentSecrets are the agent's secret options that the user has in the
// environment, by key. They travel by pipe and are stored nowhere.
func agentSecrets(agent agents.Agent) (map[string]string, error) {
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		return nil, err
	}
	secrets := map[string]string{}
	for _, field := range fields {
		if value, ok := os.LookupEnv(field.Env); ok && field.Type == spec.Secret {
			secrets[field.Key] = value
		}
	}
	return secrets, nil
}

// readPrompt takes the prompt from the flag, the file or standard input.
func (o *runOptions) readPrompt(in *os.File, wanted bool) (string, error) {
	switch {
	case o.prompt != "" && o.promptFile != "":
		return "", fault.New(fault.Usage, "--prompt and --prompt-file cannot be used together").Hint("keep one of them")
	case o.prompt != "":
		return checkPrompt(o.prompt)
	case o.promptFile == "-", o.promptFile == "" && wanted && !terminalOf(in).interactive:
		return readPrompt(in, "standard input")
	case o.promptFile != "":
		file, err := os.Open(o.promptFile)
		if err != nil {
			return "", fault.New(fault.Usage, "the prompt cannot be read: %w", err)
		}
		defer file.Close()
		return readPrompt(file, o.promptFile)
	default:
		return "", nil
	}
}

func readPrompt(in io.Reader, name string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	if err != nil {
		return "", fault.New(fault.Usage, "the prompt cannot be read from %s: %w", name, err)
	}
	return checkPrompt(string(data))
}

func checkPrompt(prompt string) (string, error) {
	if len(prompt) > maxPrompt {
		return "", fault.New(fault.Usage, "the prompt is longer than 2 MiB").
			Hint("put the text into a file of the repository and name the file in the prompt")
	}
	return prompt, nil
}

// agentEnv is --env as NAME=VALUE, and the names alone for the record.
func agentEnv(flags []string) (env, names []string, err error) {
	for _, flag := range flags {
		name, _, given := strings.Cut(flag, "=")
		if name == "" || strings.ContainsAny(name, " \t\n\x00") {
			return nil, nil, fault.New(fault.Usage, "--env %q is not NAME or NAME=VALUE", flag)
		}
		if !given {
			value, ok := os.LookupEnv(name)
			if !ok {
				return nil, nil, fault.New(fault.Usage, "--env %s: the variable is not set", name).
					Hint("set it, or write --env %s=VALUE", name)
			}
			flag = name + "=" + value
		}
		env, names = append(env, flag), append(names, name)
	}
	return env, names, nil
}

// repository makes a path absolute and leaves a URL as it is.
func repository(name string) (string, error) {
	if workspace.IsURL(name) {
		return name, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", fault.New(fault.Usage, "the repository %q cannot be found: %w", name, err)
	}
	return path, nil
}

// absoluteScript makes the path in scripted:PATH absolute, since the supervisor
// has another working directory. A name without a slash is a built-in script.
func absoluteScript(inference string) (string, error) {
	file, ok := strings.CutPrefix(inference, "scripted:")
	if !ok || !strings.ContainsRune(file, '/') {
		return inference, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fault.New(fault.Usage, "the script %q cannot be found: %w", file, err)
	}
	return "scripted:" + path, nil
}
