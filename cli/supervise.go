package cli

import (
	"os"
	"os/signal"
	"runtime/debug"

	"aibox/app"
	"aibox/internal/fault"

	"golang.org/x/sys/unix"

	"github.com/spf13/cobra"
)

// newSuperviseCommand is the process that runs one session. `aibox run` starts it, not
// the user.
func newSuperviseCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Run one session (started by aibox run)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetGCPercent(100) // it stays for hours, and should be small
			// A client that hangs up takes its pipe and its terminal with it.
			signal.Ignore(unix.SIGPIPE, unix.SIGHUP)
			// Its memory holds the key of the model server.
			if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
				return err
			}
			return a.app.Supervise(cmd.Context(), a.in, os.Stdout, serveOwnSandboxes)
		},
	}
}

// newJobCommand acts on the network namespace it is started in. The guard starts it
// through nsenter, not the user.
func newJobCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:    "netguard-job",
		Short:  "Change the network of one namespace (started by aibox)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminalOf(a.in).interactive {
				return fault.New(fault.Usage, "netguard-job is started by aibox itself").Hint("see `aibox netguard --help`")
			}
			return app.ServeGuardJob(cmd.Context(), a.in)
		},
	}
}
