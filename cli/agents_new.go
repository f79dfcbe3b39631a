package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/agents/custom"
	"aibox/app"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/paths"

	"github.com/spf13/cobra"
)

// newAgentOptions is one call of `aibox agents new`.
type newAgentOptions struct{ *cli }

func newNewAgentCommand(a *cli) *cobra.Command {
	o := newAgentOptions{cli: a}
	var edit bool
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent of your own: a file with every key explained",
		Long: `Write a file that describes an agent of your own, with every key explained. The file
is a complete agent; change how it is installed and started to fit yours.`,
		Example: "  aibox agents new mybot\n  aibox agents new mybot --edit",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], edit) },
	}
	cmd.Flags().BoolVar(&edit, "edit", false, "open it in your editor")
	return cmd
}

func newAgentSchemaCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of an agent file, for editors",
		Example: "  aibox agents schema > agent.schema.json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return printJSON(a.out, custom.Schema()) },
	}
}

func (o *newAgentOptions) run(ctx context.Context, name string, edit bool) error {
	template := custom.Template(name)
	if _, err := custom.Parse(name, template); err != nil {
		var wrong *custom.Error
		f := fault.New(fault.Usage, "%w", err)
		if errors.As(err, &wrong) {
			f = f.Hint("%s", wrong.Problems[0].Hint)
		}
		return f
	}
	dir, err := app.CustomAgentsDir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+".toml")
	if _, err := o.app.Agents().Find(name); err == nil && o.app.CustomAgents().Files[name] == "" {
		return fault.New(fault.Usage, "the agent %q already exists", name).Hint("choose another name")
	}
	if err := paths.MakePrivate(dir); err != nil {
		return fault.New(fault.Environment, "cannot create the folder for your agents: %w", err)
	}
	if err := create(path, template); errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Usage, "%s already exists", path).
			Hint("edit it, and test it with: aibox agents check %s", name)
	} else if err != nil {
		return diskerr.Explain(fault.New(fault.Environment, "%s cannot be written: %w", path, err), dir)
	}
	if o.json {
		if err := printJSON(o.out, map[string]string{"name": name, "path": path}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(o.out, safe(path))
	}
	if edit {
		if err := o.edit(ctx, path); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.err, "%s `aibox agents check %s` tests it, step by step\n", o.errTerm.faint("→"), name)
	return nil
}

// create writes a new file that only the user may read, and never over another.
func create(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path)) // a part of it would be an invalid agent
	}
	return nil
}
