package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"aibox/bakery"
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
			return fault.New(fault.Usage, "--%s and --resume were both given, but a resumed session keeps its workspace", name).
				Hint("keep one of them")
		}
	}
	o.resumes, o.repo, o.branch, o.clean = old.ID, old.Repository, old.Branch, old.Clean
	o.hidden = old.Hide
	if o.agent == "" {
		o.agent = old.Agent
	}
	if o.agent == old.Agent {
		set := make([]string, 0, len(old.Options)+len(o.set))
		for _, key := range slices.Sorted(maps.Keys(old.Options)) {
			set = append(set, key+"="+old.Options[key])
		}
		o.set = append(set, o.set...) // the later one counts
		if !o.given("image") && !strings.HasPrefix(old.Image, bakery.Namespace) {
			o.image = old.Image // the user's own; the agent's may have been baked anew
		}
	}
	restore(o, "model", &o.model, old.Model)
	restore(o, "inference", &o.inference, old.Inference)
	restore(o, "network", &o.network, old.Policy())
	restore(o, "max-upload", &o.maxUpload, uint64(old.MaxUpload))
	restore(o, "max-tokens", &o.maxTokens, uint64(old.MaxTokens))
	restore(o, "pids", &o.pids, uint64(old.Pids))
	restore(o, "state-size", &o.stateSize, uint64(old.StateSize))
	restore(o, "model-timeout", &o.modelTimeout, time.Duration(old.ModelTimeout))
	restore(o, "timeout", &o.timeout, time.Duration(old.Timeout))
	restore(o, "system", &o.system, systemNames(old.Prompts))
	restore(o, "verify", &o.verifying.command, old.Verify)
	if old.Verify != "" {
		restore(o, "verify-timeout", &o.verifying.timeout, time.Duration(old.VerifyTimeout))
	}
	return nil
}

// restore sets a flag's value unless the user gave the flag.
func restore[T any](o *runOptions, flag string, target *T, value T) {
	if !o.given(flag) {
		*target = value
	}
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
