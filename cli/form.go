package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app"
	"aibox/internal/fault"
	"aibox/ui/form"
	"aibox/workspace"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// formFlag is the flag of `aibox run AGENT` that asks for the options.
const formFlag = "form"

// filled is what the form needs to know of the command line, and what it found.
type filled struct {
	wanted  bool              // --form was given
	flags   []string          // the flags that were given, but for the agent's own
	own     map[string]bool   // the agent's options that are flags
	secrets map[string]string // secrets that were typed into the form, by key
}

// bindForm declares --form.
func (o *runOptions) bindForm(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.form.wanted, formFlag, false, "fill in the options in a form, then run (line by line if ACCESSIBLE is set)")
}

// takeFlags remembers the command line, for the form to show it again.
func (o *runOptions) takeFlags(cmd *cobra.Command, own map[string]bool) {
	o.form.own, o.form.flags = own, nil
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case own[flag.Name] || flag.Name == formFlag || flag.Name == "set":
		case flag.Value.Type() == "bool" && flag.Value.String() == "true":
			o.form.flags = append(o.form.flags, "--"+flag.Name)
		case settingOf(flag) != nil && len(settingOf(flag).texts) > 0:
			for _, text := range settingOf(flag).texts {
				o.form.flags = append(o.form.flags, "--"+flag.Name+"="+text)
			}
		case flag.Value.Type() == "stringArray":
			values, _ := cmd.Flags().GetStringArray(flag.Name)
			for _, value := range values {
				o.form.flags = append(o.form.flags, "--"+flag.Name+"="+value)
			}
		default:
			o.form.flags = append(o.form.flags, "--"+flag.Name+"="+flag.Value.String())
		}
	})
}

// settingOf is the flag of a setting; nil when it is another one.
func settingOf(flag *pflag.Flag) *settingFlag {
	setting, _ := flag.Value.(*settingFlag)
	return setting
}

// task is what the form asks first when the command line does not say it.
type task struct {
	Prompt string `label:"Prompt" help:"What the agent should do" type:"text"`
	Model  string `label:"Model" help:"The model it uses; required if the server has several" type:"model"`
}

// Validate wants a prompt.
func (t *task) Validate() error {
	if strings.TrimSpace(t.Prompt) == "" {
		return fault.New(fault.Usage, "the agent needs a task")
	}
	return nil
}

// fillIn asks for the agent's options, with those given so far as first answers,
// and puts the answers where the flags would have.
func (a *cli) fillIn(ctx context.Context, o *runOptions) error {
	out, err := a.screen()
	if err != nil {
		return err
	}
	agent, err := a.app.Agents().Find(o.agent)
	if err != nil {
		return err
	}
	info := agent.Info()
	if err := info.Servable(); err != nil {
		return err
	}
	given, err := agentOptions(agent, o.set)
	if err != nil {
		return err
	}
	if err := presetSecrets(agent); err != nil {
		return err
	}
	request := form.Request{
		In: a.in, Out: out, Title: "Run " + info.Title, Action: "Run", Suggest: a.suggestions(ctx, o),
		Accessible: accessible(),
	}
	if info.NeedsPrompt && !o.interactive && o.prompt == "" && o.promptFile == "" {
		if err := o.askTask(ctx, request); err != nil {
			return err
		}
	}
	options := agents.Options(agent)
	request.Options, request.Mode = options, o.mode()
	request.Preview = func(draft any) string { return a.preview(o, given, draft) }
	if err := complete(ctx, request); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), safe(o.commandLine(given, options)))
	o.set = o.chosen(given, options)
	o.form.secrets, err = typedSecrets(options)
	return err
}

// complete runs the form. A canceled one ends the command.
func complete(ctx context.Context, request form.Request) error {
	done, err := form.Run(ctx, request)
	if err == nil && !done {
		return fault.New(fault.Interrupted, "canceled; nothing was started")
	}
	return err
}

// screen is where a form can be shown: on the terminal, from which it is filled in,
// or anywhere where lines are asked for.
func (a *cli) screen() (io.Writer, error) {
	if os.Getenv("ACCESSIBLE") != "" {
		return a.err, nil
	}
	if terminalOf(a.in).interactive {
		switch {
		case a.errTerm.interactive:
			return a.err, nil
		case a.term.interactive:
			return a.out, nil
		}
	}
	return nil, fault.New(fault.Usage, "--form needs a terminal").
		Hint("give the options with --set key=value; `aibox agents show NAME` lists them")
}

// askTask asks for what --prompt and --model would have said.
func (o *runOptions) askTask(ctx context.Context, request form.Request) error {
	t := &task{Model: o.Model}
	request.Options, request.Action = t, "Go on"
	if err := complete(ctx, request); err != nil {
		return err
	}
	o.prompt = t.Prompt
	o.form.flags = append(o.form.flags, "--prompt="+t.Prompt)
	if t.Model != o.Model {
		o.Model = t.Model
		o.form.flags = append(o.form.flags, "--model="+t.Model)
	}
	return nil
}

// mostFiles bounds what a form offers for paths.
const mostFiles = 1000

// suggestions offers the models that are known of the server, and what lies at the
// top of the repository.
func (a *cli) suggestions(ctx context.Context, o *runOptions) func(spec.Field) []string {
	return func(field spec.Field) []string {
		var words []string
		switch {
		case field.Type == spec.Model:
			for _, model := range app.CompleteModels(ctx, o.Inference) {
				words = append(words, model.ID)
			}
		case field.Type == spec.Path && !workspace.IsURL(o.repo):
			entries, err := os.ReadDir(o.repo)
			if err != nil {
				return nil // a suggestion less
			}
			for _, entry := range entries[:min(len(entries), mostFiles)] {
				words = append(words, entry.Name())
			}
		}
		return words
	}
}

func (o *runOptions) mode() spec.Mode {
	if o.interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// chosen is --set for every option that is not at its default, and for those that
// were given before.
func (o *runOptions) chosen(given map[string]string, options any) []string {
	var set []string
	eachChosen(given, options, func(field spec.Field, text string) { set = append(set, field.Key+"="+text) })
	return set
}

// eachChosen calls use for the options that a command line has to name so that it
// is as options are.
func eachChosen(given map[string]string, options any, use func(spec.Field, string)) {
	fields, err := spec.Of(options)
	defaults := spec.Clone(options)
	if err != nil || spec.Defaults(defaults) != nil {
		return
	}
	for _, field := range fields {
		_, before := given[field.Key]
		text := field.Text(options)
		if field.Type != spec.Secret && (before || text != field.Text(defaults)) && spec.Visible(options, field) {
			use(field, text)
		}
	}
}

// presetSecrets puts the secrets of the environment into the options, so that the
// form shows that they are there.
func presetSecrets(agent agents.Agent) error {
	secrets, err := agentSecrets(agent)
	if err != nil {
		return err
	}
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if text, ok := secrets[field.Key]; ok {
			if err := field.Set(options, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// typedSecrets are the secrets of the options, by key, for the pipe to the
// supervisor.
func typedSecrets(options any) (map[string]string, error) {
	fields, err := spec.Of(options)
	if err != nil {
		return nil, err
	}
	env, err := spec.Env(options, spec.Both)
	if err != nil {
		return nil, err
	}
	secrets := map[string]string{}
	for _, field := range fields {
		for _, variable := range env {
			if value, ok := strings.CutPrefix(variable, field.Env+"="); ok && field.Type == spec.Secret {
				secrets[field.Key] = value
			}
		}
	}
	return secrets, nil
}

// withTyped are the secrets of the environment, and over them those of the form.
func (o *runOptions) withTyped(secrets map[string]string) map[string]string {
	all := maps.Clone(secrets)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, o.form.secrets)
	return all
}
