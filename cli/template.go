package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/app"
	"aibox/app/template"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// templateOptions are the flags of `aibox template`.
type templateOptions struct {
	*cli

	json bool
}

func newTemplateCommand(a *cli) *cobra.Command {
	o := templateOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Manage the templates of sandboxes",
		Long: `A template defines a sandbox: its image, and the user, folder, environment, settings and
program that it starts with. aibox has the templates code, browser and desktop, and one
for each agent. Your own are files that you can edit.`,
		Example: "  aibox template ls\n  aibox template create data --from code --dockerfile Dockerfile\n  aibox bake data",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use: "ls", Short: "List the templates", Example: "  aibox template ls", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context()) },
	}, &cobra.Command{
		Use: "show TEMPLATE", Short: "Show a template", Example: "  aibox template show code",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.complete.templates,
		RunE: func(cmd *cobra.Command, args []string) error { return o.show(cmd.Context(), args[0]) },
	}, newCreateTemplateCommand(a), &cobra.Command{
		Use: "rm TEMPLATE", Short: "Remove a template of your own", Example: "  aibox template rm data",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.complete.ownTemplates,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := app.TemplateStore()
			if err != nil {
				return err
			}
			if err := store.Remove(a.app.Templates(), args[0]); err != nil || !o.json {
				return err
			}
			return printJSON(a.out, map[string]string{"name": args[0]})
		},
	})
	return cmd
}

func (o *templateOptions) list(ctx context.Context) error {
	set := o.app.Templates()
	if err := set.Unread(); err != nil {
		fmt.Fprintf(o.err, "%s %s\n", o.errTerm.warn("!"), safe(err.Error()))
	}
	broken := set.Broken()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		fmt.Fprintf(o.err, "%s %s\n", o.errTerm.warn("!"), safe(broken[name].Error()))
	}
	states := o.imageStates(ctx)
	if o.json {
		all := []templateJSON{}
		for _, t := range set.List() {
			all = append(all, describeTemplate(t, states))
		}
		return printJSON(o.out, all)
	}
	var rows [][]string
	for _, t := range set.List() {
		name := t.Name
		if t.Source == template.Own {
			name += " (yours)"
		}
		state := "-"
		if t.Image.Recipe != "" {
			state = stateOf(states, t.Image.Recipe)
		}
		rows = append(rows, []string{name, state, termtext.Escape(t.Summary)})
	}
	return table(o.out, "TEMPLATE\tIMAGE\tDESCRIPTION", rows)
}

// templateJSON is the JSON of a template.
type templateJSON struct {
	template.Template

	State *bakery.State `json:"image_state,omitempty"` // absent if aibox does not build it, or the daemon did not answer
}

func describeTemplate(t template.Template, states map[string]bakery.State) templateJSON {
	d := templateJSON{Template: t}
	if state, ok := states[t.Image.Recipe]; ok && t.Image.Recipe != "" {
		d.State = &state
	}
	return d
}

func (o *templateOptions) show(ctx context.Context, name string) error {
	t, err := o.app.Templates().Find(name)
	if err != nil {
		return err
	}
	states := o.imageStates(ctx)
	if o.json {
		return printJSON(o.out, describeTemplate(t, states))
	}
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(o.out, "%-10s %s\n", key, termtext.Escape(value))
		}
	}
	line("template", t.Name+": "+t.Summary)
	image := t.Image.String()
	if t.Image.Recipe != "" {
		image += " (" + stateOf(states, t.Image.Recipe) + ")"
	}
	line("image", image)
	user := t.User
	if user == "" {
		user = "root"
	}
	line("user", user)
	line("folder", t.Workdir)
	for _, variable := range t.Env {
		line("env", variable)
	}
	if t.Start != nil {
		line("start", shellquote.Join(t.Start.Argv))
		if t.Start.Port > 0 {
			line("ready", fmt.Sprintf("when port %d listens, within %v", t.Start.Port, t.Start.Timeout))
		}
	}
	for _, key := range t.Defaults.Keys() {
		line("setting", key+" = "+t.Defaults.Text(key))
	}
	line("file", t.File)
	return nil
}

// createTemplateOptions are the flags of `aibox template create`.
type createTemplateOptions struct {
	*cli
	template.Definition

	file     string // of the recipe
	env      []string
	start    template.StartDefinition
	settings config.RunOverrides
}

func newCreateTemplateCommand(a *cli) *cobra.Command {
	o := createTemplateOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "create NAME [flags] [-- PROGRAM ARG…]",
		Short: "Create a template of your own",
		Long: `Create a template from a Dockerfile or an image. The Dockerfile starts with ARG BASE and
FROM ${BASE}, which is aibox's base or what --from names. It has no build context. The
program after -- runs in each sandbox from its start, without a shell.

The template is a file, which you can edit. "aibox bake NAME" builds its image.`,
		Example: `  aibox template create data --from code --dockerfile Dockerfile --user user
  aibox template create web --image python:3.12 --port 8000 -- python3 -m http.server 8000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if named := cmd.ArgsLenAtDash(); len(args) == 0 || named == 0 || named != 1 && len(args) != 1 {
				return fault.New(fault.Usage, "create takes one name, and after -- the program to start").Hint("aibox template create --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.file, "dockerfile", "", "build the image from this `FILE`")
	f.StringVar(&o.Image, "image", "", "use the image `REF`, which aibox does not build")
	f.StringVar(&o.From, "from", "", "build on this `TEMPLATE` instead of aibox's base (code, browser, desktop)")
	f.StringVar(&o.Summary, "summary", "", "describe it in one `SENTENCE`")
	f.StringVar(&o.User, "user", "", "run programs as this `USER` of the image instead of root")
	f.StringVar(&o.Workdir, "workdir", "", "start programs in this `FOLDER` of the image")
	f.StringArrayVar(&o.env, "env", nil, "set a variable (`NAME=VALUE`, repeatable)")
	f.Int64Var(&o.start.Port, "port", 0, "a sandbox is ready when its program listens on this `PORT`")
	f.StringVar(&o.start.Timeout, "start-timeout", "", "fail after this `DURATION` without the port")
	for _, field := range config.RunFields() {
		if slices.Contains(template.SettingKeys, field.Key) {
			f.VarPF(&settingFlag{field, &o.settings}, field.Key, "", settingHelp(field))
			_ = cmd.RegisterFlagCompletionFunc(field.Key, a.complete.setting(field))
		}
	}
	_ = cmd.MarkFlagFilename("dockerfile")
	_ = cmd.RegisterFlagCompletionFunc("from", a.complete.builtinTemplates)
	return cmd
}

func (o *createTemplateOptions) run(ctx context.Context, name string, program []string) error {
	if err := o.fill(ctx, program); err != nil {
		return err
	}
	store, err := app.TemplateStore()
	if err != nil {
		return err
	}
	t, err := store.Create(ctx, o.app.Templates(), name, &o.Definition)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.out, describeTemplate(t, nil))
	}
	fmt.Fprintln(o.out, safe(t.File))
	if t.Image.Recipe != "" {
		fmt.Fprintf(o.err, "%s `aibox bake %s` builds its image\n", o.errTerm.faint("→"), name)
	}
	return nil
}

// fill completes the definition from the flags.
func (o *createTemplateOptions) fill(ctx context.Context, program []string) error {
	if o.file != "" {
		data, err := readFile(ctx, o.file, template.MaxFile)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			return fault.New(fault.Usage, "the Dockerfile cannot be read: %w", err)
		}
		o.Dockerfile = string(data)
	}
	for _, pair := range o.env {
		variable, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fault.New(fault.Usage, "--env %q is not NAME=VALUE", pair)
		}
		if o.Env == nil {
			o.Env = map[string]string{}
		}
		o.Env[variable] = value
	}
	switch {
	case len(program) > 0:
		o.start.Command = program
		o.Start = &o.start
	case o.start.Port != 0 || o.start.Timeout != "":
		return fault.New(fault.Usage, "--port and --start-timeout need a program to start").Hint("give it after --")
	}
	for _, key := range o.settings.Keys() {
		if o.Settings == nil {
			o.Settings = map[string]any{}
		}
		o.Settings[key] = o.settings.Text(key)
		if words := o.settings.Words(key); words != nil {
			o.Settings[key] = words
		}
	}
	return nil
}
