package cli

import (
	"maps"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"

	"github.com/spf13/cobra"
)

// inherit fills what the command line left open with what the session had that
// is resumed.
func (o *runOptions) inherit(old session.Session) error {
	if old.State.Phase != session.Ended {
		return fault.New(fault.Usage, "%s is still running", old.ID).
			Hint("`aibox attach %s` follows it, `aibox stop %s` ends it", old.ID, old.ID)
	}
	for _, name := range []string{"repo", "branch", "clean", "hide"} {
		if o.given(name) {
			return fault.New(fault.Usage, "--%s cannot be used with --resume: a resumed session keeps its workspace", name).
				Hint("keep one of them")
		}
	}
	o.resumes, o.repo, o.branch, o.hidden = old.ID, old.Repository, old.Branch, old.Hide
	if o.agent == "" {
		o.agent = old.Agent
	}
	values := old.Run
	values.Hide, values.System = nil, systemNames(old.Prompts)
	if o.agent != old.Agent || strings.HasPrefix(old.Image, bakery.Namespace) {
		values.Image = "" // the agent's own, which may have been built again
	}
	if o.agent == old.Agent {
		set := make([]string, 0, len(old.Options)+len(o.set))
		for _, key := range slices.Sorted(maps.Keys(old.Options)) {
			set = append(set, key+"="+old.Options[key])
		}
		o.set = append(set, o.set...) // the later one counts
	}
	return o.inheritSettings(old, values)
}

// inheritSettings takes over the settings of a session that the command line leaves open.
func (o *runOptions) inheritSettings(old session.Session, values config.Run) error {
	for _, field := range runFields() {
		without := field.Key == "verify-timeout" && old.Verify == ""
		if field.Inherit != spec.Always || !old.Inherits(field.Key) || o.given(field.Key) || without {
			continue
		}
		if err := field.Copy(&o.Run, &values); err != nil {
			return err
		}
	}
	return nil
}

func systemNames(prompts []session.SystemPrompt) []string {
	names := make([]string, 0, len(prompts))
	for _, prompt := range prompts {
		names = append(names, prompt.Name)
	}
	return names
}

// completeResumable completes --resume with the sessions that have ended.
func (a *cli) completeResumable(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := a.app.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	briefs, _ := service.Summaries()
	var words []string
	for _, b := range briefs {
		if b.Phase == session.Ended && b.ContinuedBy == "" {
			words = append(words, string(b.ID)+"\t"+firstLine(b.Task, 40))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
