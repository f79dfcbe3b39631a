package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/mount"
)

// instructions returns the Markdown text before the agent's task. It describes the
// environment and its limits, so that the agent does not need turns to discover them,
// followed by the system prompts that the user chose.
func instructions(asked session.Spec) string {
	parts := []string{environmentText(asked)}
	for _, prompt := range asked.Prompts {
		parts = append(parts, strings.TrimSpace(prompt.Text))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func environmentText(asked session.Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "- "+format+"\n", args...) }
	b.WriteString("# Where you work\n\nYou run in an isolated, short-lived Linux sandbox. These limits are enforced; there is no way around them.\n\n")
	line("%s is your copy of the repository, the only place whose files are kept. All else in the sandbox, installed packages too, is gone at the end.", sandboxWorkdir)
	switch asked.Mode() {
	case netguard.Allowlist:
		line("The only way out is the HTTP proxy that your environment variables name (HTTPS_PROXY and its like); no name is resolved without it. It connects to these hosts and package registries: %s. It answers any other with 403 and the reason; do not retry those or look for mirrors.", allowedText(asked))
	case netguard.Public:
		line("The only way out is the HTTP proxy that your environment variables name (HTTPS_PROXY and its like); no name is resolved without it. It connects to public hosts on the ports 443 and 80, and answers anything else with 403 and the reason.")
	case netguard.Local:
		line("There is no network but the model you talk to: no other host can be reached, no name is resolved. Downloads and package installs fail at once; do not retry them or look for mirrors.")
	default:
		line("There is no network: no host can be reached, no name is resolved.")
	}
	if asked.HasModel() {
		if open := asked.OpenTools(); open != "" {
			line("These tools of the model's own server are open to you: %s.", open)
		}
		if asked.MaxTokens > 0 {
			line("You are ended after %d tokens, read and written.", asked.MaxTokens)
		}
		if asked.MaxCost > 0 {
			line("You are ended when the model has cost %s.", amount.Cost(asked.MaxCost.Dollars()))
		}
	}
	if len(asked.Hide) > 0 {
		line("Files that match these patterns, in the language of .gitignore, and private keys are kept from you: %s. Where the user has such files, do not make your own in their place.", codeList(asked.Hide))
	}
	if len(asked.ReadOnly) > 0 {
		line("Your changes of files that match these patterns, in the language of .gitignore, are left out of your work: %s. Leave these files as they are.", codeList(asked.ReadOnly))
	}
	if targets := mountTargets(&asked); len(targets) > 0 {
		line("The user's files at these paths are for you to read, and cannot be changed: %s.", codeList(targets))
	}
	if n := asked.OwnSandboxes(); n > 0 {
		line("You can create up to %s of your own for code and commands, with the tools of the MCP server `aibox` (%s). They share your limits, reach at most what you reach, and end with you.", amount.Of(n, "sandbox"), mcpURL())
	}
	if limit := time.Duration(asked.Timeout); limit > 0 {
		line("You are ended after %s.", amount.Span(limit))
	}
	line("The user reviews your changes as a diff against the repository. Commit or not, as you like: both are seen.")
	line("When a limit keeps you from the task, do what can be done and say in your last message exactly what you lack (host, file, program, time) and what for: the user can grant it for the next run.")
	return strings.TrimRight(b.String(), "\n")
}

// allowedText lists the entries of the session's allow list.
func allowedText(asked session.Spec) string {
	hosts := slices.Concat(asked.Allow, asked.CloudHosts)
	if len(hosts) == 0 {
		return "none"
	}
	return codeList(hosts)
}

// mountsOf returns the user's folders and files in the sandbox.
func mountsOf(asked *session.Spec) []mount.Mount {
	var mounts []mount.Mount
	for _, word := range asked.Mount {
		if m, err := mount.Parse(word); err == nil {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// mountTargets returns the paths in the sandbox of the user's folders and files.
func mountTargets(asked *session.Spec) []string {
	var targets []string
	for _, m := range mountsOf(asked) {
		targets = append(targets, m.Target)
	}
	return targets
}

// codeList formats a list of words as code.
func codeList(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "`" + strings.ReplaceAll(word, "`", "") + "`"
	}
	return strings.Join(quoted, ", ")
}
