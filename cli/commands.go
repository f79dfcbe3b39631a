package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// commandEntry is one command under the root.
type commandEntry struct {
	group string // of the root's help; empty for a command that the help does not list
	names string // its name and its aliases, separated by spaces
	make  func(*cli) *cobra.Command
}

// commandEntries are the commands under the root.
func commandEntries() []commandEntry {
	return []commandEntry{
		{"run", "run", (*cli).runCommand},
		{"run", "rerun", (*cli).rerunCommand},
		{"run", "fork", (*cli).forkCommand},
		{"run", "ls list ps", newListCommand},
		{"run", "top", newTopCommand},
		{"run", "attach", newAttachCommand},
		{"run", "exec", newExecCommand},
		{"run", "shell", newShellCommand},
		{"run", "cp", newCopyCommand},
		{"run", "logs", newLogsCommand},
		{"run", "stop", newStopCommand},
		{"run", "extend", newExtendCommand},
		{"run", "open", newOpenCommand},
		{"run", "allow", newAllowCommand},
		{"run", "deny", newDenyCommand},
		{"run", "answer", newAnswerCommand},
		{"run", "rm", newRemoveCommand},
		{"machine", "sandbox", newSandboxCommand},
		{"machine", "volume", newVolumeCommand},
		{"machine", "serve", newServeCommand},
		{"machine", "token", newTokenCommand},
		{"review", "diff", newDiffCommand},
		{"review", "compare", newCompareCommand},
		{"review", "review", newReviewCommand},
		{"review", "workspace", newWorkspaceCommand},
		{"review", "describe", newDescribeCommand},
		{"review", "accept", newAcceptCommand},
		{"review", "verify", newVerifyCommand},
		{"review", "comment", newCommentCommand},
		{"review", "reject", newRejectCommand},
		{"review", "discard", newDiscardCommand},
		{"review", "recover", newRecoverCommand},
		{"review", "gc", newGcCommand},
		{"machine", "bake", newBakeCommand},
		{"machine", "agents", newAgentsCommand},
		{"machine", "login", newLoginCommand},
		{"machine", "logout", newLogoutCommand},
		{"machine", "prompts", newPromptsCommand},
		{"machine", "models", newModelsCommand},
		{"machine", "template", newTemplateCommand},
		{"machine", "netguard", newNetguardCommand},
		{"machine", "audit", newAuditCommand},
		{"machine", "doctor", newDoctorCommand},
		{"machine", "config", newConfigCommand},
		{"machine", "mcp", newMCPCommand},
		{"machine", "version", newVersionCommand},
		{"", "supervise", newSuperviseCommand},
		{"", "netguard-job", newJobCommand},
	}
}

// commands makes the command that the first word of the command line names, and all of them
// if it names none: to make one takes a few microseconds for each of its flags.
func (a *cli) commands() []*cobra.Command {
	entries := commandEntries()
	if len(a.words) > 0 {
		called := slices.IndexFunc(entries, func(e commandEntry) bool {
			return slices.Contains(strings.Fields(e.names), a.words[0])
		})
		if called >= 0 {
			entries = entries[called : called+1]
		}
	}
	made := make([]*cobra.Command, len(entries))
	for i, entry := range entries {
		made[i] = entry.make(a)
		made[i].GroupID = entry.group
	}
	return made
}
