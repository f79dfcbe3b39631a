// Package cli is aibox's command line: one file per command, each an options
// struct and a run function, so that parsing and running can be tested apart. It
// turns errors into sentences, hints and exit codes in one place (report). It decides
// nothing about isolation.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"aibox/app"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/spelling"
	"aibox/session"

	"github.com/spf13/cobra"
)

// memoryLimit is the heap size, in bytes, above which garbage is collected at any cost:
// an agent decides how large a change set is, and aibox must get by with 100 MB.
const memoryLimit = 60 << 20

// Main runs aibox with the arguments after the program's name and returns its
// exit code (see fault.Kind).
func Main(args []string, in, out, errOut *os.File) int {
	// A command usually ends before garbage collection would pay off; supervise resets this.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memoryLimit)
	// aibox does not use this log, but net/http writes to it what a server sends after a response,
	// which can be a secret: in a supervisor to a file, without a limit.
	log.SetOutput(io.Discard)
	c := newConsole(in, out, errOut)
	ctx := c.untilSignal(context.Background())
	return newCLI(c).perform(ctx, args)
}

// perform executes the command line, reports what went wrong and returns the exit code.
func (a *cli) perform(ctx context.Context, args []string) int {
	printed, _ := a.out.(*results)
	var result *jsonOutput
	if wantsJSON(args) {
		result = &jsonOutput{out: a.out}
		a.out = result
	}
	err := a.execute(ctx, args)
	if result != nil {
		reported := err
		if a.parsed && !a.json {
			reported = nil // "--json" was the value of another flag
		}
		if closed := quietly(result.close(reported, a.about)); !errors.Is(err, closed) {
			err = errors.Join(err, closed)
		}
	}
	if err == nil && printed != nil {
		err = printed.lost()
	}
	if err == nil {
		return 0
	}
	code, err := exitCode(err)
	if err != nil {
		a.report(err)
	}
	return code
}

// cli holds the console and the app, which every command uses.
type cli struct {
	*console
	app          *app.App
	complete     completer
	rootful      bool // --rootful: use the system's Docker
	rootfulGiven bool // whether --rootful was set

	words        []string   // of the command line; nil while all commands are complete
	parsed, json bool       // the command line was parsed; it has --json
	about        session.ID // the session that the command is about, if any
}

// newCLI returns the commands on a console.
func newCLI(c *console) *cli {
	services := app.New(c.watchScan)
	return &cli{console: c, app: services, complete: completer{services}}
}

func (a *cli) execute(ctx context.Context, args []string) error {
	if goruntime.GOOS != "linux" {
		return fault.New(fault.Environment, "aibox needs Linux, because gVisor does").
			Hint("run it in a Linux machine, such as Lima on macOS or WSL 2 on Windows")
	}
	a.words = append([]string{}, args...)
	root := a.root()
	a.words = nil
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var known *fault.Fault
	if err != nil && !errors.As(err, &known) && ctx.Err() == nil && !ran(root) {
		return usage(err).Hint("`aibox --help` lists the commands") // cobra's own complaints
	}
	return interrupted(ctx, err)
}

// interrupted returns the error of a command for its user: a sentence if the end of ctx caused it
// and nothing in it says so.
func interrupted(ctx context.Context, err error) error {
	var known *fault.Fault
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &known) {
		return fault.New(fault.Interrupted, "interrupted")
	}
	return err
}

// canCall reports whether the command line can lead to the command with this name. The
// flags of settings, with those of each agent, take longer than the rest of a start, and
// cobra finds a command only by its name as a word.
func (a *cli) canCall(name string) bool { return a.words == nil || slices.Contains(a.words, name) }

// root is the command tree: all commands, or only the one that the command line names. Without
// canCall, a command may have no flags.
func (a *cli) root() *cobra.Command {
	var plain, showVersion bool
	root := &cobra.Command{
		Use:   "aibox",
		Short: "Run coding agents on your repositories without trusting them",
		Long: `aibox runs any command-line coding agent in a rootless container under gVisor. The
agent sees a copy of your repository and a model, and nothing else. You review its
changes as a diff, and accept or discard them.`,
		Example: `  aibox run codex --prompt "fix the failing test"
  aibox diff 0dq4f
  aibox accept 0dq4f`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case showVersion:
				_, err := fmt.Fprintln(a.out, "aibox", version())
				return err
			case plain || a.isInteractive() && accessible():
				return a.plainUI(cmd.Context())
			case a.isInteractive():
				return crashed(a.terminalUI(cmd.Context(), nil))
			}
			_ = cmd.Help()
			return fault.New(fault.Usage, "no command was given, and there is no terminal for the UI").
				Hint("`aibox run --help` shows how to start an agent").
				Hint("`aibox --plain` asks line by line and does not need a terminal")
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			markRan(cmd.Root())
			if a.rootfulGiven = cmd.Flags().Changed("rootful"); a.rootfulGiven {
				a.app.UseSystemDocker(a.rootful)
			}
			a.parsed, a.json = true, cmd.Flags().Lookup("json") != nil && cmd.Flags().Lookup("json").Value.String() == "true"
		},
	}
	// Not by cobra's own flag: its template reaches text/template, which calls methods by
	// name, and the linker then keeps every method of every type in the program.
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version")
	root.Flags().BoolVar(&plain, "plain", false, "ask line by line instead of using the full screen; default if ACCESSIBLE is set or TERM is dumb")
	root.PersistentFlags().BoolVar(&a.rootful, "rootful", false, "use the system's Docker, whose root is the host's root (needs sudo for the network)")
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run:"},
		&cobra.Group{ID: "review", Title: "Review:"},
		&cobra.Group{ID: "machine", Title: "Machine:"},
	)
	for _, command := range a.commands() {
		root.AddCommand(command)
	}
	root.SetHelpFunc(a.help)
	refuseUnknownHelp(root)
	refuseUnknownShell(root)
	nameArguments(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagFault(cmd, err)
	})
	return root
}

// knownCommand refuses an argument that is no subcommand, and suggests the nearest one.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	unknown := fault.New(fault.Usage, "unknown command %q for %q", args[0], cmd.CommandPath())
	var names []string
	for _, command := range cmd.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	meant := spelling.Nearest(args[0], names)
	for _, name := range synonyms[args[0]] {
		if command, _, _ := strings.Cut(name, " "); slices.Contains(names, command) {
			meant = name
			break
		}
	}
	if meant != "" {
		unknown = unknown.Hint("did you mean %q?", meant)
	}
	return unknown.Hint("`%s --help` lists the commands", cmd.CommandPath())
}

// nameArguments lets cmd and its subcommands name the arguments that they take when they get
// a wrong number of them. Cobra's own error only counts, and calls an argument of a command
// that takes none an unknown command.
func nameArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		nameArguments(sub)
	}
	check := cmd.Args
	_, takes, some := strings.Cut(strings.TrimSuffix(cmd.Use, " [flags]"), " ")
	if check == nil || !some && cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, explained := errors.AsType[*fault.Fault](err); err == nil || explained {
			return err
		}
		got := amount.Of(len(args), "argument")
		if !some && len(args) > 0 {
			takes, got = "no arguments", strconv.Quote(args[0])
		}
		return fault.New(fault.Usage, "%s takes %s, and got %s", cmd.CommandPath(), takes, got).
			Hint("`%s --help` has examples", cmd.CommandPath())
	}
}

// refuseUnknownHelp lets `aibox help` fail for a command that does not exist. Cobra's own
// prints the root's help then, and succeeds.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err != nil {
			return usage(err)
		}
		if err := knownCommand(found, rest); err != nil {
			return err
		}
		found.InitDefaultHelpFlag()
		found.InitDefaultVersionFlag()
		return found.Help()
	}
}

// refuseUnknownShell lets `aibox completion` fail for a shell that it does not know. Cobra's own
// prints its help then, and succeeds.
func refuseUnknownShell(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
		completion.Args = knownCommand
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

const ranKey = "aibox.ran"

// markRan records that parsing has ended: later errors are not errors of the command
// line.
func markRan(root *cobra.Command) { root.Annotations = map[string]string{ranKey: "yes"} }

func ran(root *cobra.Command) bool { return root.Annotations[ranKey] != "" }

// usage makes a Usage fault of one of cobra's errors. Cobra appends its suggestion to the
// message.
func usage(err error) *fault.Fault {
	message, suggestion, _ := strings.Cut(strings.TrimSpace(flagError(err).Error()), "\n")
	f := fault.New(fault.Usage, "%s", message)
	if names := strings.Fields(strings.TrimPrefix(strings.TrimSpace(suggestion), "Did you mean this?")); len(names) > 0 {
		f = f.Hint("did you mean %q?", names[0])
	}
	return f
}
